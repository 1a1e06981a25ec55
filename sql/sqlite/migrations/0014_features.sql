-- SCrawler: from schema 13 to 14 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- A database says which features keep rows in it, and so are needed by whoever crawls with it.
CREATE TABLE feature (
    name TEXT NOT NULL,  -- of the room of a feature that keeps rows of its own in this database
    version INTEGER NOT NULL,  -- of its tables
    since INTEGER NOT NULL,  -- when a run first used it
    PRIMARY KEY (name)
) STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (14, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
