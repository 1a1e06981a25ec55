-- SCrawler: from schema 11 to 12 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Candidates are kept in parts of the index on their hashes, in SQLite.
ALTER TABLE candidate ADD COLUMN part INTEGER DEFAULT 0 NOT NULL;  -- SQLite: its part of the index of hashes; each 262144 pages of the crawl begin the next

-- Pages and candidates by the hashes of their URLs, in parts: a new row need not go anywhere among all.
CREATE INDEX page_url_hash_in_parts ON page (id / 262144, url_hash);
DROP INDEX IF EXISTS page_url_hash;
CREATE INDEX candidate_url_hash_in_parts ON candidate (part, promoted, url_hash);
DROP INDEX IF EXISTS candidate_url_hash;

-- How many rows have the same values in the columns of an index: without it, SQLite would not go through parts.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1 WHERE tbl IN ('page', 'candidate');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('page', 'page_seed', '1048576 200');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('page', 'page_url_hash_in_parts', '1048576 262144 1');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('candidate', 'candidate_url_hash_in_parts', '1048576 262144 131072 2');
ANALYZE sqlite_schema;

INSERT INTO schema_version (version, applied_at) VALUES (12, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
