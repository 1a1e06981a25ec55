"""Traces: what the database holds of single URLs, by hash, and of the sites and origins to which they belong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy import case as sql_case
from sqlalchemy import func as sql

from scrawler.model.claims import SiteState
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.results import Result
from scrawler.model.robots import RobotsRow
from scrawler.model.rows import PageRow, PatternRow, RejectionRow, RelationRow, SitemapRow
from scrawler.model.terms import Millis, url_hash
from scrawler.store.commit.externals import FOR_GUESTS, KEPT, PROMOTED, SENT
from scrawler.store.engines.engine import Database
from scrawler.store.engines.faults import read_json, read_object
from scrawler.store.engines.rows import in_state
from scrawler.store.lists.frontier import Frontier
from scrawler.store.schema.tables import (
    candidate,
    chunk,
    inbox,
    lane,
    machine,
    outbox,
    page,
    rejection,
    relation,
    robots,
    run,
    seed,
    site,
    sitemap_url,
)

_CHUNKS_READ = 16  # chunks held in memory at a time
MOST_READ = 20  # rows of one kind that are read for one URL: more say nothing new


class Finding(NamedTuple):
    """How often an external URL was found, and by whom first."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody wants here
    seeds: int
    first_seed_id: int
    depth: int  # the least depth of a page on which it was found
    promoted: bool
    sent: bool  # to the owner of its site
    for_guests: bool  # it waits for guests, or they have taken it up
    referrer: bytes  # hash of the URL of the page where the first of these seeds found it first


