"""One crawl under torture from its seeds to the verdict."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from scrawler.features.synthweb.spec import WebSpec
from tests.limits import HANGS
from tests.torture.crawl import CrawlUnderTest, Pace, wait_for
from tests.torture.faults import Fault
from tests.torture.sql import DatabaseAwayError
from tests.torture.verify import Findings, verify
from tests.torture.web import TortureWeb, served

_STANDSTILL = HANGS  # seconds without the progress that is due
_COMMIT = 0.5  # seconds that a checkpoint takes at most, and work goes on meanwhile
_LAST_FAULT = 0.9  # share of the URLs asked for by then: there must be something left to lose


@dataclass(frozen=True)
class Ordeal:
    """A web, a crawl of it, and what befalls it; the same number gives the same choices."""

    spec: WebSpec
    seeds_per_site: int
    pace: Pace
    faults: Sequence[Fault]
    number: int

    def run(self, folder: Path, database_url: str) -> Findings:
        """Crawl in a folder and verify. Raises AssertionError where something was lost, with the folder's name."""
        with served(self.spec, self.seeds_per_site, folder / "access.log", self.pace.moody) as web:
            crawl = CrawlUnderTest(folder, database_url, self.pace)
            try:
                return self._run(crawl, web)
            except Exception as error:
                with suppress(DatabaseAwayError):
                    crawl.sql.dump(folder / "tables")
                error.add_note(f"random seed {self.number}; all is kept in {folder}")
                raise
            finally:
                crawl.stop()

    def _run(self, crawl: CrawlUnderTest, web: TortureWeb) -> Findings:
        began = time.monotonic()
        chance = Random(self.number)
        crawl.add_seeds(web.seeds)
        crawl.start()
        last = int(_LAST_FAULT * len(web.asked_for))
        for left, fault in zip(range(len(self.faults), 0, -1), self.faults, strict=True):
            web.requests.look()
            asked = len(web.requests.urls)
            self._wait_for_requests(crawl, web, asked + max(0, last - asked) // (left + 1))
            said = fault.strike(crawl, chance)
            _say(f"{time.monotonic() - began:6.1f} s  {len(web.requests.urls):,} URLs asked for, {said}")
        self._wait_for_end(crawl, web)
        ended = time.monotonic() - began
        findings = verify(crawl, web, self.most_again(crawl) + len(web.moods))
        _say(
            f"{ended:6.1f} s  ended: {findings.rows:,} rows, {findings.requests:,} requests, "
            f"{findings.fetched_again} fetched again (at most {self.most_again(crawl)}), "
            f"{findings.uncommitted} records told of as uncommitted, {findings.orphans} of them orphans, "
            f"{findings.refused} rows refused, "
            f"shortest gap {findings.shortest_gap:.3f} s"
        )
        findings.raise_if_any()
        return findings

    def most_again(self, crawl: CrawlUnderTest) -> int:
        """Return how many fetches may be repeated: all that the lost machines did since their last checkpoints."""
        pages = self.pace.places * math.ceil((self.pace.checkpoint_interval + _COMMIT) / self.pace.delay)
        return pages * sum(fault.machines_lost(crawl) for fault in self.faults)

    def _wait_for_end(self, crawl: CrawlUnderTest, web: TortureWeb) -> None:
        while crawl.runs():
            asked = len(web.requests.all)

            def seen(asked: int = asked) -> bool:
                web.requests.look()
                return not crawl.runs() or len(web.requests.all) > asked

            wait_for(seen, _STANDSTILL, "the end of the crawl, or further requests")

    def _wait_for_requests(self, crawl: CrawlUnderTest, web: TortureWeb, due: int) -> None:
        """Return once so many URLs were asked for, however long that takes, as long as there are new ones."""

        def seen() -> bool:
            crawl.runs()
            web.requests.look()
            return len(web.requests.urls) >= due

        wait_for(seen, _STANDSTILL, f"{due:,} URLs asked for", lambda: len(web.requests.urls))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
