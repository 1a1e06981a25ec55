-- SCrawler: from schema 12 to 13 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Machines tell each other how many URLs their sites have left, where there is no delay.
ALTER TABLE machine ADD COLUMN urls_left INTEGER DEFAULT 0 NOT NULL;  -- URLs that its sites have left, as told while there is no delay; 0: not told

INSERT INTO schema_version (version, applied_at) VALUES (13, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
