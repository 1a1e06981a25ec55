"""What sitemaps say of changes, and how often that proved true of a site: held against each visit, used by each round.

Trust is kept by site. A lastmod is held against whether the visit found the page changed since the one before; a
changefreq against the rate at which visits have found it to change, once that is known. What is believed lets a page be
asked first, or be left out of a round until its longest time between two visits is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from scrawler.features.revisit.kinds import URL_STATE
from scrawler.features.revisit.policies.change import SitemapTrust, Trust, changefreq_interval_s, changefreq_is_right
from scrawler.features.revisit.policies.schedule import Policy
from scrawler.features.revisit.store.tables import sitemap_trust
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.results import Result
from scrawler.model.row_kinds import rows_of_kind
from scrawler.model.terms import Millis, url_hash
from scrawler.model.visits import UrlState
from scrawler.store.engines.engine import Database
from scrawler.store.engines.rows import AnyRow, sliced
from scrawler.store.schema.tables import site, sitemap_url, url_state

_COUNTS = ("newer_right", "newer_wrong", "older_right", "older_wrong", "changefreq_right", "changefreq_wrong")
_THOUSAND = 1_000
_PAGE = frozenset({Result.FETCHED.value, Result.NOT_MODIFIED.value})
_RATE_KNOWN = 8  # visits of a page from which on its rate is known, if it has changed twice at least
_RATE_UNKNOWN = 4  # visits of a page until which its changefreq counts
_REPORTED = 25  # sites


class Words(NamedTuple):
    """What a sitemap says of a URL, and when it was read last."""

    lastmod: Millis
    changefreq: str
    read_at: Millis


class SiteWords(NamedTuple):
    """How far the sitemaps of a site are believed."""

    lastmod: SitemapTrust = SitemapTrust()
    changefreq: Trust = Trust()

    @property
    def says_anything(self) -> bool:
        """Whether any of it is acted on."""
        return self.lastmod.newer.believed or self.lastmod.older.believed or self.changefreq.believed

    def says_changed(self, state: UrlState, words: Words) -> bool:
        """Whether a URL is believed to have changed since its last visit."""
        newer = 0 < state.visited_at < words.lastmod
        return newer and self.lastmod.newer.believed

    def says_same(self, state: UrlState, words: Words, now: Millis) -> bool:
        """Whether a URL is believed to be as it was: only what was read since its last visit can say so."""
        if words.read_at <= state.visited_at:
            return False
        if words.lastmod > 0:
            return words.lastmod <= state.visited_at and self.lastmod.older.believed
        interval_s = changefreq_interval_s(words.changefreq)
        if interval_s is None or state.visit >= _RATE_UNKNOWN or not self.changefreq.believed:
            return False
        return now - state.visited_at < interval_s * 1000


class SiteTrust(NamedTuple):
    """The trust in a site's sitemaps, as a report has it: shares of words that proved true; None: none was held."""

    site: str
    newer: float | None
    older: float | None
    changefreq: float | None
    held: int  # words that were held against visits, what is long ago counted less


# -- what visits teach ---------------------------------------------------------------------------------------------


def states_before(
    connection: Connection, deltas: Sequence[SiteDelta]
) -> Mapping[tuple[int, bytes], tuple[Millis, int]]:
    """Return when URLs that are visited again were visited before, and how often they had changed; see `learn`."""
    found: dict[tuple[int, bytes], tuple[Millis, int]] = {}
    for one in _in_rounds(deltas):
        for part in sliced([state.url_hash for state in _states(one) if state.visit]):
            query = select(url_state.c.url_hash, url_state.c.visited_at, url_state.c.changes)
            mine = url_state.c.seed_id == one.seed_id, url_state.c.url_hash.in_(part)
            for row in connection.execute(query.where(*mine)):
                found[one.seed_id, bytes(row.url_hash)] = row.visited_at, row.changes
    return found


