-- SCrawler: from schema 1 to 2 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- there already (no IF NOT EXISTS: MySQL has none for columns and indexes); so the number is written last.

-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN slowest_ms BIGINT NOT NULL DEFAULT 0;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

-- How often answers of a seed met a fault of the program: five of them end it.
ALTER TABLE seed ADD COLUMN internal_errors BIGINT DEFAULT 0 NOT NULL;  -- answers that met a fault of this program

-- Which machines are being started: they have no row of their own yet.
ALTER TABLE crawl ADD COLUMN starting_machines INTEGER NOT NULL DEFAULT 0;  -- how many the newest command starts ...
ALTER TABLE crawl ADD COLUMN starting_at BIGINT NOT NULL DEFAULT 0;  -- ... since then: the machine.launched_at of those that are there
ALTER TABLE crawl ADD COLUMN starting_process VARCHAR(255) NOT NULL DEFAULT '';  -- ... and by which process, as machine.process

-- What WARC files do not hold any more, though rows of page say so.
CREATE TABLE loss (
    warc_file VARCHAR(255) NOT NULL,  -- does not hold any more what rows of page say
    kind VARCHAR(8) NOT NULL,  -- missing, cut, damaged
    records BIGINT NOT NULL,  -- response and revisit records that are gone
    revisits BIGINT NOT NULL,  -- records in other files that refer to payloads which stood in these alone; -1: not counted yet
    found_at BIGINT NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,  -- 1: a run has ended with exit code 7 for it
    accepted INTEGER NOT NULL DEFAULT 0,  -- 1: the user knows of these records, and does not want them back
    PRIMARY KEY (warc_file)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- What was being read when a process died.
CREATE TABLE suspect (
    site_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    machine_id BIGINT NOT NULL,  -- died while it read the URL: each of them counts once, however often it is noted
    url TEXT NOT NULL,
    blame BIGINT NOT NULL,  -- 1: perhaps, 2: for sure; with 2, all machines together, it is not asked for again
    detail TEXT NOT NULL,  -- of what the machine died
    PRIMARY KEY (site_id, url_hash, machine_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- Answers to requests for robots.txt, which are in the archive, too.
CREATE TABLE robots_record (
    warc_file VARCHAR(255) NOT NULL,  -- holds an answer to a request for a robots.txt, which has no row of page ...
    warc_offset BIGINT NOT NULL,
    warc_length BIGINT NOT NULL,
    url TEXT NOT NULL,  -- ... of a robots.txt, or where one redirects
    fetched_at BIGINT NOT NULL,
    status INTEGER NOT NULL,
    content_type TEXT NOT NULL,  -- media type without parameters
    digest VARBINARY(20) NOT NULL,  -- SHA-1 of the payload
    PRIMARY KEY (warc_file, warc_offset)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
