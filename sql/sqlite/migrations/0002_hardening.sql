-- SCrawler: from schema 1 to 2 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- there already; so the number is written last.

-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN slowest_ms INTEGER NOT NULL DEFAULT 0;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

-- How often answers of a seed met a fault of the program: five of them end it.
ALTER TABLE seed ADD COLUMN internal_errors INTEGER DEFAULT 0 NOT NULL;  -- answers that met a fault of this program

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
