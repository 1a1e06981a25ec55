"""Deltas of one site that wait together become one, with the newest state of everything in it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from scrawler.core.durable.deltas import merged
from scrawler.features.revisit.kinds import (
    CELLS,
    PUBLISHED,
    SITE_RATES,
    URL_CHANGE,
    URL_STATE,
    CellRow,
    PublishedRow,
    SiteRates,
    UrlChange,
)
from scrawler.model.deltas import SeedDelta, SiteDelta
from scrawler.model.lanes import ChunkRow, LaneState
from scrawler.model.replaced import WaitingRow
from scrawler.model.row_kinds import RowKind, rows_of_kind
from scrawler.model.rows import (
    ExternalRow,
    PageRow,
    PatternRow,
    RejectionRow,
    RelationRow,
    SitemapRow,
)
from scrawler.model.seeds import SeedCounts, SeedState
from scrawler.model.terms import url_hash
from scrawler.model.visits import UrlState


def page(position: int) -> PageRow:
    return PageRow(1, b"", f"u{position}", 0, 1, position, "fetched", 200, "", 0, b"", 1, 0, 0, "", 0, 0, 0, "")


def of_seed(
    seed: int,
    *,
    pages: int = 0,
    lanes: tuple[LaneState, ...] = (),
    chunks: tuple[ChunkRow, ...] = (),
    done: bool = False,
) -> SeedDelta:
    state = SeedState.DONE if done else SeedState.ACTIVE
    candidate = ExternalRow(seed, b"h", "http://x/", 0, 1)
    counts = SeedCounts(pages=pages)
    return SeedDelta(seed, (page(pages),), lanes, chunks, (candidate,), counts, {"seen": pages}, pages * 10, state)


def of_site(number: int, *seeds: SeedDelta, token: int = 1, due: int = 0, released: bool = False) -> SiteDelta:
    return SiteDelta(number, token, seeds, due, "127.0.0.1", released)


def test_one_delta_a_site_is_left_as_it_is() -> None:
    deltas = [of_site(1, of_seed(1)), of_site(2, of_seed(2))]
    assert merged(deltas) == deltas


def test_rows_add_up_and_the_newest_state_counts() -> None:
    (site,) = merged([of_site(1, of_seed(1, pages=1)), of_site(1, of_seed(1, pages=2, done=True), due=9)])
    (seed,) = site.seeds
    assert [row.position for row in seed.pages] == [1, 2]
    assert len(seed.externals) == 2
    assert (seed.counts.pages, seed.verdicts, seed.elapsed_ms, seed.state) == (2, {"seen": 2}, 20, SeedState.DONE)
    assert site.next_due_at == 9


def test_the_newest_jar_stays_though_a_later_delta_has_none() -> None:
    jars = (b"old", b"new", None)
    (site,) = merged([of_site(1, replace(of_seed(1), jar=jar)) for jar in jars])
    assert site.seeds[0].jar == b"new"
    (site,) = merged([of_site(1, replace(of_seed(1), jar=jar)) for jar in (b"old", b"", None)])
    assert site.seeds[0].jar == b""


def test_a_release_is_not_forgotten() -> None:
    (site,) = merged([of_site(1, of_seed(1)), of_site(1, released=True)])
    assert site.released
    assert len(site.seeds) == 1


def test_a_lane_that_changed_hands_stands_once_with_its_newest_holder() -> None:
    old, new = LaneState(5, 0, 5, 3, 10, (7,)), LaneState(5, 0, 2, 3, 10, (5, 7))
    (site,) = merged([of_site(1, of_seed(5, lanes=(old,))), of_site(1, of_seed(2, lanes=(new,)))])
    assert [lane for seed in site.seeds for lane in seed.lanes] == [new]


def test_a_tail_chunk_stands_once_with_most_entries() -> None:
    first, second = ChunkRow(1, 0, 4, 0, 2, b"a"), ChunkRow(1, 0, 4, 0, 5, b"b")
    (site,) = merged([of_site(1, of_seed(1, chunks=(first,))), of_site(1, of_seed(1, chunks=(second,)))])
    assert site.seeds[0].chunks == (second,)


def test_an_older_lease_of_a_site_is_kept_apart() -> None:
    deltas = [of_site(1, of_seed(1), token=1), of_site(1, of_seed(1), token=2)]
    assert merged(deltas) == deltas


def test_of_visits_nothing_is_left_out() -> None:
    """Of two states of a URL the later one counts; each change is one; cells of demand are added up."""
    url, other = url_hash("http://a/1"), url_hash("http://a/2")
    states = (state_of(url, 1), state_of(other, 1))
    first = replace(of_seed(1), rows=((URL_STATE, states), (URL_CHANGE, (change_of(url, 1),))))
    second = replace(of_seed(1), rows=((URL_STATE, (state_of(url, 2),)), (URL_CHANGE, (change_of(url, 2),))))
    one = replace(of_site(1, first), rows=((CELLS, cells({3: 2, 5: 1})), (SITE_RATES, (SiteRates(1, b"1"),))))
    two = replace(of_site(1, second), rows=((CELLS, cells({3: -1, 5: -1, 7: 1})),))
    (site,) = merged([one, two, of_site(1, released=True)])
    (seed,) = site.seeds
    assert {(row.url_hash, row.visit) for row in rows_of_kind(seed.rows, URL_STATE)} == {(url, 2), (other, 1)}
    assert [row.visit for row in rows_of_kind(seed.rows, URL_CHANGE)] == [1, 2]
    assert {row.cell: row.pages for row in rows_of_kind(site.rows, CELLS)} == {3: 1, 5: 0, 7: 1}
    assert (rows_of_kind(site.rows, SITE_RATES), site.released) == ((SiteRates(1, b"1"),), True)


def cells(pages: dict[int, int]) -> tuple[CellRow, ...]:
    """How many pages more cells have."""
    return tuple(CellRow(1, cell, number, own_budget=False) for cell, number in pages.items())


def state_of(key: bytes, visit: int) -> UrlState:
    """A state of a URL."""
    return UrlState(
        seed_id=1, url_hash=key, url="", depth=0, position=0, flags=0, referrer=b"", visit=visit, visited_at=1,
        result="fetched", digest=b"", payload_url="", payload_at=0, length=0, etag="", last_modified="", known_since=1,
        changed_at=0, changes=0, missing=0, interval_ms=0, due_at=0,
    )  # fmt: skip


def change_of(key: bytes, visit: int) -> UrlChange:
    """A change of a URL."""
    return UrlChange(at=1, seed_id=1, url_hash=key, url="", kind="changed", visit=visit, detail="")


@pytest.mark.interpreted("reads the types of fields as they are written")
def test_no_rows_are_left_out() -> None:
    """Whatever rows a delta has come to hold: those of an earlier one are not lost behind a later one."""
    kinds = {
        "relations": RelationRow(b"h", "canonical", 1, "http://x/"),
        "patterns": PatternRow(1, b"h", "p", 1, 0, 0, 0, ""),
        "rejections": RejectionRow(1, b"h", "depth", "http://x/", ""),
        "sitemap_urls": SitemapRow(1, b"h", 0, "http://x/"),
        "replaced": WaitingRow(1, 1, "http://x/", "cut", 200, "", 1, b"", 1, "f", 1, 1, 0, 0), "marked": 3, "kept": 2,
    }  # fmt: skip
    rows = {one.name for one in fields(SeedDelta) if str(one.type).startswith("tuple[") and one.default == ()}
    assert rows == {*kinds, "orphans"}, "a field that is not tried here"
    kept = replace(of_seed(1), kept=(2,), orphans=(("f", 1, 1),))
    (site,) = merged([of_site(1, kept), of_site(1, of_seed(1))])
    assert site.seeds[0].orphans == kept.orphans
    for name, row in kinds.items():
        earlier = replace(of_seed(1), **{name: (row,)})  # type: ignore[arg-type]
        (site,) = merged([of_site(1, earlier), of_site(1, of_seed(1))])
        assert getattr(site.seeds[0], name) == (row,), name


def test_rows_of_features_are_kept_each_key_once() -> None:
    kind, other = RowKind("search", ("seed_id", "found"), key=1), RowKind("search_query", ("seed_id", "number"), key=2)
    earlier = replace(of_seed(1), rows=((kind, ((1, 5),)), (other, ((1, 1), (1, 2)))))
    later = replace(of_seed(1), rows=((kind, ((1, 6),)), (other, ((1, 3),))))
    (site,) = merged([of_site(1, earlier), of_site(1, later), of_site(1, of_seed(1))])
    assert site.seeds[0].rows == ((kind, ((1, 6),)), (other, ((1, 1), (1, 2), (1, 3))))


def test_of_what_lists_say_of_a_url_the_newest_stays() -> None:
    rows = [PublishedRow(1, b"h", at, 0, "http://x/") for at in (5, 9, 7)]
    told = [replace(of_seed(1), rows=((PUBLISHED, (row,)),)) for row in rows]
    (site,) = merged([of_site(1, one) for one in told])
    assert rows_of_kind(site.seeds[0].rows, PUBLISHED) == (rows[1],)
