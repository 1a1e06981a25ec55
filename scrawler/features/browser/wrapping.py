"""Puts a browser around the downloaders of a machine, which all have one."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable

from scrawler.assembly.building import Building, MakeDownloader, Surroundings
from scrawler.assembly.parts import product_token
from scrawler.core.party.entries import EntryRole
from scrawler.core.party.flights import PageFlight
from scrawler.core.rules import CrawlRules
from scrawler.features.browser.chromium import find_chromium
from scrawler.features.browser.downloader import BrowserDownloader
from scrawler.features.browser.engine import Browser
from scrawler.features.browser.fetcher import Fetcher
from scrawler.features.browser.page_parts import PageParts
from scrawler.features.browser.settings import BrowserSettings
from scrawler.fetch.downloader import Request
from scrawler.settings import Settings


def check(settings: Settings) -> None:
    """Look for a browser. Raises SettingsError where there is none."""
    find_chromium(BrowserSettings.of(settings).chromium)


def build(building: Building) -> None:
    """Let the downloaders of a machine show pages. Raises SettingsError where there is no browser."""
    settings, rules = building.settings, building.rules
    own = BrowserSettings.of(settings)
    file = find_chromium(own.chromium)

    def wrap(make: MakeDownloader, around: Surroundings) -> MakeDownloader:
        def make_parts(loop: AbstractEventLoop) -> PageParts:
            limits = settings.max_decoded, settings.max_ratio
            token = product_token(settings)
            return PageParts(Fetcher(make, loop), around.resolver, around.origins, around.turn, rules, token, limits)

        browser, is_shown = Browser(file, own.browser_pages, make_parts), shown_by(rules)
        return lambda: BrowserDownloader(make(), browser, is_shown)

    building.wrappers.append(wrap)


def shown_by(rules: CrawlRules) -> Callable[[Request], bool]:
    """Return what tells whether that which comes of a request, if it is HTML, is shown: by the rules of its host."""

    def is_shown(request: Request) -> bool:
        flight = request.tag
        if not isinstance(flight, PageFlight):
            return False
        if flight.entry.role is not EntryRole.PAGE or flight.lane.refetches:  # only its record is wanted
            return False
        return BrowserSettings.of((flight.origin.own_rules or rules).settings).browser

    return is_shown
