"""A crawl that an earlier version left half-finished goes on once its database was upgraded."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from scrawler.errors import SettingsError, StoreError
from scrawler.store.engine import open_database
from scrawler.store.upgrade import upgrade_database
from scrawler.synthweb.process import LoggedRequest, SynthServer
from tests.consistency import check_records
from tests.integration.crawl.conftest import Crawl
from tests.integration.crawl.rig import truth
from tests.limits import HANGS
from tests.stored import PORTS, SPEC, dialect_of, load_schema_1


@contextmanager
def _served(port: int) -> Iterator[SynthServer]:
    """Serve at a port that only one program on this computer can have: others that run this test let go of it soon."""
    with ExitStack() as stack:
        server: SynthServer | None = None
        pause = threading.Event()
        for _ in range(int(HANGS / 0.5)):
            with suppress(SettingsError):
                server = stack.enter_context(SynthServer(SPEC, port))
                break
            pause.wait(0.5)
        assert server is not None, f"somebody else has port {port} all the time"
        yield server


def _names(server: SynthServer) -> list[str]:
    """All names of the web, with the dot that some seeds have at the end as well."""
    return [f"{name}{dot}={address}" for name, address in server.web.addresses().items() for dot in ("", ".")]


def test_a_crawl_of_schema_1_ends_with_the_pages_that_it_would_have_had(database_url: str, tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, database_url)
    load_schema_1(database_url, tmp_path / "pages")
    with pytest.raises(StoreError, match="has schema 1, not 2; bring it up with `scrawler db upgrade`"):
        open_database(database_url)
    assert upgrade_database(database_url) == [2]
    before = crawl.html()
    with _served(PORTS[dialect_of(database_url)]) as server:
        expected = truth(server)
        assert before & expected
        assert expected - before
        summary = crawl.run(resolve=_names(server))
        _check_one_at_a_time(server.log())
    assert summary.outcome == "ended"
    of_dotted_seeds_alone = {url for url in expected for site in (2, 6, 15) if f"//site{site}." in url}
    undotted = {url for url in crawl.html() if ".:" not in url}
    assert undotted - of_dotted_seeds_alone == expected - of_dotted_seeds_alone
    # Begun after the upgrade: links to either spelling of the host are internal. Before, those to the other were not.
    of_late = {url for url in expected if "//site15." in url}
    assert {url.replace(".:", ":") for url in crawl.html() if "//site15." in url} == of_late
    check_records(database_url, tmp_path / "pages")


def _check_one_at_a_time(log: list[LoggedRequest]) -> None:
    """No site was asked twice at a time, by whichever of its names: it is one."""
    last: dict[str, float] = {}
    for line in sorted(log):
        place = line.url.split("/")[2]
        assert line.came >= last.get(place, 0.0), line
        last[place] = line.at
