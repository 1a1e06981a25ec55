-- SCrawler: from schema 15 to 16 for PostgreSQL 13+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Machines lend each other hosts that one of them has in work.
CREATE TABLE errand (
    site_id BIGINT NOT NULL,  -- a site that one machine has in work, and of whose host another one wants something
    url TEXT COLLATE "C" NOT NULL,  -- what it wants, on behalf of a site of its own
    machine_id BIGINT NOT NULL,  -- the one that wants it; 0: it has asked, and the owner of the site goes on after `ends_at`
    lent_at BIGINT NOT NULL,  -- from when on it may ask: the owner asks nothing from then on until `ends_at`; 0: not yet
    ends_at BIGINT NOT NULL,  -- after this the row counts no more, whatever has become of either machine
    PRIMARY KEY (site_id)
);

INSERT INTO schema_version (version, applied_at) VALUES (16, CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT));
