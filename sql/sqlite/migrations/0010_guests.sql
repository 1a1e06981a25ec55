-- SCrawler: from schema 9 to 10 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Guests: machines that have nothing else to do, and fetch what they have found at the sites of others.
ALTER TABLE site ADD COLUMN visits INTEGER;  -- site.id of the site whose guests have their parties here, and whose lease they take
ALTER TABLE seed ADD COLUMN guest_of INTEGER;  -- of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url
ALTER TABLE inbox ADD COLUMN guest INTEGER DEFAULT 0 NOT NULL;  -- 1: for guests at the site, whose row has the key 'guest ' and that of the site

INSERT INTO schema_version (version, applied_at) VALUES (10, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
