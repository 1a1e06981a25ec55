"""Which push-backs count."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scrawler.core.party import health
from scrawler.core.party.health import SiteHealth
from scrawler.fetch.downloader import Request, Response
from scrawler.model.results import Result
from tests.crawl_rules import crawl_rules

NOON = 1_790_000_000  # seconds


def pushed_back(of: SiteHealth, asked_at: float) -> int:
    """Take in an answer of 429 to a request of that time; return how many count."""
    request = Request("http://a.org/", "127.0.0.1")
    answer = Response(request, Result.HTTP_ERROR, 429, started_at=int(asked_at * 1000), elapsed_ms=100)
    of.note(answer, "a.org", 0, 0.0, crawl_rules())
    return of.pushbacks


def test_push_backs_count_again_at_once_where_the_clock_was_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were on their way together count once, by whatever clock."""
    clock = SimpleNamespace(time=lambda: now)
    monkeypatch.setattr(health, "time", clock)
    site, now = SiteHealth(), NOON + 1.0
    assert pushed_back(site, NOON) == 1
    assert pushed_back(site, NOON + 0.5) == 1
    now = NOON + 3.0
    assert pushed_back(site, NOON + 2) == 2
    now = NOON - 3600.0
    assert pushed_back(site, now - 1) == 3
    assert pushed_back(site, now - 0.5) == 3
    now = NOON - 3590.0
    assert pushed_back(site, now - 1) == 4
