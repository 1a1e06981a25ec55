-- SCrawler: from schema 15 to 16 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Machines lend each other hosts that one of them has in work.
CREATE TABLE errand (
    site_id INTEGER NOT NULL,  -- a site that one machine has in work, and of whose host another one wants something
    url TEXT NOT NULL,  -- what it wants, on behalf of a site of its own
    machine_id INTEGER NOT NULL,  -- the one that wants it; 0: it has asked, and the owner of the site goes on after `ends_at`
    lent_at INTEGER NOT NULL,  -- from when on it may ask: the owner asks nothing from then on until `ends_at`; 0: not yet
    ends_at INTEGER NOT NULL,  -- after this the row counts no more, whatever has become of either machine
    PRIMARY KEY (site_id)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (16, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
