"""The tables of visits again: what they found, how far lists of sites are right, what was pushed, demand of visits."""

from __future__ import annotations

from sqlalchemy import Index, Table

from scrawler.store.schema.columns import (
    CLUSTERED,
    HASH,
    IN_PASSING,
    bytes_column,
    index,
    metadata,
    number,
    row_id,
    small,
    tally,
    text_column,
    word,
)

revisit_demand = Table(
    "revisit_demand",
    metadata,
    number("site_id", "whose URLs; 0: of all sites, as one machine has counted them", key=True),
    number("machine_id", "which machine has counted them; 0: before any ran, or for a site", key=True),
    small(
        "cell", "how often they change, and what they weigh: see scrawler/features/revisit/policies/demand.py", key=True
    ),
    number("pages", "so many more than before; of one machine it may be below 0: others have counted them first"),
    **CLUSTERED,
)

url_change = Table(
    "url_change",
    metadata,
    row_id(),
    number("at"),
    number("seed_id"),
    bytes_column("url_hash", HASH),
    text_column("url"),
    word("kind", 8, "new, changed, failing, gone, back, moved"),
    small("visit", "page.visit of the visit that has found it"),
    text_column("detail", "where it has moved"),
    small("distance", "by how many of 64 bits the simhashes of old and new text differ; -1: not known", default=-1),
    *index("url_change_at", "at"),
    *index("url_change_seed", "seed_id", "at"),
)

sitemap_trust = Table(
    "sitemap_trust",
    metadata,
    number("site_id", key=True),
    tally("newer_right", "visits that found a page changed whose lastmod said so; thousandths, as all of these, ..."),
    tally("newer_wrong", "... for what is long ago counts less and less"),
    tally("older_right", "visits that found a page as it was whose lastmod said so"),
    tally("older_wrong"),
    tally("changefreq_right", "visits to pages whose rate of change is known, and within a factor of four of that"),
    tally("changefreq_wrong"),
    **CLUSTERED,
)

published_url = Table(
    "published_url",
    metadata,
    number("seed_id", key=True),
    bytes_column("url_hash", HASH, key=True),
    number("changed_at", "when it last changed, as the ResourceSync lists of its server say; 0: they do not"),
    small("gone", "1: that change was its deletion"),
    text_column("source", "URL of the list that says so"),
    **CLUSTERED,
)

publisher = Table(
    "publisher",
    metadata,
    number("seed_id", "whose site has change lists of ResourceSync", key=True),
    number("complete_since", "they have told of all changes since then; 0: of none"),
    number("read_at", "when the last of them was read"),
    small("hits", "visits that found of a URL what they have said; halved now and then, as are misses"),
    small("misses", "visits that found something else"),
    **CLUSTERED,
)

pushed = Table(
    "pushed",
    metadata,
    row_id(),
    number("site_id", "the site that is known, and to whose lists it goes"),
    text_column("url", "somebody has told that it is new, or has changed; the row goes when it is listed"),
    bytes_column("url_hash", HASH),
    word("source", 16, "who has told it: indexnow, websub, ping, owner"),
    number("at", "when it came, last"),
    number("due_at", "when it may be asked for: at once, once it is proved, or in the window of the site's owner"),
    text_column("proof", "JSON: what is not proved yet, key and place of its file; empty: all is"),
    Index("pushed_site_url", "site_id", "url_hash", unique=True),
    *index("pushed_due_at", "due_at"),
    **IN_PASSING,
)

push_tally = Table(
    "push_tally",
    metadata,
    number("site_id", "0: of no known site", key=True),
    number("day", "days since 1970, UTC", key=True),
    word("source", 16, "as in pushed", key=True),
    tally("accepted", "URLs; the quota of the site counts them"),
    tally("refused", "URLs, or messages: outside the crawl, over the quota, not proved"),
    tally("listed", "URLs that machines have taken into the lists of parties"),
    **CLUSTERED,
)
