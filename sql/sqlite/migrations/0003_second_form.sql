-- SCrawler: from schema 2 to 3 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Nothing has ever read it: a crawl is never closed.
ALTER TABLE crawl DROP COLUMN state;

-- A row of page is a visit: a URL can be visited again. Programs for schema 2 take each row for a URL.
ALTER TABLE page ADD COLUMN visit INTEGER DEFAULT 0 NOT NULL;  -- 0: the first to this URL; n: it was visited n times before, each of which has a row

ALTER TABLE seed ADD COLUMN not_modified INTEGER DEFAULT 0 NOT NULL;  -- URLs visited again whose page is as it was

ALTER TABLE machine ADD COLUMN capacity INTEGER DEFAULT 0 NOT NULL;  -- seeds that it can hold, as it said with its last heartbeat; 0: not yet

-- From here on chunk.data is written in a form which programs for schema 2 cannot read. What they wrote stays as it is.

INSERT INTO schema_version (version, applied_at) VALUES (3, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
