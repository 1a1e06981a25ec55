-- SCrawler: from schema 1 to 2 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- there already; so the number is written last.

-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN slowest_ms INTEGER NOT NULL DEFAULT 0;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

-- How often answers of a seed met a fault of the program: five of them end it.
ALTER TABLE seed ADD COLUMN internal_errors INTEGER DEFAULT 0 NOT NULL;  -- answers that met a fault of this program

-- Which machines are being started: they have no row of their own yet.
ALTER TABLE crawl ADD COLUMN starting_machines INTEGER NOT NULL DEFAULT 0;  -- how many the newest command starts ...
ALTER TABLE crawl ADD COLUMN starting_at INTEGER NOT NULL DEFAULT 0;  -- ... since then: the machine.launched_at of those that are there
ALTER TABLE crawl ADD COLUMN starting_process TEXT NOT NULL DEFAULT '';  -- ... and by which process, as machine.process

-- What WARC files do not hold any more, though rows of page say so.
CREATE TABLE loss (
    warc_file TEXT NOT NULL,  -- does not hold any more what rows of page say
    kind TEXT NOT NULL,  -- missing, cut, damaged
    records INTEGER NOT NULL,  -- response and revisit records that are gone
    revisits INTEGER NOT NULL,  -- records in other files that refer to payloads which stood in these alone; -1: not counted yet
    found_at INTEGER NOT NULL,
    told INTEGER DEFAULT 0 NOT NULL,  -- 1: a run has ended with exit code 7 for it
    accepted INTEGER DEFAULT 0 NOT NULL,  -- 1: the user knows of these records, and does not want them back
    PRIMARY KEY (warc_file)
) WITHOUT ROWID,
 STRICT;

-- What was being read when a process died.
CREATE TABLE suspect (
    site_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    machine_id INTEGER NOT NULL,  -- died while it read the URL: each of them counts once, however often it is noted
    url TEXT NOT NULL,
    blame INTEGER NOT NULL,  -- 1: perhaps, 2: for sure; with 2, all machines together, it is not asked for again
    detail TEXT NOT NULL,  -- of what the machine died
    PRIMARY KEY (site_id, url_hash, machine_id)
) WITHOUT ROWID,
 STRICT;

-- Answers to requests for robots.txt, which are in the archive, too.
CREATE TABLE robots_record (
    warc_file TEXT NOT NULL,  -- holds an answer to a request for a robots.txt, which has no row of page ...
    warc_offset INTEGER NOT NULL,
    warc_length INTEGER NOT NULL,
    url TEXT NOT NULL,  -- ... of a robots.txt, or where one redirects
    fetched_at INTEGER NOT NULL,
    status INTEGER NOT NULL,
    content_type TEXT NOT NULL,  -- media type without parameters
    digest BLOB NOT NULL,  -- SHA-1 of the payload
    PRIMARY KEY (warc_file, warc_offset)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
