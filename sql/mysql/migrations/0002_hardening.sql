-- SCrawler: from schema 1 to 2 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- there already (no IF NOT EXISTS: MySQL has none for columns and indexes); so the number is written last.

-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN slowest_ms BIGINT NOT NULL DEFAULT 0;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

-- How often answers of a seed met a fault of the program: five of them end it.
ALTER TABLE seed ADD COLUMN internal_errors BIGINT DEFAULT 0 NOT NULL;  -- answers that met a fault of this program

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
