"""The report on one seed or on the whole crawl, section by section."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrawler.dates import iso_date
from scrawler.feature import hooked
from scrawler.features.report.beside import beside
from scrawler.features.report.over_time import time_section
from scrawler.features.report.summing import (
    MULTIMEDIA,
    TOTALS,
    called,
    class_names,
    content_tables,
    page_totals,
    results_section,
    samples_table,
    times_table,
    totals_section,
    verdicts_table,
)
from scrawler.insight.reporting import Reported, with_added
from scrawler.insight.sections import Report, Section, Table
from scrawler.model.results import PageFlag, Result
from scrawler.model.terms import Millis, url_hash
from scrawler.settings import crawl_title
from scrawler.store.claims.crawls import Crawl
from scrawler.store.claims.seeds import SeedView
from scrawler.store.commit.inboxes import exchanged
from scrawler.store.engines.engine import Database
from scrawler.store.lists.losses import Losses
from scrawler.store.lists.rounds import Rounds
from scrawler.store.reading.page_lists import PageLists
from scrawler.store.reading.traces import Traces
from scrawler.store.sums.guests import guests
from scrawler.store.sums.page_sums import page_sums
from scrawler.store.sums.reports import PARTIES, Reports
from scrawler.store.sums.thinned import all_sums
from scrawler.urls.scope import site_key

_TYPES_SHOWN = 25
_HOSTS_OF_PARKED, _GROUPS_SHOWN = 10, 25  # hosts at least that show one page, and how many such groups are told
_SLOWEST = ("site", "a_request_ms", "requests", "pages", "in_work_ms", "wait_ms", "slowest_answer_ms")
_POLITENESS = ("wait_ms", "pushed_back", "retries", "slowed", "slow_pages")
_EXCHANGED = ("urls_", "guest_")  # what is told where machines exchange URLs
_WISHES = ("denied", "noindex", "nofollow", "assets")
_COUNTS = tuple(dict.fromkeys((*TOTALS, *_POLITENESS, *_WISHES, "revisits", "near_duplicates", "trapped")))


def make_report(database: Database, crawl: Crawl, view: SeedView | None, since: Millis = 0) -> Report:
    """Sum up what came of a seed, of all if None; with `since`, of visits since that time alone."""
    return _since(database, crawl, view, since) if since else _Maker(database, crawl, view).report()


def _since(database: Database, crawl: Crawl, view: SeedView | None, since: Millis) -> Report:
    """Sum up visits since a time: what is counted of whole seeds is left out."""
    seed_id = view.seed.id if view else None
    sums = page_sums(database, seed_id, since)
    again = PageLists(database).has_rounds(seed_id)
    begun, ended = Rounds(database).begun_since(since, seed_id)
    made = (
        Section("since", "Since", {"since_at": since, "rounds_begun": begun, "of_them_ended": ended}),
        Section("totals", "Totals", page_totals(sums.pages), called=called(again)),
        results_section(sums.pages, again),
        time_section(sums.pages),
        Section("content", "Content", tables=content_tables(sums.kinds)),
    )
    title = f"seed {view.seed.url}" if view else crawl_title(crawl.name)
    sections = _with_features(made, Reported(database, seed_id, sums.pages, since))
    return Report(f"{title} since {iso_date(since)}", database.now(), sections)


class _Maker:
    """Makes one report; what several sections need is read once."""

    def __init__(self, database: Database, crawl: Crawl, view: SeedView | None) -> None:
        self._database = database
        self._crawl = crawl
        self._view = view
        self._reports = Reports(database)
        self._seed_id = view.seed.id if view else None
        with beside(lambda: all_sums(database, self._seed_id)) as sums:  # the table page takes as long as all others
            self._counts = self._reports.counts(self._seed_id, _COUNTS)
            self._first = _seed_section(view, crawl) if view else self._crawl_section()
            self._site_sections = () if view else (self._sites(),)
            self._link_section = self._links()
            self._visited_again = PageLists(database).has_rounds(self._seed_id)
            self._sums = sums()

    def report(self) -> Report:
        """Put all sections together."""
        counts = self._counts
        made = (
            self._first,
            totals_section(self._sums.pages, counts, self._visited_again),
            results_section(self._sums.pages, self._visited_again),
            time_section(self._sums.pages),
            self._content(),
            *self._site_sections,
            self._link_section,
            Section("refused", "Refused links", tables=(samples_table(self._reports.samples(self._seed_id)),)),
            self._duplicates(),
            self._traps(),
            self._politeness(),
        )
        view = self._view
        title = f"seed {view.seed.url}" if view else crawl_title(self._crawl.name)
        asked = Reported(self._database, self._seed_id, self._sums.pages)
        return Report(title, self._database.now(), _with_features(made, asked))

    def _crawl_section(self) -> Section:
        ends = self._reports.ends()
        values = {
            "scope": self._crawl.scope.value,
            "created_at": self._crawl.created_at,
            "seeds": sum(ends.values()),
        }
        columns = ("started_at", "ended_at", "outcome", "pages", "bytes", "errors")
        gone = [
            (loss.warc_file, loss.kind.value, loss.records, loss.revisits, loss.state.value)
            for loss in Losses(self._database).all().values()
        ]
        parked, groups = ("hosts", "address", "example"), self._reports.parked(_HOSTS_OF_PARKED, _GROUPS_SHOWN)
        lost = ("file", "it_is", "records", "referring_records", "state")
        tables = (
            Table("ends", "Seeds by end reason, or state", ("end", "seeds"), [*ends.items()], "seeds"),
            Table("deaths", "Dead seeds by what they died of", ("dead_as", "seeds"), [*self._reports.deaths().items()]),
            Table("parked", "Hosts that show one page (parked domains, perhaps)", parked, groups),
            Table("runs", "Last runs of machines", columns, self._reports.runs()),
            Table("lost", "WARC files from which records are gone", lost, gone),
        )
        return Section("crawl", "Crawl", values, tables)

    def _content(self) -> Section:
        types = self._sums.types
        media = [one for one in types if one.content_type.partition("/")[0] in MULTIMEDIA]
        columns = ("content_type", "pages", "bytes", "longest_bytes")
        tables = (
            *content_tables(self._sums.kinds),
            Table("types", "The most frequent media types", columns, types[:_TYPES_SHOWN]),
            Table("multimedia", "Images, audio, video by type", columns, media[:_TYPES_SHOWN]),
        )
        return Section("content", "Content", tables=tables)

    def _sites(self) -> Section:
        sizes, largest, slowest = self._reports.sites()
        rows = [(name, sizes.get(index, 0)) for index, name in enumerate(class_names(PARTIES, "{:,}".format))]
        tables = (
            Table("sizes", "Sites by fetched pages", ("pages", "sites"), rows, "sites", ordered=True),
            Table("largest", "The largest sites", ("site", "pages", "bytes"), largest, "pages"),
            Table("slowest", "The slowest sites, by time in work for a request", _SLOWEST, slowest, "a_request_ms"),
        )
        return Section("sites", "Sites", {"sites": sum(sizes.values())}, tables)

    def _links(self) -> Section:
        shares, table = verdicts_table(self._reports.verdicts(self._seed_id))
        distinct, promoted = self._reports.candidates(self._seed_id)
        values: dict[str, Any] = {**shares, "candidates": distinct, "candidates_promoted": promoted}
        if self._view is None:
            values |= {f"urls_{name}": number for name, number in exchanged(self._database)._asdict().items()}
            values |= guests(self._database).told()
            values["links_to_seeds"], values["seeds_that_link_to_seeds"] = self._reports.links_to_seeds()
            return Section("links", "Links", values, (table,), _EXCHANGED)
        values |= self._in_links(self._view) | guests(self._database, self._seed_id).told()
        top = self._reports.top_candidates(self._view.seed.id)
        found = Table("candidates_found", "Candidates found most", ("url", "times"), top)
        return Section("links", "Links", values, (table, found), _EXCHANGED)

    def _in_links(self, view: SeedView) -> dict[str, int]:
        own = Traces(self._database).candidates({url_hash(view.seed.url), url_hash(view.seed.home_url)})
        times, seeds = 0, set[int]()
        for url, count, seed_id in self._reports.links_to_site(view.site_key):
            if site_key(url, self._crawl.scope) == view.site_key:
                times += count
                seeds.add(seed_id)
        return {
            "links_to_seed_url": own.count if own else 0,
            "links_to_site": times,
            "seeds_that_link_to_site": len(seeds),
        }

    def _duplicates(self) -> Section:
        pages = self._counts["pages"]
        # What an earlier crawl has archived is no duplicate in this one.
        exact = self._counts["revisits"] - sum(
            one.pages for one in self._sums.pages if one.flags & PageFlag.EARLIER and one.result == Result.FETCHED
        )
        relations = self._reports.relations(self._seed_id)
        values = {
            "exact": exact,
            "exact_share": exact / max(pages, 1),
            "near": self._counts["near_duplicates"],
            **{f"with_{kind}": times for kind, times in sorted(relations.items())},
        }
        return Section("duplicates", "Duplicates", values)

    def _traps(self) -> Section:
        columns = ("pattern", "fetched", "exact", "near", "refused", "evidence")
        table = Table("capped", "Capped patterns of URLs", columns, self._reports.capped(self._seed_id))
        return Section("traps", "Traps", {"not_asked_for": self._counts["trapped"]}, (table,))

    def _politeness(self) -> Section:
        statuses = self._reports.robots(self._view.seed.site_id if self._view else None)
        rows = [(status or "no answer", origins) for status, origins in statuses.items()]
        values = {name: self._counts[name] for name in (*_POLITENESS, *_WISHES)}
        values["sitemap_urls"] = self._reports.sitemap_urls(self._seed_id)
        tables = (
            times_table(self._sums.kinds),
            Table("robots", "Origins by the status of their robots.txt", ("status", "origins"), rows),
        )
        return Section("politeness", "Politeness, servers and their wishes", values, tables)


def _with_features(sections: Iterable[Section], asked: Reported) -> tuple[Section, ...]:
    """Return the sections with those that features add."""
    return with_added(sections, [one for reporter in hooked("report") for one in reporter(asked)])


def _seed_section(view: SeedView, crawl: Crawl) -> Section:
    seed = view.seed
    values = {
        **view.standing,
        "home_url": seed.home_url,
        "site": view.site_key,
        "scope": crawl.scope.value,
        "hops": seed.hops,
        "started_at": view.started_at,
        "ended_at": view.ended_at,
    }
    return Section("seed", "Seed", values)
