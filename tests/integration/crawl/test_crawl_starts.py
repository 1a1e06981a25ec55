"""Many sites that are due at once: answers are looked for between their requests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import inf
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from scrawler.features.synthweb.process import SynthServer
from scrawler.features.synthweb.spec import WebSpec
from tests.integration.crawl.rig import truth, watch
from tests.plugged import importable, install

if TYPE_CHECKING:
    from scrawler.core.machine.machine import Machine
    from tests.integration.crawl.conftest import Crawl

SITES, AT_ONCE = 150, 96
_CODE = """
from scrawler.fetch.curl import CurlDownloader

started = [0]

class Counting(CurlDownloader):
    def start(self, request):
        started[-1] += 1
        super().start(request)

    def completed(self):
        started.append(0)
        return super().completed()
"""


@pytest.fixture
def package(tmp_path: Path) -> Iterator[ModuleType]:
    """A package whose downloader counts what is started before answers are asked for."""
    install(tmp_path, "their-downloader", _CODE, {"scrawler.downloaders:theirs": "Counting"})
    with importable(tmp_path):
        import their_downloader

        yield their_downloader


def test_where_many_sites_are_due_answers_are_looked_for_after_some(crawl: Crawl, package: ModuleType) -> None:
    late: list[int] = []

    def come_late(machine: Machine) -> None:
        """Keep the turn until most of the sites are due."""
        (collector,) = machine.crew.collectors
        waiting = [site.wake_at for site in collector.sites.values() if 0 < site.wake_at < inf]
        if not late and len(waiting) > AT_ONCE + 16:
            while time.monotonic() < max(waiting):
                time.sleep(0.01)
            late.append(len(waiting))

    with SynthServer(WebSpec(sites=SITES, equal=True, mean_pages=2, page_bytes=400)) as server:
        crawl.add(server.web.seeds())
        settings = crawl.settings(threads=1, seeds_per_thread=SITES, delay=1.0, downloader="theirs")
        assert watch(settings, on_look=come_late).ended
        pages = {line.url for line in server.log() if not line.url.endswith("/robots.txt")}
        assert pages >= truth(server)
    assert late
    assert 1 < max(package.started) <= AT_ONCE
