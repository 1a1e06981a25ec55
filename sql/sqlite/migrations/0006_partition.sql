-- SCrawler: from schema 5 to 6 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Who crawls what: by the names and weights of the machines, or by a table that all of them read.
ALTER TABLE machine ADD COLUMN agent TEXT DEFAULT '' NOT NULL;  -- its identifier, which a consistent partition is made from; kept when it starts anew
ALTER TABLE machine ADD COLUMN weight INTEGER DEFAULT 1 NOT NULL;  -- how much of the crawl it takes, compared with the others

CREATE TABLE slot_table (
    kind TEXT NOT NULL,  -- of partition: dynamic, modulo, subsite
    version INTEGER NOT NULL,  -- counts its changes; one that was made from an earlier version is refused
    machines TEXT NOT NULL,  -- JSON: id -> weight of those among whom the slots are divided
    slots TEXT NOT NULL,  -- JSON: the machine.id of each slot, 0: nobody's; a site's slot follows from its key
    PRIMARY KEY (kind)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (6, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
