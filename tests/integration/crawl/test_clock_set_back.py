"""The clock is set back between two runs: what was noted before is in the future, and holds nothing up for long."""

from __future__ import annotations

import threading
from collections.abc import Callable

from scrawler.model.seeds import EndReason
from scrawler.store.engines.engine import open_database
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.hostile import LONGEST_RUN, asked, by_path, check_whole, page
from tests.integration.fetch.servers import RawServer, Script

Serve = Callable[..., RawServer]

PAGES = 12
DAYS = 10 * 24 * 3_600_000
SHORT = {"max_retry_after": 0.3, "max_crawl_delay": 0.3, "delay_cap": 0.3, "slow_delay": 0.1, "retry_pause": 0.01}
NOTED = (
    "UPDATE site SET next_due_at = next_due_at + {0}",
    "UPDATE site SET state = 'resting' WHERE id = 1 AND state = 'ready'",
    "UPDATE server SET next_due_at = next_due_at + {0}",
    "UPDATE robots SET fetched_at = fetched_at + {0}",
    "UPDATE machine SET launched_at = launched_at + {0}, started_at = started_at + {0},"
    " heartbeat_at = heartbeat_at + {0}",
    "UPDATE crawl SET stopped_at = starting_at + {0} + 1, starting_at = starting_at + {0}",
)


def site() -> Script:
    home = page("home", links=tuple(f"/{number}" for number in range(PAGES)))
    robots = page("User-agent: *\nAllow: /\n")
    return by_path({"/": home, "/robots.txt": robots, **{f"/{number}": page(str(number)) for number in range(PAGES)}})


def test_a_crawl_goes_on_at_once_though_the_clock_was_set_back(crawl_on_both: Crawl, serve: Serve) -> None:
    """Its sites rest, its machines have beaten, and it was ordered to stop, all in ten days from now."""
    crawl, servers = crawl_on_both, [serve(site()) for _ in range(3)]
    crawl.add(server.url() for server in servers)
    stop = threading.Event()
    crawl.run(lambda progress: stop.set() if progress.pages else None, stop, delay=0.3, **SHORT)
    assert len(crawl.pages()) < 3 * (PAGES + 1), "there is something left"
    database = open_database(crawl.url)
    with database.begin() as connection:
        for change in NOTED:
            connection.exec_driver_sql(change.format(DAYS))
    database.close()
    stop = threading.Event()
    summary = crawl.run(lambda one: stop.set() if one.elapsed_s > LONGEST_RUN else None, stop, delay=0.05, **SHORT)
    assert summary.outcome == "ended"
    check_whole(crawl)
    assert len(crawl.pages()) == 3 * (PAGES + 1)
    assert {seed.end_reason for seed in crawl.seeds()} == {EndReason.COMPLETED}
    assert [asked(server)["/robots.txt"] for server in servers] == [2, 2, 2]
