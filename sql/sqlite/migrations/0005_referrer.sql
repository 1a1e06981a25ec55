-- SCrawler: from schema 4 to 5 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.
-- The number rises with the lines of chunks as well: they tell the referrer, which the version before cannot read.

ALTER TABLE page ADD COLUMN referrer BLOB DEFAULT x'' NOT NULL;  -- url_hash of the page that listed the URL first; empty: none did, or the version before did not say it
ALTER TABLE candidate ADD COLUMN referrer BLOB DEFAULT x'' NOT NULL;  -- page.url_hash of the page where it was first found; empty: the version before did not say it

ALTER TABLE seed ADD COLUMN columns TEXT;  -- JSON: further columns of its line in the seed file, 16,000 characters; NULL: none

CREATE TABLE processor (
    name TEXT NOT NULL,  -- of page processors that work together, with commas between them
    cursor_page INTEGER NOT NULL,  -- they have had all rows of page up to this id ...
    gaps TEXT NOT NULL,  -- ... but for these, JSON: [first, last] of ids that were not committed yet
    pages INTEGER DEFAULT 0 NOT NULL,  -- given to them
    items INTEGER DEFAULT 0 NOT NULL,  -- that they made
    errors INTEGER DEFAULT 0 NOT NULL,  -- pages at which one of them failed: their items were left out
    items_file TEXT NOT NULL,  -- path of the file with the items, or table:NAME of this database; empty: none
    items_bytes INTEGER DEFAULT 0 NOT NULL,  -- of that file which are committed (a killed process wrote what follows); rows of that table
    version INTEGER DEFAULT 0 NOT NULL,  -- counts commits, and who begins: what an earlier process still commits is refused
    PRIMARY KEY (name)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (5, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
