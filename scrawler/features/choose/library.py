"""What `Crawl` does about which seeds come next.

Only seeds are touched at whose sites no machine is at work; what is returned says how many were left for that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path

from scrawler.api.bare import BareCrawl
from scrawler.errors import InputError, SettingsError, StoreError
from scrawler.features.choose.choosing import Chosen, Scored, best, lower_bound
from scrawler.features.choose.picking import Picked, Picking, Promotion
from scrawler.features.choose.scores import Scores
from scrawler.features.revisit.store.orders import order_round
from scrawler.model.scope import Boundary
from scrawler.seeds.files import open_input, read_as
from scrawler.seeds.formats import read_entries
from scrawler.seeds.promoter import ANY_HOPS, Promoted
from scrawler.seeds.promoter import promote as promote_candidates
from scrawler.store.claims.boundary import CrawlBoundary
from scrawler.store.claims.seeds import NewSeed, Seeds
from scrawler.store.engines.rows import sliced
from scrawler.store.reading.candidates import Candidates
from scrawler.urls.normalise import HTTP_SCHEMES, seed_url
from scrawler.urls.scope import site_key

_LOOKED_UP = 5_000  # seeds that are looked up at a time
BY = ("yield", "change", "rank", "unseen")
SeedNames = str | os.PathLike[str] | Iterable[str]


def choose(
    crawl: BareCrawl,
    by: str = "yield",
    top: int = 100,
    *,
    per_domain: int | None = None,
    at_least: float = 0.0,
    rank: str | os.PathLike[str] | None = None,
) -> list[Chosen]:
    """Return the best seeds, the best one first, with what their score was made of.

    `by` is "yield": pages that were new, by requests; "change": changes found, by visits after the first; both as
    the lower bound of the share that is likely (Wilson, 95 %). "rank": the number that the file `rank` gives the
    seed's URL, a line each; without a file, how many other seeds' parties link to it. "unseen": candidate seeds, by
    how many seeds' parties link to them. Of a registrable domain come `per_domain` at most. Seeds that are not
    done, or skipped, are left out. Memory follows from `top`.

    Raises SettingsError for another word, or a file of ranks that cannot be read.
    """
    if by not in BY:
        raise SettingsError(f"by {by!r} is not allowed, only {', '.join(BY)}")
    if top < 1 or (per_domain is not None and per_domain < 1):
        raise SettingsError("top and per_domain are numbers of seeds: 1 or more")
    if by != "unseen":
        return best(_scored(crawl, by, rank), top, per_domain, at_least)
    rule = CrawlBoundary(crawl.database, Boundary(crawl.settings.boundary), crawl.stored.scope).rule()
    return best(_scored(crawl, by, rank), top, per_domain, at_least, lambda url: not rule.refusal(url))


def _scored(crawl: BareCrawl, by: str, rank: str | os.PathLike[str] | None) -> Iterator[Scored]:
    scores = Scores(crawl.database)
    if by in ("yield", "change"):
        found = scores.yields() if by == "yield" else scores.changes()
        for one in found:
            yield Scored(one.id, one.url, lower_bound(one.part, one.whole), one.part, one.whole)
    elif rank is not None:
        from scrawler.features.revisit.shares import read_rank_file  # it is much to load

        ranks = read_rank_file(Path(rank), crawl.settings)
        for one in scores.urls():
            yield Scored(one.id, one.url, ranks.weight(one.url), 0, 0)
    else:
        for one in scores.links() if by == "rank" else scores.unseen():
            yield Scored(one.id, one.url, float(one.part), one.part, one.whole)


def take_next(crawl: BareCrawl, chosen: Iterable[Chosen]) -> int:
    """Let the next run crawl what was chosen; return how many seeds that are.

    Seeds begin another round; candidate seeds become seeds, as a batch that `undo_promotion` takes back. Raises
    StoreError where a round was ordered before, and is not begun yet.
    """
    ids, urls = list[int](), list[str]()
    for one in chosen:
        if one.id:
            ids.append(one.id)
        else:
            urls.append(one.url)
    if ids and not order_round(crawl.database, seeds=ids):
        raise StoreError("a round was ordered before, and waits to be begun: `scrawler run` begins it")
    return len(ids) + (_promote_urls(crawl, urls) if urls else 0)


def _promote_urls(crawl: BareCrawl, urls: list[str]) -> int:
    scope, seeds, candidates = crawl.stored.scope, Seeds(crawl.database), Candidates(crawl.database)
    batch = Picking(crawl.database).begin_promotion({"chosen": len(urls)})
    new = 0
    for views in candidates.of_urls(urls):
        fresh = [NewSeed(one.url, site_key(one.url, scope), one.hops, batch=batch) for one in views]
        new += seeds.add(fresh).new
        candidates.mark_promoted(one.url_hash for one in views)
    return new


def skip(crawl: BareCrawl, seeds: SeedNames) -> Picked:
    """Let no machine, round or retry take up seeds, a URL, those of a file, or several. Raises InputError."""
    return Picking(crawl.database).skip(seed_ids(crawl, seeds))


def unskip(crawl: BareCrawl, seeds: SeedNames) -> Picked:
    """Take a skip back: seeds that were not done go on where they were. Raises InputError."""
    return Picking(crawl.database).unskip(seed_ids(crawl, seeds))


def remove(crawl: BareCrawl, seeds: SeedNames, with_pages: bool = False) -> Picked:
    """Remove seeds and all that is known for them; those that have pages only `with_pages`. Raises InputError.

    Their records stay in the archive, as orphans. A seed is kept whose list other seeds of its site need.
    """
    return Picking(crawl.database).remove(seed_ids(crawl, seeds), with_pages)


def promote(
    crawl: BareCrawl, *, within: int = ANY_HOPS, like: str | None = None, min_count: int = 1, dry_run: bool = False
) -> tuple[Promoted, int]:
    """Make seeds of candidate seeds inside the boundary; return how many, and the number of the batch.

    `like` is an SQL pattern of the URL, `min_count` how often it was found. With `dry_run` nothing is changed, and
    the batch is 0, as it is where there was nothing to promote.
    """
    scope = crawl.stored.scope
    rule = CrawlBoundary(crawl.database, Boundary(crawl.settings.boundary), scope).rule()
    parts = Candidates(crawl.database), Seeds(crawl.database), scope, rule
    batch = 0
    picking = Picking(crawl.database)
    if not dry_run:
        hops = None if within == ANY_HOPS else within
        batch = picking.begin_promotion({"within": hops, "like": like, "min_count": min_count})
    done = promote_candidates(
        *parts, max_hops=within, like=like, min_count=min_count, batch_number=batch, dry_run=dry_run
    )
    if batch and not done.new:
        picking.forget_promotion(batch)
        batch = 0
    return done, batch


def promotions(crawl: BareCrawl) -> list[Promotion]:
    """Return all promotions, the newest last, with how many of their seeds are there, and were begun."""
    return Picking(crawl.database).promotions()


def undo_promotion(crawl: BareCrawl, batch: int) -> Picked:
    """Make seeds of a promotion candidates again, but for those that were begun. Raises InputError."""
    try:
        return Picking(crawl.database).undo(batch)
    except KeyError:
        known = [str(one.batch) for one in promotions(crawl)]
        there = f"there are {', '.join(known[-10:])}" if known else "nothing was promoted yet"
        raise InputError(f"there is no promotion {batch}; {there}") from None


def seed_ids(crawl: BareCrawl, seeds: SeedNames) -> list[int]:
    """Return the ids of seeds of this crawl: a URL, those of a file, or several. Raises InputError."""
    given = [os.fspath(seeds)] if isinstance(seeds, str | os.PathLike) else [str(one) for one in seeds]
    found: list[int] = []
    for some in sliced(chain.from_iterable(map(partial(_urls_in, crawl), given)), _LOOKED_UP):
        plain = [seed_url(url).url for url in some]
        ids = Seeds(crawl.database).ids(plain)
        # What is not there as it is written may be there as it was changed, or is told of.
        found += [ids.get(url) or crawl.seed(as_given).seed.id for url, as_given in zip(plain, some, strict=True)]
    return found


def _urls_in(crawl: BareCrawl, given: str) -> Iterator[str]:
    if given.strip().lower().startswith(HTTP_SCHEMES) or "://" in given:
        yield given
        return
    with open_input(given, crawl.settings.input_dir) as stream:
        for entry in read_entries(stream, read_as(given), given):
            yield entry.text
