-- SCrawler: from schema 14 to 15 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Records without a row of page are noted many in a row.
ALTER TABLE orphan ADD COLUMN others BLOB DEFAULT x'' NOT NULL;  -- others of the file, behind it: how far from one to the next, and length, compressed

INSERT INTO schema_version (version, applied_at) VALUES (15, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
