-- SCrawler: from schema 11 to 12 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Candidates are kept in parts of the index on their hashes, in SQLite.
ALTER TABLE candidate ADD COLUMN part INTEGER NOT NULL DEFAULT 0;  -- SQLite: its part of the index of hashes; each 262144 pages of the crawl begin the next

INSERT INTO schema_version (version, applied_at) VALUES (12, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
