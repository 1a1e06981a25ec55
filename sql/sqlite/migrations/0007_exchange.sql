-- SCrawler: from schema 6 to 7 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- URLs of somebody else: they wait in the inboxes of their sites.
CREATE TABLE inbox (
    id INTEGER NOT NULL,
    key_hash BLOB NOT NULL,  -- site.key_hash of the URL's site, which may not be in the database yet
    url TEXT NOT NULL,  -- sent to the owner of the site; the row goes with the checkpoint that lists it
    depth INTEGER NOT NULL,  -- links from a user's seed, over all sites between
    hops INTEGER NOT NULL,  -- sites from a user's seed
    seed_id INTEGER NOT NULL,  -- the seed whose party has found it
    referrer BLOB DEFAULT x'' NOT NULL,  -- page.url_hash of the page where it was found
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX inbox_key_hash ON inbox (key_hash);

ALTER TABLE seed ADD COLUMN base_depth INTEGER DEFAULT 0 NOT NULL;  -- links from a user's seed to its URL, where that came from another site
ALTER TABLE seed ADD COLUMN reopened INTEGER DEFAULT 0 NOT NULL;  -- times that it went on after its end, for URLs from other sites

ALTER TABLE machine ADD COLUMN sent INTEGER DEFAULT 0 NOT NULL;  -- URLs that it has put into inboxes
ALTER TABLE machine ADD COLUMN received INTEGER DEFAULT 0 NOT NULL;  -- URLs that it has taken out of inboxes: of all machines, sent less received is what waits there
ALTER TABLE machine ADD COLUMN reopened INTEGER DEFAULT 0 NOT NULL;  -- parties that had ended, and that it let go on for URLs in their inboxes
ALTER TABLE machine ADD COLUMN dropped INTEGER DEFAULT 0 NOT NULL;  -- external URLs that it has forgotten, as mode drop wants

INSERT INTO schema_version (version, applied_at) VALUES (7, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