def learn(
    connection: Connection, deltas: Sequence[SiteDelta], before: Mapping[tuple[int, bytes], tuple[Millis, int]]
) -> None:
    """Hold what sitemaps say of URLs against the visits in deltas, whose sites are locked."""
    for delta in sorted(deltas, key=lambda one: one.site_id):
        held = [pair for one in _in_rounds([delta]) for pair in _said_of(connection, one)]
        if not held:
            continue
        old = trust_of(connection, delta.site_id)
        new = old
        for state, words in held:
            known = before.get((state.seed_id, state.url_hash))
            if known is not None and state.result in _PAGE and state.visited_at > known[0]:  # else it was spared
                new = _taught(new, state, words, *known)
        if new != old:
            _write(connection, delta.site_id, new)


def _taught(trust: SiteWords, state: UrlState, words: Words, visited_at: Millis, changes: int) -> SiteWords:
    lastmod, changefreq = trust
    if 0 < words.lastmod <= state.visited_at and visited_at:
        lastmod = lastmod.told(words.lastmod, visited_at, state.changes > changes)
    elif words.lastmod > state.visited_at:  # what lies in the future is wrong
        lastmod = lastmod._replace(newer=lastmod.newer.told(False))
    lasted_s = (state.visited_at - state.known_since) / 1000
    if words.changefreq and state.visit >= _RATE_KNOWN and state.changes > 1 and lasted_s > 0:
        right = changefreq_is_right(words.changefreq, state.changes / lasted_s)
        changefreq = changefreq if right is None else changefreq.told(right)
    return SiteWords(lastmod, changefreq)


def _in_rounds(deltas: Iterable[SiteDelta]) -> list[SeedDelta]:
    return [one for delta in deltas for one in delta.seeds if any(state.visit for state in _states(one))]


def _states(one: SeedDelta) -> tuple[UrlState, ...]:
    return rows_of_kind(one.rows, URL_STATE)


def _said_of(connection: Connection, one: SeedDelta) -> list[tuple[UrlState, Words]]:
    states = [state for state in _states(one) if state.visit and state.position >= 0]
    said = words_of(connection, one.seed_id, [state.url_hash for state in states], with_times=False)
    return [(state, words) for state in states if (words := said.get(state.url_hash)) is not None]


def _write(connection: Connection, site_id: int, trust: SiteWords) -> None:
    told = (*trust.lastmod.newer, *trust.lastmod.older, *trust.changefreq)
    values = {name: round(count * _THOUSAND) for name, count in zip(_COUNTS, told, strict=True)}
    change = update(sitemap_trust).where(sitemap_trust.c.site_id == site_id)
    if not connection.execute(change.values(values)).rowcount:
        there = connection.scalar(select(sitemap_trust.c.site_id).where(sitemap_trust.c.site_id == site_id))
        if there is None:
            connection.execute(insert(sitemap_trust).values(site_id=site_id, **values))


# -- what rounds use -----------------------------------------------------------------------------------------------


def trust_of(connection: Connection, site_id: int) -> SiteWords:
    """Return how far the sitemaps of a site are believed."""
    query = select(*(sitemap_trust.c[name] for name in _COUNTS)).where(sitemap_trust.c.site_id == site_id)
    row = connection.execute(query).first()
    return SiteWords() if row is None else _site_words(row)


def words_of(
    connection: Connection, seed_id: int, hashes: Collection[bytes], with_times: bool = True
) -> dict[bytes, Words]:
    """Return what sitemaps say of URLs, as they were last read for a seed."""
    columns = sitemap_url.c.url_hash, sitemap_url.c.lastmod, sitemap_url.c.changefreq, sitemap_url.c.sitemap
    rows: list[AnyRow] = []
    for part in sliced(hashes):
        mine = sitemap_url.c.seed_id == seed_id, sitemap_url.c.url_hash.in_(part)
        rows += connection.execute(select(*columns).where(*mine)).all()
    sitemaps = {row.sitemap: url_hash(row.sitemap) for row in rows} if with_times else {}
    read_at: dict[bytes, Millis] = {}
    for part in sliced(sitemaps.values()):
        theirs = url_state.c.seed_id == seed_id, url_state.c.url_hash.in_(part), url_state.c.result.in_(_PAGE)
        for one in connection.execute(select(url_state.c.url_hash, url_state.c.visited_at).where(*theirs)):
            read_at[bytes(one.url_hash)] = one.visited_at
    return {
        bytes(row.url_hash): Words(row.lastmod, row.changefreq, read_at.get(sitemaps.get(row.sitemap, b""), 0))
        for row in rows
    }


