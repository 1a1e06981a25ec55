-- SCrawler: from schema 10 to 11 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- What servers publish of their changes, by ResourceSync.
CREATE TABLE published_url (
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    changed_at BIGINT NOT NULL,  -- when it last changed, as the ResourceSync lists of its server say; 0: they do not
    gone INTEGER NOT NULL,  -- 1: that change was its deletion
    source TEXT NOT NULL,  -- URL of the list that says so
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE publisher (
    seed_id BIGINT NOT NULL,  -- whose site has change lists of ResourceSync
    complete_since BIGINT NOT NULL,  -- they have told of all changes since then; 0: of none
    read_at BIGINT NOT NULL,  -- when the last of them was read
    hits INTEGER NOT NULL,  -- visits that found of a URL what they have said; halved now and then, as are misses
    misses INTEGER NOT NULL,  -- visits that found something else
    PRIMARY KEY (seed_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- By how much a page has changed.
ALTER TABLE url_state ADD COLUMN simhash BIGINT NOT NULL DEFAULT 0;  -- of the text of its newest payload; 0: not computed
ALTER TABLE url_change ADD COLUMN distance INTEGER NOT NULL DEFAULT (-1);  -- by how many of 64 bits the simhashes of old and new text differ; -1: not known

-- Where changes are sent.
CREATE TABLE webhook (
    url_hash BINARY(16) NOT NULL,  -- BLAKE2b-128 of url
    url TEXT NOT NULL,  -- changes are sent to it
    cursor_change BIGINT NOT NULL,  -- all rows of url_change up to this id were delivered
    batch_to BIGINT NOT NULL DEFAULT 0,  -- the message on its way goes up to this id; 0: there is none
    message_id VARCHAR(64) NOT NULL DEFAULT '',  -- its id, the same at each try
    tries INTEGER NOT NULL DEFAULT 0,  -- of this message, which have failed
    next_at BIGINT NOT NULL DEFAULT 0,  -- no try before
    delivered BIGINT NOT NULL DEFAULT 0,  -- changes
    messages BIGINT NOT NULL DEFAULT 0,  -- that were delivered
    delivered_at BIGINT NOT NULL DEFAULT 0,  -- when the last of them was; 0: none
    error VARCHAR(1000) NOT NULL DEFAULT '',  -- what went wrong at the last try; empty: nothing
    error_at BIGINT NOT NULL DEFAULT 0,  -- when; 0: never
    holder VARCHAR(255) NOT NULL DEFAULT '',  -- the process that sends, as machine.process ...
    held_until BIGINT NOT NULL DEFAULT 0,  -- ... which others leave alone until then
    PRIMARY KEY (url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- What a site says in its sitemaps of changes, and how often that was right.
ALTER TABLE sitemap_url ADD COLUMN changefreq VARCHAR(8) NOT NULL DEFAULT '';  -- as the sitemap says; empty: it does not

CREATE TABLE sitemap_trust (
    site_id BIGINT NOT NULL,
    newer_right BIGINT NOT NULL DEFAULT 0,  -- visits that found a page changed whose lastmod said so; thousandths, as all of these, ...
    newer_wrong BIGINT NOT NULL DEFAULT 0,  -- ... for what is long ago counts less and less
    older_right BIGINT NOT NULL DEFAULT 0,  -- visits that found a page as it was whose lastmod said so
    older_wrong BIGINT NOT NULL DEFAULT 0,
    changefreq_right BIGINT NOT NULL DEFAULT 0,  -- visits to pages whose rate of change is known, and within a factor of four of that
    changefreq_wrong BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (site_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- Visits again: rates of change that are estimated, and budgets.
ALTER TABLE crawl ADD COLUMN revisit_clock BIGINT NOT NULL DEFAULT 0;  -- up to when the budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE site ADD COLUMN rates VARBINARY(32) NOT NULL DEFAULT x'';  -- how often its pages change: four sums of doubles; empty: nothing is known
ALTER TABLE site ADD COLUMN revisit_clock BIGINT NOT NULL DEFAULT 0;  -- up to when its own budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE url_state ADD COLUMN checks VARBINARY(28) NOT NULL DEFAULT x'';  -- how often it was found changed: seven sums of floats; empty: it was not checked
ALTER TABLE url_state ADD COLUMN text_print VARBINARY(16) NOT NULL DEFAULT x'';  -- of its text without dates and counters, digest and simhash; empty: none
ALTER TABLE url_state ADD COLUMN demand_cell INTEGER NOT NULL DEFAULT 0;  -- revisit_demand.cell in which it is counted; 0: in none

CREATE TABLE revisit_demand (
    site_id BIGINT NOT NULL,  -- whose URLs; 0: of all sites, as one machine has counted them
    machine_id BIGINT NOT NULL,  -- which machine has counted them; 0: before any ran, or for a site
    cell INTEGER NOT NULL,  -- how often they change, and what they weigh: see scrawler/revisit/demand.py
    pages BIGINT NOT NULL,  -- so many more than before; of one machine it may be below 0: others have counted them first
    PRIMARY KEY (site_id, machine_id, cell)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- Which seeds next: those that are skipped, and batches of candidate seeds that were promoted together.
ALTER TABLE seed ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;  -- 1: the user wants nothing more of it: no machine takes it up, and no round or retry does
ALTER TABLE seed ADD COLUMN batch BIGINT NOT NULL DEFAULT 0;  -- promotion.id of the promotion that made it a seed; 0: none, or the version before

CREATE TABLE promotion (
    id BIGINT NOT NULL AUTO_INCREMENT,
    promoted_at BIGINT NOT NULL,
    what TEXT NOT NULL,  -- JSON: what was promoted, as it was asked for
    after_seed BIGINT NOT NULL DEFAULT 0,  -- seed.id of the newest seed before it: its own come later
    undone_at BIGINT NOT NULL DEFAULT 0,  -- 0: it holds
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

-- The hidden web: what search forms of a seed's site were asked.
CREATE TABLE search (
    seed_id BIGINT NOT NULL,
    queries INTEGER NOT NULL DEFAULT 0,  -- asked of the search forms of its site
    results BIGINT NOT NULL DEFAULT 0,  -- links that the answers have shown
    found BIGINT NOT NULL DEFAULT 0,  -- URLs that these have listed first
    ended VARCHAR(16) NOT NULL DEFAULT '',  -- why no more is asked: budget, repeats, no-terms, failing, refused; empty: it goes on
    data MEDIUMBLOB NOT NULL,  -- forms and terms of its pages, compressed JSON
    PRIMARY KEY (seed_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE search_query (
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,  -- of the URL that asks, which stands in the seed's list
    number INTEGER NOT NULL,  -- 1: the first query of the seed
    term TEXT NOT NULL,  -- that was asked for
    form TEXT NOT NULL,  -- action and field of the form
    answers INTEGER NOT NULL DEFAULT 0,  -- pages of results
    results BIGINT NOT NULL DEFAULT 0,  -- links to results on these
    found BIGINT NOT NULL DEFAULT 0,  -- URLs that these have listed first
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX search_query_url_hash ON search_query (url_hash);

INSERT INTO schema_version (version, applied_at) VALUES (11, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
