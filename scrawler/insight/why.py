"""Why a URL was fetched or not: all that the database says of it, and what the crawl's rules make of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrawler.assembly.urls import make_analyzer
from scrawler.core.rules import tables_of_url
from scrawler.errors import SettingsError, StoreError
from scrawler.feature import hooked
from scrawler.insight.answer import CANDIDATE, NOT_SEEN, OUTSIDE, REFUSED, SENT, WAITING, Answer, Fact, utc
from scrawler.insight.asked import Asked, read_asked
from scrawler.insight.contents import PageContent
from scrawler.insight.judging import judged
from scrawler.insight.last_settings import crawl_settings
from scrawler.insight.listing import listed
from scrawler.insight.results import page_fact, relation_fact
from scrawler.insight.scripts import named_fact, scripts_fact
from scrawler.model.exchange import GUEST, guest_key
from scrawler.model.rows import PageRow, RejectionRow
from scrawler.model.scope import Boundary, Scope
from scrawler.model.seeds import EndReason, SeedState
from scrawler.settings import Settings, Way, of_tables, read_pattern, setting_text, withheld
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.control import Control
from scrawler.store.claims.seeds import Seeds, SeedView
from scrawler.store.engines.engine import Database
from scrawler.store.reading.traces import Finding, Traces
from scrawler.units import counted
from scrawler.urls.scope import origin, site_key
from scrawler.urls.verdict import Verdict


def why(
    database: Database,
    settings: Settings,
    scope: Scope,
    text: str,
    read: Callable[[PageRow], PageContent] | None = None,
) -> Answer:
    """Say all that applies to the URL in `text`; `settings` hold where no machine was ever started.

    `read` gets what was answered out of the archive: with it, pages are told of whose links seem to be made by scripts.

    Raises:
        SettingsError: it is no URL, and none of the refused ones that are kept.
    """
    traces = Traces(database)
    settings = crawl_settings(traces, Control(database).orders().settings, settings)
    asked = read_asked(text, make_analyzer(settings, _Nowhere()), settings)
    if asked.verdict == Verdict.SYNTAX and not traces.rejections(asked.hashes):
        raise SettingsError(f"URL {asked.shown[:100]!r}: {asked.problem}")
    names = tables_of_url(settings, asked.url) if asked.url else ()
    if names:
        settings = of_tables(settings, names)
        asked = read_asked(text, make_analyzer(settings, _Nowhere()), settings)
    boundary = CrawlBoundary(database, Boundary(settings.boundary), scope)
    parts = traces, database, Seeds(database)
    return _Enquiry(*parts, settings, scope, boundary, asked, names, read).answer()


_SITE_SEEDS = 1_000  # so many seeds of a site are looked at

_STATES = {
    SeedState.READY: "it waits for a machine",
    SeedState.ACTIVE: "it is in work",
    SeedState.SLOW: "it waits with its slow lane until the rest of the crawl is done",
}


class _Nowhere:
    """The scope of no seed."""

    def contains(self, url: str) -> bool:
        return False


class _Enquiry:
    """One question. Facts are gathered in the order of their use; the first outcome is the one that counts."""

    def __init__(
        self,
        traces: Traces,
        database: Database,
        seeds: Seeds,
        settings: Settings,
        scope: Scope,
        boundary: CrawlBoundary,
        asked: Asked,
        tables: tuple[str, ...],
        read: Callable[[PageRow], PageContent] | None,
    ) -> None:
        self._traces = traces
        self._database = database
        self._seeds = seeds
        self._settings = settings
        self._scope = scope
        self._boundary = boundary
        self._asked = asked
        self._tables = tables
        self._read = read
        self._facts: list[Fact] = []
        self._outcomes: list[str] = []

    def answer(self) -> Answer:
        """Gather all that applies."""
        own = next((view for form in self._asked.forms if (view := self._seeds.get(form))), None)
        if own is not None:
            self._facts.append(_seed_fact(own))
        fetched = self._pages()
        site_id = self._site()
        if site_id is not None and not fetched:
            self._rest(site_id)
            self._take(*listed(self._traces, self._seeds, site_id, self._asked.forms))
            if (visits := self._site(guest_key)) is not None:
                self._take(*listed(self._traces, self._seeds, visits, self._asked.forms))
        if own is not None:
            reason = own.seed.end_reason
            self._outcomes.append(reason.value if reason else WAITING)
        self._sitemaps(site_id)
        if not fetched and own is None:
            self._outside(site_id)
        self._candidate()
        self._rejections()
        if not fetched and own is None:
            where = self._traces, self._seeds, self._settings, self._scope
            self._take(*judged(*where, self._asked, site_id, seen=bool(self._outcomes)))
        if site_id is not None and not self._outcomes:
            self._scripts(site_id)
        if self._tables:
            self._facts.append(_tables_fact(self._tables, self._settings, self._asked.url))
        self._outcomes.append(NOT_SEEN)
        return Answer(self._asked.shown, self._outcomes[0], tuple(self._facts))

    def _scripts(self, site_id: int) -> None:
        """Look whether a page of the site names the URL, or seems to make its links, in a script."""
        seeds = [view.seed.id for view in self._seeds.of_site(site_id, _SITE_SEEDS)]
        if self._read is None or not self._asked.url or not seeds:
            return
        for row in self._traces.documents(seeds):
            fact = named_fact(row, self._asked.url, self._read)
            fact = fact or scripts_fact(row, self._read, f"the links of {row.url}")
            if fact is not None:
                self._facts.append(fact)
                return

    def _take(self, facts: Iterable[Fact], outcome: str) -> None:
        self._facts += facts
        self._outcomes += [outcome] if outcome else []

    def _site(self, row_of: Callable[[str], str] = lambda key: key) -> int | None:
        keys = [site_key(form, self._scope) for form in self._asked.forms]
        ids = (self._traces.site(row_of(key)) for key in (*self._moved_to(), *keys))
        return next((site_id for site_id in ids if site_id is not None), None)

    def _moved_to(self) -> list[str]:
        """Return the site to which the host of the URL has moved, if a seed that tells of that is its home page."""
        homes = (self._seeds.get(origin(form) + "/") for form in self._asked.forms)
        return [site_key(view.seed.home_url, self._scope) for view in homes if view and view.seed.rehomed]

    def _pages(self) -> bool:
        rows = self._traces.pages(self._asked.hashes)
        wanted = {one for row in rows for one in (row.seed_id, row.lane_seed)}
        seeds = self._seeds.by_ids(wanted)
        if wanted - seeds.keys():
            raise StoreError("the database is damaged: a page is one of a seed that is not there")
        referrers = self._traces.urls(row.referrer for row in rows)
        for row in rows:
            of_seed, lister = seeds[row.seed_id].seed.url, seeds[row.lane_seed].seed.url
            guest = seeds[row.seed_id].site_key.startswith(GUEST)
            self._take([page_fact(row, of_seed, lister, referrers.get(row.referrer, ""), guest=guest)], row.result)
        if rows:
            self._facts += [fact for told in hooked("why") for fact in told(self._database, self._asked.hashes)]
        if rows and self._read is not None and (fact := scripts_fact(rows[0], self._read)):
            self._facts.append(fact)
        self._facts += map(relation_fact, self._traces.relations(self._asked.hashes))
        return bool(rows)

    def _rest(self, site_id: int) -> None:
        if until := self._traces.rests_until(site_id):
            line = f"its site is left alone until {utc(until)}: it asked for that, or did not answer"
            self._facts.append(Fact("rest", (line,), {"until": until}))

    def _sitemaps(self, site_id: int | None) -> None:
        for row in self._traces.sitemap_urls(site_id, self._asked.hashes) if site_id is not None else ():
            values = {"sitemap": row.sitemap, "lastmod": row.lastmod or None}
            self._facts.append(Fact("sitemap", (f"stands in the sitemap {row.sitemap}",), values))

    def _outside(self, site_id: int | None) -> None:
        """Say that the URL may not enter the crawl, unless a seed of its site has entered."""
        if self._asked.verdict != Verdict.EXTERNAL:  # a link to it is refused, wherever it leads
            return
        here = self._seeds.of_site(site_id, _SITE_SEEDS) if site_id is not None else ()
        if any(view.seed.end_reason is not EndReason.OUTSIDE_BOUNDARY for view in here):
            return
        if words := self._boundary.refusal(self._asked.url):
            values = {"boundary": str(self._settings.boundary)}
            self._take([Fact("boundary", (words,), values)], OUTSIDE)

    def _candidate(self) -> None:
        found = self._traces.candidates(self._asked.hashes)
        if found is None:
            return
        first = self._seeds.by_ids([found.first_seed_id])[found.first_seed_id].seed.url
        if found.sent:
            self._sent(found, first)
            return
        state = "made a seed of this crawl" if found.promoted else "not made a seed"
        if found.for_guests:
            keys = {guest_key(site_key(form, self._scope)) for form in self._asked.forms}
            waits = self._traces.waits(keys, self._asked.forms)
            state = "which waits for a guest" if waits else "which was left to guests, and by them to what came first"
        line = f"a candidate seed, {state}: found {counted(found.count, 'time')}"
        line += f" by {counted(found.seeds, 'seed')}, the first {first}"
        values = {"count": found.count, "seeds": found.seeds, "first_seed": first, "promoted": found.promoted}
        page = self._traces.urls([found.referrer]).get(found.referrer, "")
        lines = [line, f"found first on {page}"] if page else [line]
        self._take([Fact("candidate", tuple(lines), values | {"referrer": page})], CANDIDATE)

    def _sent(self, found: Finding, first: str) -> None:
        """Say to whom the URL was sent, and what came of it there."""
        keys = {site_key(form, self._scope) for form in self._asked.forms}
        sender = self._traces.waits_at(keys, self._asked.forms)
        waits = sender is not None or self._traces.waits(keys, self._asked.forms)
        key = site_key(self._asked.url, self._scope)
        came = "waits in the inbox there" if waits else "was taken out of its inbox there"
        if sender is not None:
            came = f"waits in the outbox of machine {sender}"
        line = f"sent to the owner of its site {key}, and {came}: found {counted(found.count, 'time')}"
        line += f" by {counted(found.seeds, 'seed')}, the first {first}"
        lines = [line]
        page = self._traces.urls([found.referrer]).get(found.referrer, "")
        if page:
            lines.append(f"found first on {page}")
        if not (waits or self._outcomes):
            lines.append("no list has it: a limit or a rule there kept it out, or the site had been given up")
        values = {"site": key, "count": found.count, "seeds": found.seeds, "first_seed": first, "waits": waits}
        self._take([Fact("sent", tuple(lines), values | {"referrer": page})], SENT)

    def _rejections(self) -> None:
        rows = self._traces.rejections(self._asked.hashes)
        seeds = self._seeds.by_ids(row.seed_id for row in rows)
        for row in rows:
            self._take([_rejection_fact(row, seeds[row.seed_id].seed.url)], REFUSED)


_UNWRITTEN = "nothing that is written down: a proxy, headers and passwords never are"  # of a table of secrets alone


def _tables_fact(names: tuple[str, ...], settings: Settings, url: str) -> Fact:
    """Say what is set for the host alone, and what of it is not sent to this URL."""
    tables = {name: settings.sites[name] for name in names}
    told = {name: {key: setting_text(key, value) for key, value in table.items()} for name, table in tables.items()}
    lines = [
        f'[sites."{name}"] sets {", ".join(f"{key}={text}" for key, text in table.items()) or _UNWRITTEN}'
        for name, table in reversed(told.items())
    ]
    hidden = withheld(settings, names, Way.to(url))
    lines += [
        f'[sites."{name}"] {", ".join(keys)}: not sent to this URL, {_why_withheld(name, url)}'
        for name, keys in reversed(hidden.items())
    ]
    return Fact("host", tuple(lines), {"tables": told, "withheld": hidden})


def _why_withheld(name: str, url: str) -> str:
    way = Way.to(url)
    if way.in_clear and not read_pattern(name).in_clear:
        return "which has no TLS"
    return "which has a port that the table does not name"


def _seed_fact(view: SeedView) -> Fact:
    seed, counts = view.seed, view.seed.counts
    state = _STATES.get(seed.state, "")
    if seed.end_reason:
        state = f"it ended as {seed.end_reason}" + (f" ({view.end_detail})" if view.end_detail else "")
    whence = f"found {counted(seed.hops, 'site')} away" if seed.hops else "given by the user"
    lines = [f"a seed, {whence}; {state}"]
    if seed.home_url != seed.url:
        lines.append(f"it redirects to {seed.home_url}, where its party starts")
    if counts.listed:
        lines.append(f"{counted(counts.listed, 'URL')} listed, {counted(counts.pages, 'page')} fetched for it")
    values = {
        **view.standing,
        "home_url": seed.home_url,
        "hops": seed.hops,
        "listed": counts.listed,
        "pages": counts.pages,
    }
    return Fact("seed", tuple(lines), values)


def _rejection_fact(row: RejectionRow, seed: str) -> Fact:
    line = f"a link to it was refused for seed {seed}, as {row.reason}: {row.evidence}"
    return Fact("rejection", (line,), {"seed": seed, "reason": row.reason, "evidence": row.evidence})
