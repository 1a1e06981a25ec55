-- SCrawler: from schema 7 to 8 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- URLs are visited again, in rounds of their seeds.
ALTER TABLE seed ADD COLUMN saved BIGINT NOT NULL DEFAULT 0;  -- bytes of bodies that did not come again: their server said that nothing has changed
ALTER TABLE seed ADD COLUMN round INTEGER NOT NULL DEFAULT 0;  -- 0: its URLs are fetched for the first time; n: they were visited again n times
ALTER TABLE seed ADD COLUMN round_at BIGINT NOT NULL DEFAULT 0;  -- when that round was begun; 0: it is the first
ALTER TABLE seed ADD COLUMN states_to BIGINT NOT NULL DEFAULT 0;  -- page.id up to which url_state has what its first round has brought
ALTER TABLE seed ADD COLUMN due_at BIGINT DEFAULT 0;  -- when a URL of it is due next; 0: look into url_state; NULL: never
CREATE INDEX seed_due ON seed (state, due_at);

ALTER TABLE crawl ADD COLUMN again MEDIUMTEXT;  -- JSON: the round that was ordered, until it is begun for all its seeds

CREATE TABLE seed_round (
    seed_id BIGINT NOT NULL,
    round INTEGER NOT NULL,  -- one that is over; that which a seed is in, or was in last, stands in its own row
    began_at BIGINT NOT NULL,  -- 0: it was the first
    ended_at BIGINT NOT NULL,
    end_reason VARCHAR(24) NOT NULL,
    end_detail VARCHAR(1000) NOT NULL,
    elapsed_ms BIGINT NOT NULL,  -- as seed.elapsed_ms at its end: since the seed began, as all counts here
    requests BIGINT NOT NULL,
    pages BIGINT NOT NULL,
    redirects BIGINT NOT NULL,
    http_errors BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    denied BIGINT NOT NULL,
    unwanted BIGINT NOT NULL,
    trapped BIGINT NOT NULL,
    retries BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    listed BIGINT NOT NULL,
    revisits BIGINT NOT NULL,
    candidates BIGINT NOT NULL,
    near_duplicates BIGINT NOT NULL,
    noindex BIGINT NOT NULL,
    nofollow BIGINT NOT NULL,
    assets BIGINT NOT NULL,
    sitemap_urls BIGINT NOT NULL,
    pushed_back BIGINT NOT NULL,
    slowed BIGINT NOT NULL,
    slow_pages BIGINT NOT NULL,
    wait_ms BIGINT NOT NULL,
    internal_errors BIGINT NOT NULL,
    not_modified BIGINT NOT NULL,
    saved BIGINT NOT NULL,
    PRIMARY KEY (seed_id, round)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE url_state (
    seed_id BIGINT NOT NULL,  -- its visits were made for this seed
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    position BIGINT NOT NULL,  -- as page.position
    flags INTEGER NOT NULL,  -- as page.flags, of its last visit
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- as page.referrer
    visit INTEGER NOT NULL,  -- page.visit of the last visit
    visited_at BIGINT NOT NULL,  -- when it was asked for last ...
    result VARCHAR(24) NOT NULL,  -- ... and what came of that
    digest VARBINARY(20) NOT NULL,  -- of its newest payload; empty: none that is whole
    payload_url TEXT NOT NULL,  -- whose record holds that payload, if it is another URL's; empty: its own
    payload_at BIGINT NOT NULL,  -- page.fetched_at of that record
    length BIGINT NOT NULL,  -- bytes of that payload, as transferred
    etag VARCHAR(255) NOT NULL,  -- as the server sent it with that
    last_modified VARCHAR(64) NOT NULL,  -- as the server sent it with that
    known_since BIGINT NOT NULL,  -- its first visit
    changed_at BIGINT NOT NULL,  -- when a visit last found it changed; 0: never
    changes INTEGER NOT NULL,  -- visits that found it changed
    missing INTEGER NOT NULL,  -- answers of 404 or 410 in a row
    interval_ms BIGINT NOT NULL,  -- from its last visit to the next one, by the policy
    due_at BIGINT NOT NULL,  -- when it is to be visited again; 0: never, -1: it is listed for that
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX url_state_due ON url_state (seed_id, due_at);

CREATE TABLE url_change (
    id BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    kind VARCHAR(8) NOT NULL,  -- new, changed, gone, back, moved
    visit INTEGER NOT NULL,  -- page.visit of the visit that has found it
    detail TEXT NOT NULL,  -- where it has moved
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX url_change_at ON url_change (at);
CREATE INDEX url_change_seed ON url_change (seed_id, at);

INSERT INTO schema_version (version, applied_at) VALUES (8, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
