-- SCrawler: from schema 9 to 10 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- Guests: machines that have nothing else to do, and fetch what they have found at the sites of others.
ALTER TABLE site ADD COLUMN visits BIGINT;  -- site.id of the site whose guests have their parties here, and whose lease they take
ALTER TABLE seed ADD COLUMN guest_of BIGINT;  -- of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url
ALTER TABLE inbox ADD COLUMN guest INTEGER NOT NULL DEFAULT 0;  -- 1: for guests at the site, whose row has the key 'guest ' and that of the site

INSERT INTO schema_version (version, applied_at) VALUES (10, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
