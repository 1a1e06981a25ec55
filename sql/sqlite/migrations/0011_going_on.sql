-- SCrawler: from schema 10 to 11 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- What servers publish of their changes, by ResourceSync.
CREATE TABLE published_url (
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    changed_at INTEGER NOT NULL,  -- when it last changed, as the ResourceSync lists of its server say; 0: they do not
    gone INTEGER NOT NULL,  -- 1: that change was its deletion
    source TEXT NOT NULL,  -- URL of the list that says so
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE publisher (
    seed_id INTEGER NOT NULL,  -- whose site has change lists of ResourceSync
    complete_since INTEGER NOT NULL,  -- they have told of all changes since then; 0: of none
    read_at INTEGER NOT NULL,  -- when the last of them was read
    hits INTEGER NOT NULL,  -- visits that found of a URL what they have said; halved now and then, as are misses
    misses INTEGER NOT NULL,  -- visits that found something else
    PRIMARY KEY (seed_id)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (11, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
