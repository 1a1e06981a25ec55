-- SCrawler: from schema 2 to 3 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- Nothing has ever read it: a crawl is never closed.
ALTER TABLE crawl DROP COLUMN state;

-- From here on chunk.data is written in a form which programs for schema 2 cannot read. What they wrote stays as it is.

INSERT INTO schema_version (version, applied_at) VALUES (3, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
