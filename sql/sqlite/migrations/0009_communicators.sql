-- SCrawler: from schema 8 to 9 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- What a machine sends to the owners of sites by a communicator, until they have acknowledged it.
CREATE TABLE outbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    machine_id INTEGER NOT NULL,  -- the machine that has found it, and sends it by its communicator
    key_hash BLOB NOT NULL,  -- as in inbox, and all others; the row goes when the receiver has acknowledged it ...
    url TEXT NOT NULL,  -- ... or into the inbox of its site, where no other machine owns that
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    seed_id INTEGER NOT NULL,
    referrer BLOB DEFAULT x'' NOT NULL  -- page.url_hash of the page where it was found
) STRICT;
CREATE INDEX outbox_machine_id ON outbox (machine_id);

ALTER TABLE machine ADD COLUMN carried INTEGER DEFAULT 0 NOT NULL;  -- URLs that other machines have acknowledged to its communicator; counted as received as well
ALTER TABLE machine ADD COLUMN address TEXT DEFAULT '' NOT NULL;  -- where its communicator listens, as tcp://host:port; empty: it has none

-- An id that was taken out of an inbox is never that of another row again: somebody may take it out a second time.
ALTER TABLE inbox RENAME TO inbox_of_schema_8;
CREATE TABLE inbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    key_hash BLOB NOT NULL,  -- site.key_hash of the URL's site, which may not be in the database yet
    url TEXT NOT NULL,  -- sent to the owner of the site; the row goes with the checkpoint that lists it
    depth INTEGER NOT NULL,  -- links from a user's seed, over all sites between
    hops INTEGER NOT NULL,  -- sites from a user's seed
    seed_id INTEGER NOT NULL,  -- the seed whose party has found it
    referrer BLOB DEFAULT x'' NOT NULL  -- page.url_hash of the page where it was found
) STRICT;
INSERT OR IGNORE INTO inbox SELECT id, key_hash, url, depth, hops, seed_id, referrer FROM inbox_of_schema_8;
DROP TABLE inbox_of_schema_8;
CREATE INDEX inbox_key_hash ON inbox (key_hash);

INSERT INTO schema_version (version, applied_at) VALUES (9, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
