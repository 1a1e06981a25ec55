-- SCrawler: from schema 14 to 15 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Records without a row of page are noted many in a row.
ALTER TABLE orphan ADD COLUMN others VARBINARY(8000) NOT NULL DEFAULT x'';  -- others of the file, behind it: how far from one to the next, and length, compressed

INSERT INTO schema_version (version, applied_at) VALUES (15, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