class Traces:
    """Looks single URLs up; every look-up but that of lists is by an index."""

    def __init__(self, database: Database) -> None:
        """Read from `database`."""
        self._database = database

    def pages(self, hashes: Collection[bytes]) -> list[PageRow]:
        """Return the final results of the URLs, the newest first: behind a cookie gate a URL has two."""
        query = select(*(page.c[name] for name in PageRow._fields)).where(page.c.url_hash.in_(hashes))
        return [PageRow(*row) for row in self._database.rows(query.order_by(page.c.id.desc()).limit(MOST_READ))]

    def documents(self, seed_ids: Collection[int]) -> list[PageRow]:
        """Return some HTML pages of seeds that are in the archive."""
        query = select(*(page.c[name] for name in PageRow._fields)).where(page.c.seed_id.in_(seed_ids))
        query = query.where(page.c.result == Result.FETCHED.value, page.c.content_type == "text/html")
        return [PageRow(*row) for row in self._database.rows(query.order_by(page.c.id).limit(MOST_READ))]

    def originals(self, hashes: Collection[bytes], digest: bytes) -> list[PageRow]:
        """Return the visits whose records hold a payload themselves, the newest first, however many came later."""
        query = select(*(page.c[name] for name in PageRow._fields)).where(page.c.url_hash.in_(hashes))
        query = query.where(page.c.digest == digest, page.c.revisit == 0, page.c.warc_file != "")
        return [PageRow(*row) for row in self._database.rows(query.order_by(page.c.id.desc()).limit(MOST_READ))]

    def relations(self, hashes: Collection[bytes]) -> list[RelationRow]:
        """Return what the pages say stands for them."""
        query = select(*(relation.c[name] for name in RelationRow._fields)).where(relation.c.url_hash.in_(hashes))
        return [RelationRow(*row) for row in self._database.rows(query.limit(MOST_READ))]

    def candidates(self, hashes: Collection[bytes]) -> Finding | None:
        """Return how often the URLs were handed back as candidate seeds."""
        columns = candidate.c
        query = select(
            sql.sum(columns.count), sql.count(), sql.min(columns.seed_id), sql.min(columns.depth),
            sql.max(sql_case((columns.promoted == PROMOTED, 1), else_=0)),
            sql.max(sql_case((columns.promoted == SENT, 1), else_=0)),
            sql.max(sql_case((columns.promoted == FOR_GUESTS, 1), else_=0)),
        ).where(columns.promoted.in_((KEPT, PROMOTED, SENT, FOR_GUESTS)), columns.url_hash.in_(hashes))  # fmt: skip
        row = self._database.rows(query)[0]
        if not row[1]:
            return None
        first = select(columns.referrer).where(columns.seed_id == row[2], columns.url_hash.in_(hashes)).limit(1)
        found = self._database.rows(first)
        referrer = bytes(found[0][0]) if found else b""
        return Finding(int(row[0]), row[1], row[2], row[3], bool(row[4]), bool(row[5]), bool(row[6]), referrer)

    def waits(self, keys: Collection[str], urls: Collection[str]) -> bool:
        """Tell whether one of the URLs, each of a site with one of these keys, is in the inbox of its site."""
        hashes = sorted({url_hash(key) for key in keys})
        query = select(inbox.c.id).where(inbox.c.key_hash.in_(hashes), inbox.c.url.in_(sorted(urls))).limit(1)
        return bool(self._database.rows(query))

    def waits_at(self, keys: Collection[str], urls: Collection[str]) -> int | None:
        """Return the machine in whose outbox one of the URLs is, each of a site with one of these keys, if any."""
        hashes = sorted({url_hash(key) for key in keys})
        query = select(outbox.c.machine_id).where(outbox.c.key_hash.in_(hashes), outbox.c.url.in_(sorted(urls)))
        rows = self._database.rows(query.order_by(outbox.c.id).limit(1))
        return rows[0].machine_id if rows else None

    def urls(self, hashes: Iterable[bytes]) -> dict[bytes, str]:
        """Return hash -> URL of those pages that have a row; an empty hash stands for no page."""
        known = sorted(set(hashes) - {b""})
        query = select(page.c.url_hash, page.c.url).where(page.c.url_hash.in_(known))
        return {bytes(row.url_hash): row.url for row in self._database.rows(query)}

    def rejections(self, hashes: Collection[bytes]) -> list[RejectionRow]:
        """Return where the URLs are in samples of refused ones."""
        columns = [rejection.c[name] for name in RejectionRow._fields]
        query = select(*columns).where(rejection.c.url_hash.in_(hashes)).order_by(rejection.c.seed_id)
        return [RejectionRow(*row) for row in self._database.rows(query.limit(MOST_READ))]

    def site(self, key: str) -> int | None:
        """Return the id of the site with this key."""
        rows = self._database.rows(select(site.c.id).where(site.c.key_hash == url_hash(key)))
        return rows[0].id if rows else None

    def rests_until(self, site_id: int) -> Millis:
        """Return until when a site is left alone, because it asked for that or did not answer; 0 if it is not."""
        resting = (site.c.id == site_id) & in_state(SiteState.RESTING)
        rows = self._database.rows(select(site.c.next_due_at).where(resting))
        return int(rows[0].next_due_at) if rows else 0

    def sitemap_urls(self, site_id: int, hashes: Collection[bytes]) -> list[SitemapRow]:
        """Return in which sitemaps of the site's seeds the URLs stand."""
        columns = [sitemap_url.c[name] for name in SitemapRow._fields]
        of_site = select(*columns).join(seed, seed.c.id == sitemap_url.c.seed_id).where(seed.c.site_id == site_id)
        rows = self._database.rows(of_site.where(sitemap_url.c.url_hash.in_(hashes)).limit(MOST_READ))
        return [SitemapRow(*row) for row in rows]

    def patterns(self, seed_id: int) -> list[PatternRow]:
        """Return what the patterns of a seed's URLs have yielded."""
        return Frontier(self._database).patterns(seed_id)

    def robots(self, origin: str) -> RobotsRow | None:
        """Return the robots.txt of an origin as it was last had."""
        columns = [robots.c[name] for name in RobotsRow._fields]
        rows = self._database.rows(select(*columns).where(robots.c.origin_hash == url_hash(origin)))
        return RobotsRow(*rows[0]) if rows else None

    def chunks(self, site_id: int) -> Iterator[ChunkRow]:
        """Yield the chunks of all lanes of the site's seeds, some in memory at a time."""
        key = chunk.c.seed_id, chunk.c.kind, chunk.c.seq
        query = (
            select(*key, chunk.c.first_position, chunk.c.entries, chunk.c.data)
            .join(seed, seed.c.id == chunk.c.seed_id)
            .where(seed.c.site_id == site_id)
            .order_by(*key)
            .limit(_CHUNKS_READ)
        )
        after: ColumnElement[bool] | None = None
        while rows := self._database.rows(query if after is None else query.where(after)):
            yield from (ChunkRow(*row) for row in rows)
            last = rows[-1]
            same_seed = chunk.c.seed_id == last.seed_id
            after = or_(
                chunk.c.seed_id > last.seed_id,
                and_(same_seed, chunk.c.kind > last.kind),
                and_(same_seed, chunk.c.kind == last.kind, chunk.c.seq > last.seq),
            )

    def lane(self, seed_id: int, kind: int) -> LaneState | None:
        """Return a lane as last checkpointed."""
        columns = lane.c.seed_id, lane.c.kind, lane.c.holder_id, lane.c.cursor_position, lane.c.length, lane.c.ahead
        rows = self._database.rows(select(*columns).where(lane.c.seed_id == seed_id, lane.c.kind == kind))
        return LaneState._make((*rows[0][:5], tuple(read_json(rows[0][5])))) if rows else None

    def dropped(self) -> int:
        """Return how many external URLs machines have left out: as mode drop wants, or for want of room."""
        rows = self._database.rows(select(sql.coalesce(sql.sum(machine.c.dropped), 0).label("number")))
        return int(rows[0].number)

    def last_settings(self) -> dict[str, Any] | None:
        """Return the settings with which a machine was last started, None if none ever was."""
        rows = self._database.rows(select(run.c.settings).order_by(run.c.id.desc()).limit(1))
        return read_object(rows[0].settings) if rows else None
