-- SCrawler: from schema 7 to 8 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- URLs are visited again, in rounds of their seeds.
ALTER TABLE seed ADD COLUMN saved INTEGER DEFAULT 0 NOT NULL;  -- bytes of bodies that did not come again: their server said that nothing has changed
ALTER TABLE seed ADD COLUMN round INTEGER DEFAULT 0 NOT NULL;  -- 0: its URLs are fetched for the first time; n: they were visited again n times
ALTER TABLE seed ADD COLUMN round_at INTEGER DEFAULT 0 NOT NULL;  -- when that round was begun; 0: it is the first
ALTER TABLE seed ADD COLUMN states_to INTEGER DEFAULT 0 NOT NULL;  -- page.id up to which url_state has what its first round has brought
ALTER TABLE seed ADD COLUMN due_at INTEGER DEFAULT 0;  -- when a URL of it is due next; 0: look into url_state; NULL: never
CREATE INDEX seed_due ON seed (state, due_at);

ALTER TABLE crawl ADD COLUMN again TEXT;  -- JSON: the round that was ordered, until it is begun for all its seeds

CREATE TABLE seed_round (
    seed_id INTEGER NOT NULL,
    round INTEGER NOT NULL,  -- one that is over; that which a seed is in, or was in last, stands in its own row
    began_at INTEGER NOT NULL,  -- 0: it was the first
    ended_at INTEGER NOT NULL,
    end_reason TEXT NOT NULL,
    end_detail TEXT NOT NULL,
    elapsed_ms INTEGER NOT NULL,  -- as seed.elapsed_ms at its end: since the seed began, as all counts here
    requests INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    redirects INTEGER NOT NULL,
    http_errors INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    unwanted INTEGER NOT NULL,
    trapped INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    revisits INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    near_duplicates INTEGER NOT NULL,
    noindex INTEGER NOT NULL,
    nofollow INTEGER NOT NULL,
    assets INTEGER NOT NULL,
    sitemap_urls INTEGER NOT NULL,
    pushed_back INTEGER NOT NULL,
    slowed INTEGER NOT NULL,
    slow_pages INTEGER NOT NULL,
    wait_ms INTEGER NOT NULL,
    internal_errors INTEGER NOT NULL,
    not_modified INTEGER NOT NULL,
    saved INTEGER NOT NULL,
    PRIMARY KEY (seed_id, round)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE url_state (
    seed_id INTEGER NOT NULL,  -- its visits were made for this seed
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- as page.position
    flags INTEGER NOT NULL,  -- as page.flags, of its last visit
    referrer BLOB DEFAULT x'' NOT NULL,  -- as page.referrer
    visit INTEGER NOT NULL,  -- page.visit of the last visit
    visited_at INTEGER NOT NULL,  -- when it was asked for last ...
    result TEXT NOT NULL,  -- ... and what came of that
    digest BLOB NOT NULL,  -- of its newest payload; empty: none that is whole
    payload_url TEXT NOT NULL,  -- whose record holds that payload, if it is another URL's; empty: its own
    payload_at INTEGER NOT NULL,  -- page.fetched_at of that record
    length INTEGER NOT NULL,  -- bytes of that payload, as transferred
    etag TEXT NOT NULL,  -- as the server sent it with that
    last_modified TEXT NOT NULL,  -- as the server sent it with that
    known_since INTEGER NOT NULL,  -- its first visit
    changed_at INTEGER NOT NULL,  -- when a visit last found it changed; 0: never
    changes INTEGER NOT NULL,  -- visits that found it changed
    missing INTEGER NOT NULL,  -- answers of 404 or 410 in a row
    interval_ms INTEGER NOT NULL,  -- from its last visit to the next one, by the policy
    due_at INTEGER NOT NULL,  -- when it is to be visited again; 0: never, -1: it is listed for that
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX url_state_due ON url_state (seed_id, due_at);

CREATE TABLE url_change (
    id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    kind TEXT NOT NULL,  -- new, changed, gone, back, moved
    visit INTEGER NOT NULL,  -- page.visit of the visit that has found it
    detail TEXT NOT NULL,  -- where it has moved
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX url_change_at ON url_change (at);
CREATE INDEX url_change_seed ON url_change (seed_id, at);

INSERT INTO schema_version (version, applied_at) VALUES (8, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
