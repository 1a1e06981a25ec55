-- SCrawler: from schema 14 to 15 for PostgreSQL 13+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Records without a row of page are noted many in a row.
ALTER TABLE orphan ADD COLUMN others BYTEA DEFAULT '' NOT NULL;  -- others of the file, behind it: how far from one to the next, and length, compressed

INSERT INTO schema_version (version, applied_at) VALUES (15, CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT));
