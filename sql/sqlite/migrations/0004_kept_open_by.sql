-- SCrawler: from schema 3 to 4 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

ALTER TABLE machine ADD COLUMN kept_open_by TEXT DEFAULT '' NOT NULL;  -- why the crawl was not over when it last looked; empty: it has not looked

INSERT INTO schema_version (version, applied_at) VALUES (4, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