class Sorted(NamedTuple):
    """URLs of a round: those that are believed to have changed, all others, and those that it may leave out."""

    first: list[UrlState]
    others: list[UrlState]
    spared: list[UrlState]


def sort_by_words(
    connection: Connection, seed_id: int, site_id: int, states: Sequence[UrlState], now: Millis
) -> Sorted | None:
    """Sort URLs by what sitemaps of their site say; None where nothing of that is believed."""
    trust = trust_of(connection, site_id)
    if not trust.says_anything:
        return None
    said = words_of(connection, seed_id, [state.url_hash for state in states])
    done = Sorted([], [], [])
    for state in states:
        words = said.get(state.url_hash)
        if words is None or state.result not in _PAGE:
            done.others.append(state)
        elif trust.says_changed(state, words):
            done.first.append(state)
        elif trust.says_same(state, words, now):
            done.spared.append(state)
        else:
            done.others.append(state)
    return done


def may_spare(word: str) -> bool:
    """Whether a policy lets a page wait for longer than it has said: not where the user has fixed the time."""
    return word not in ("off", Policy.FIXED)


def pull_forward(connection: Connection, deltas: Sequence[SiteDelta], now: Millis) -> None:
    """Let URLs be due now that a sitemap says to have changed since their last visit, if it is believed."""
    for delta in deltas:
        listed = [one for one in delta.seeds if one.sitemap_urls]
        if not listed or not trust_of(connection, delta.site_id).lastmod.newer.believed:
            continue
        for one in listed:
            news = {row.url_hash: row.lastmod for row in one.sitemap_urls if 0 < row.lastmod <= now}
            for part in sliced(sorted(news)):
                later = url_state.c.seed_id == one.seed_id, url_state.c.url_hash.in_(part), url_state.c.due_at > now
                query = select(url_state.c.url_hash, url_state.c.visited_at).where(*later)
                changed = [bytes(row[0]) for row in connection.execute(query) if news[bytes(row[0])] > row[1]]
                if changed:
                    mine = url_state.c.seed_id == one.seed_id, url_state.c.url_hash.in_(changed)
                    connection.execute(update(url_state).where(*mine).values(due_at=now))


# -- what is told --------------------------------------------------------------------------------------------------


def reported(database: Database, site_id: int | None = None) -> list[SiteTrust]:
    """Return the sites whose sitemaps were held against visits most, or one of them."""
    held = sum((sitemap_trust.c[name] for name in _COUNTS[1:]), sitemap_trust.c[_COUNTS[0]])
    query = select(site.c.site_key, *(sitemap_trust.c[name] for name in _COUNTS))
    query = query.join(site, site.c.id == sitemap_trust.c.site_id)
    query = query if site_id is None else query.where(site.c.id == site_id)
    found = []
    for row in database.rows(query.order_by(held.desc(), site.c.site_key).limit(_REPORTED)):
        right = [row[name] for name in range(1, 7, 2)]
        wrong = [row[name] for name in range(2, 7, 2)]
        newer, older, changefreq = (_share(*pair) for pair in zip(right, wrong, strict=True))
        words = round((sum(right) + sum(wrong)) / _THOUSAND)
        found.append(SiteTrust(row[0], newer, older, changefreq, words))
    return found


def _share(right: int, wrong: int) -> float | None:
    return right / (right + wrong) if right + wrong else None


def _site_words(row: Sequence[int]) -> SiteWords:
    counts = [count / _THOUSAND for count in row]
    return SiteWords(SitemapTrust(Trust(*counts[:2]), Trust(*counts[2:4])), Trust(*counts[4:]))
