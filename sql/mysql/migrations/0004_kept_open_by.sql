-- SCrawler: from schema 3 to 4 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

ALTER TABLE machine ADD COLUMN kept_open_by VARCHAR(64) NOT NULL DEFAULT '';  -- why the crawl was not over when it last looked; empty: it has not looked

INSERT INTO schema_version (version, applied_at) VALUES (4, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
