"""The tables of a crawl's database, as `sql/` has them."""

from __future__ import annotations

from sqlalchemy import Column, Table

from scrawler.store.schema.ddl import dialect_of
from scrawler.store.schema.whole import all_tables

TABLES = {
    "schema_version": "A row for each migration that was applied; the newest alone where all was made at once.",
    "feature": "A row for each feature that keeps rows of its own in this database: whoever crawls with it needs them.",
    "crawl": "One row: the crawl, and what was ordered for all of its machines.",
    "run": "A row for each run of a machine: its settings, and what came of it. Of the same settings only the newest"
    " has all; earlier ones have what is read there, and `as_in_run`, the id of that run.",
    "site": "A row for each site: who owns it, and when it may be asked again.",
    "seed": "A row for each seed: its state, its end, and its counts.",
    "seed_round": "A row for each round of a seed that is over, but the one that it was in last.",
    "url_state": "A row for each URL that may be visited again: what its visits have brought, and when it is due.",
    "revisit_demand": "A row for each kind of URLs, by rate and weight, that share a budget of visits: how many.",
    "url_change": "A row for each change that a visit has found.",
    "thinned": "A row for each kind of visits whose rows are gone (`keep_visits`), with their sums.",
    "webhook": "A row for each URL to which changes are sent.",
    "lane": "A row for each list of a seed, normal or slow: how far it has come.",
    "chunk": "Pieces of these lists: URLs in the order in which they were found, packed. Lists of retries and rounds go"
    " when they are worked off.",
    "page": "A row for each visit to a URL: its final result, and its place in the archive. What only waits has none.",
    "orphan": "A row for each record of the archive to which no page refers: a killed machine left it, or its visit was"
    " thinned.",
    "robots_record": "A row for each answer to a request for a robots.txt in the archive.",
    "loss": "A row for each WARC file of which records are gone.",
    "relation": "A row for each page that names another URL as its canonical one, or redirects to it in the end.",
    "pattern": "A row for each pattern of URLs: what it yielded, and the evidence if it is capped.",
    "promotion": "A row for each promotion of candidate seeds, which can be undone.",
    "search": "A row for each party whose search forms are asked: what is known of them.",
    "search_query": "A row for each query of a search form.",
    "jar": "A row for each party that was given cookies: its jar.",
    "rejection": (
        "A sample of refused links, one of each page and four a seed and reason, with the limit and the page on which"
        " each stands."
    ),
    "sitemap_url": "A row for each URL that a sitemap lists.",
    "published_url": "A row for each URL that a ResourceSync list of its server names.",
    "publisher": "A row for each seed whose site has change lists: since when they are complete, and how true.",
    "sitemap_trust": "A row for each site whose sitemaps were held against what visits found.",
    "robots": "A row for each origin: its robots.txt as last had.",
    "processor": "A row for each set of page processors: how far it has come.",
    "suspect": "A row for each URL that was read when a machine died.",
    "candidate": "A row for each external URL and seed that found it.",
    "inbox": "A row for each URL that waits for the owner of its site, with mode `exchange`.",
    "outbox": "A row for each URL that a machine sends by its communicator, until that is acknowledged.",
    "pushed": "A row for each URL that somebody has sent to `scrawler listen`, until a machine has listed it.",
    "push_tally": "A row for each site, day and way in: URLs that came to `scrawler listen`, and what became of them.",
    "push_key": "A row for each key with which `scrawler listen` takes pings.",
    "subscription": "A row for each topic of a WebSub hub to which `scrawler listen` has subscribed.",
    "site_owner": "A row for each token of somebody who has shown that a site is theirs.",
    "submission": "A row for each URL that the owner of a site has submitted, the last 1,000 of each.",
    "listener": "A row for each time that `scrawler listen` was started.",
    "server": "A row for each IP address and machine: when it may be asked next.",
    "server_place": "A row for each IP address and machine that asks it: how many requests it may have in flight.",
    "errand": "A row for each site of whose host another machine than its own wants something, or has had it of late.",
    "machine": "A row for each machine that ever took part: what it is doing, and what it was told to do.",
    "slot_table": "Which machine owns which slot, where a partition has slots; a site's slot follows from its key.",
    "machine_statistics": "Counts of each machine over time, [thinned](../explanation/what-grows.md) with age.",
    "thread_statistics": "Seeds held by each thread over time, thinned as these.",
}


def tables() -> str:
    """Return a section for each table: what a row of it is, and what its columns mean."""
    return "\n".join(_section(table) for table in all_tables())


def _section(table: Table) -> str:
    assert table.name in TABLES, f"say here what a row of {table.name} is"
    rows = "\n".join(map(_row, table.columns))
    return f"\n### {table.name}\n\n{TABLES[table.name]}\n\n| column | type | |\n|---|---|---|\n{rows}"


def _row(column: Column[object]) -> str:
    kind = column.type.compile(dialect=dialect_of("sqlite"))
    key = ", key" if column.primary_key else ""
    null = ", or NULL" if column.nullable else ""
    said = (column.doc or "").replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")
    return f"| `{column.name}` | {kind}{null}{key} | {said} |"
