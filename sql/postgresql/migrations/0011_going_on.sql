-- SCrawler: from schema 10 to 11 for PostgreSQL 13+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- What servers publish of their changes, by ResourceSync.
CREATE TABLE published_url (
    seed_id BIGINT NOT NULL,
    url_hash BYTEA NOT NULL,
    changed_at BIGINT NOT NULL,  -- when it last changed, as the ResourceSync lists of its server say; 0: they do not
    gone INTEGER NOT NULL,  -- 1: that change was its deletion
    source TEXT COLLATE "C" NOT NULL,  -- URL of the list that says so
    PRIMARY KEY (seed_id, url_hash)
);

CREATE TABLE publisher (
    seed_id BIGINT NOT NULL,  -- whose site has change lists of ResourceSync
    complete_since BIGINT NOT NULL,  -- they have told of all changes since then; 0: of none
    read_at BIGINT NOT NULL,  -- when the last of them was read
    hits INTEGER NOT NULL,  -- visits that found of a URL what they have said; halved now and then, as are misses
    misses INTEGER NOT NULL,  -- visits that found something else
    PRIMARY KEY (seed_id)
);

-- By how much a page has changed.
ALTER TABLE url_state ADD COLUMN simhash BIGINT DEFAULT 0 NOT NULL;  -- of the text of its newest payload; 0: not computed
ALTER TABLE url_change ADD COLUMN distance INTEGER DEFAULT -1 NOT NULL;  -- by how many of 64 bits the simhashes of old and new text differ; -1: not known

-- Where changes are sent.
CREATE TABLE webhook (
    url_hash BYTEA NOT NULL,  -- BLAKE2b-128 of url
    url TEXT COLLATE "C" NOT NULL,  -- changes are sent to it
    cursor_change BIGINT NOT NULL,  -- all rows of url_change up to this id were delivered
    batch_to BIGINT DEFAULT 0 NOT NULL,  -- the message on its way goes up to this id; 0: there is none
    message_id VARCHAR(64) COLLATE "C" DEFAULT '' NOT NULL,  -- its id, the same at each try
    tries INTEGER DEFAULT 0 NOT NULL,  -- of this message, which have failed
    next_at BIGINT DEFAULT 0 NOT NULL,  -- no try before
    delivered BIGINT DEFAULT 0 NOT NULL,  -- changes
    messages BIGINT DEFAULT 0 NOT NULL,  -- that were delivered
    delivered_at BIGINT DEFAULT 0 NOT NULL,  -- when the last of them was; 0: none
    error VARCHAR(1000) COLLATE "C" DEFAULT '' NOT NULL,  -- what went wrong at the last try; empty: nothing
    error_at BIGINT DEFAULT 0 NOT NULL,  -- when; 0: never
    holder VARCHAR(255) COLLATE "C" DEFAULT '' NOT NULL,  -- the process that sends, as machine.process ...
    held_until BIGINT DEFAULT 0 NOT NULL,  -- ... which others leave alone until then
    PRIMARY KEY (url_hash)
);

-- What a site says in its sitemaps of changes, and how often that was right.
ALTER TABLE sitemap_url ADD COLUMN changefreq VARCHAR(8) COLLATE "C" DEFAULT '' NOT NULL;  -- as the sitemap says; empty: it does not

CREATE TABLE sitemap_trust (
    site_id BIGINT NOT NULL,
    newer_right BIGINT DEFAULT 0 NOT NULL,  -- visits that found a page changed whose lastmod said so; thousandths, as all of these, ...
    newer_wrong BIGINT DEFAULT 0 NOT NULL,  -- ... for what is long ago counts less and less
    older_right BIGINT DEFAULT 0 NOT NULL,  -- visits that found a page as it was whose lastmod said so
    older_wrong BIGINT DEFAULT 0 NOT NULL,
    changefreq_right BIGINT DEFAULT 0 NOT NULL,  -- visits to pages whose rate of change is known, and within a factor of four of that
    changefreq_wrong BIGINT DEFAULT 0 NOT NULL,
    PRIMARY KEY (site_id)
);

-- Visits again: rates of change that are estimated, and budgets.
ALTER TABLE crawl ADD COLUMN revisit_clock BIGINT DEFAULT 0 NOT NULL;  -- up to when the budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE site ADD COLUMN rates BYTEA DEFAULT '' NOT NULL;  -- how often its pages change: four sums of doubles; empty: nothing is known
ALTER TABLE site ADD COLUMN revisit_clock BIGINT DEFAULT 0 NOT NULL;  -- up to when its own budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE url_state ADD COLUMN checks BYTEA DEFAULT '' NOT NULL;  -- how often it was found changed: seven sums of floats; empty: it was not checked
ALTER TABLE url_state ADD COLUMN text_print BYTEA DEFAULT '' NOT NULL;  -- of its text without dates and counters, digest and simhash; empty: none
ALTER TABLE url_state ADD COLUMN demand_cell INTEGER DEFAULT 0 NOT NULL;  -- revisit_demand.cell in which it is counted; 0: in none

CREATE TABLE revisit_demand (
    site_id BIGINT NOT NULL,  -- whose URLs; 0: of all sites, as one machine has counted them
    machine_id BIGINT NOT NULL,  -- which machine has counted them; 0: before any ran, or for a site
    cell INTEGER NOT NULL,  -- how often they change, and what they weigh: see scrawler/revisit/demand.py
    pages BIGINT NOT NULL,  -- so many more than before; of one machine it may be below 0: others have counted them first
    PRIMARY KEY (site_id, machine_id, cell)
);

-- Which seeds next: those that are skipped, and batches of candidate seeds that were promoted together.
ALTER TABLE seed ADD COLUMN skipped INTEGER DEFAULT 0 NOT NULL;  -- 1: the user wants nothing of it now: no machine, round or retry takes it up
ALTER TABLE seed ADD COLUMN batch BIGINT DEFAULT 0 NOT NULL;  -- promotion.id of the promotion that made it a seed; 0: none

CREATE TABLE promotion (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    promoted_at BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,  -- JSON: what was promoted, as it was asked for
    after_seed BIGINT DEFAULT 0 NOT NULL,  -- seed.id of the newest seed before it: its own come later
    undone_at BIGINT DEFAULT 0 NOT NULL,  -- 0: it holds
    PRIMARY KEY (id)
);

-- The hidden web: what search forms of a seed's site were asked.
CREATE TABLE search (
    seed_id BIGINT NOT NULL,
    queries INTEGER DEFAULT 0 NOT NULL,  -- asked of the search forms of its site
    results BIGINT DEFAULT 0 NOT NULL,  -- links that the answers have shown
    found BIGINT DEFAULT 0 NOT NULL,  -- URLs that these have listed first
    ended VARCHAR(16) COLLATE "C" DEFAULT '' NOT NULL,  -- why no more is asked: budget, repeats, no-terms, failing, refused; empty: goes on
    data BYTEA NOT NULL,  -- forms and terms of its pages, compressed JSON
    PRIMARY KEY (seed_id)
);

CREATE TABLE search_query (
    seed_id BIGINT NOT NULL,
    url_hash BYTEA NOT NULL,  -- of the URL that asks, which stands in the seed's list
    number INTEGER NOT NULL,  -- 1: the first query of the seed
    term TEXT COLLATE "C" NOT NULL,  -- that was asked for
    form TEXT COLLATE "C" NOT NULL,  -- action and field of the form
    answers INTEGER DEFAULT 0 NOT NULL,  -- pages of results
    results BIGINT DEFAULT 0 NOT NULL,  -- links to results on these
    found BIGINT DEFAULT 0 NOT NULL,  -- URLs that these have listed first
    PRIMARY KEY (seed_id, url_hash)
);
CREATE INDEX search_query_url_hash ON search_query (url_hash);

-- What servers and owners send to `scrawler listen`.
ALTER TABLE site ADD COLUMN window_from INTEGER DEFAULT 0 NOT NULL;  -- minute of the day, UTC, from which its owner wants it to be asked ...
ALTER TABLE site ADD COLUMN window_to INTEGER DEFAULT 0 NOT NULL;  -- ... and up to which; the same as window_from: at any time

CREATE TABLE pushed (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    site_id BIGINT NOT NULL,  -- the site that is known, and to whose lists it goes
    url TEXT COLLATE "C" NOT NULL,  -- somebody has told that it is new, or has changed; the row goes when it is listed
    url_hash BYTEA NOT NULL,
    source VARCHAR(16) COLLATE "C" NOT NULL,  -- who has told it: indexnow, websub, ping, owner
    at BIGINT NOT NULL,  -- when it came, last
    due_at BIGINT NOT NULL,  -- when it may be asked for: at once, once it is proved, or in the window of the site's owner
    proof TEXT COLLATE "C" NOT NULL,  -- JSON: what is not proved yet, key and place of its file; empty: all is
    PRIMARY KEY (id)
);
CREATE INDEX pushed_due_at ON pushed (due_at, id);
CREATE UNIQUE INDEX pushed_site_url ON pushed (site_id, url_hash);

CREATE TABLE push_tally (
    site_id BIGINT NOT NULL,  -- 0: of no known site
    day BIGINT NOT NULL,  -- days since 1970, UTC
    source VARCHAR(16) COLLATE "C" NOT NULL,  -- as in pushed
    accepted BIGINT DEFAULT 0 NOT NULL,  -- URLs; the quota of the site counts them
    refused BIGINT DEFAULT 0 NOT NULL,  -- URLs, or messages: outside the crawl, over the quota, not proved
    listed BIGINT DEFAULT 0 NOT NULL,  -- URLs that machines have taken into the lists of parties
    PRIMARY KEY (site_id, day, source)
);

CREATE TABLE push_key (
    key_hash BYTEA NOT NULL,  -- SHA-256 of a key for pings, which is 256 random bits
    site_id BIGINT NOT NULL,
    host TEXT COLLATE "C" NOT NULL,  -- as it was given
    created_at BIGINT NOT NULL,
    used_at BIGINT DEFAULT 0 NOT NULL,  -- 0: never
    PRIMARY KEY (key_hash)
);

CREATE TABLE subscription (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    site_id BIGINT NOT NULL,
    topic TEXT COLLATE "C" NOT NULL,
    topic_hash BYTEA NOT NULL,
    hub TEXT COLLATE "C" NOT NULL,
    callback TEXT COLLATE "C" NOT NULL,  -- as the hub knows it: it ends with the token
    token VARCHAR(64) COLLATE "C" NOT NULL,  -- random: who knows it may answer for the hub
    secret VARCHAR(64) COLLATE "C" NOT NULL,  -- random: the hub signs with it
    state VARCHAR(16) COLLATE "C" NOT NULL,  -- asked, active, denied, leaving, left, failed
    asked_at BIGINT NOT NULL,  -- when the hub was last asked
    lease_until BIGINT DEFAULT 0 NOT NULL,  -- 0: there is no lease
    next_at BIGINT DEFAULT 0 NOT NULL,  -- when the hub is to be asked again; 0: never
    failures INTEGER DEFAULT 0 NOT NULL,  -- times in a row that it could not be asked
    detail VARCHAR(1000) COLLATE "C" DEFAULT '' NOT NULL,  -- what went wrong
    deliveries BIGINT DEFAULT 0 NOT NULL,  -- messages that were signed by the hub
    forged BIGINT DEFAULT 0 NOT NULL,  -- messages that were not
    PRIMARY KEY (id)
);
CREATE INDEX subscription_next_at ON subscription (next_at, id);
CREATE UNIQUE INDEX subscription_token ON subscription (token);
CREATE UNIQUE INDEX subscription_topic ON subscription (topic_hash);

CREATE TABLE site_owner (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    site_id BIGINT NOT NULL,
    host TEXT COLLATE "C" NOT NULL,  -- with its port, where that is not the scheme's own
    token_hash BYTEA NOT NULL,  -- SHA-256 of the owner's token, which is 256 random bits
    proof VARCHAR(8) COLLATE "C" NOT NULL,  -- how it was shown last: file, meta, dns
    proved_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX site_owner_token ON site_owner (token_hash);

CREATE TABLE submission (
    owner_id BIGINT NOT NULL,  -- site_owner.id
    url_hash BYTEA NOT NULL,
    url TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,  -- when it was submitted, last
    PRIMARY KEY (owner_id, url_hash)
);
CREATE INDEX submission_at ON submission (owner_id, at);

CREATE TABLE listener (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY,
    host VARCHAR(255) COLLATE "C" NOT NULL,
    pid INTEGER NOT NULL,
    process VARCHAR(255) COLLATE "C" NOT NULL,  -- as machine.process
    address VARCHAR(255) COLLATE "C" NOT NULL,  -- where it listens
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    stopped_at BIGINT DEFAULT 0 NOT NULL,  -- 0: it has not stopped in order
    PRIMARY KEY (id)
);

-- Visits that have found nothing new, and are not kept one by one.
CREATE TABLE thinned (
    seed_id BIGINT NOT NULL,
    group_hash BYTEA NOT NULL,  -- of what visits have in common, by keep_visits gone from page; these are:
    result VARCHAR(24) COLLATE "C" NOT NULL,
    status INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    content_type TEXT COLLATE "C" NOT NULL,
    size INTEGER NOT NULL,  -- class of its length
    time INTEGER NOT NULL,  -- class of its elapsed_ms
    month BIGINT NOT NULL,  -- of 30 days since 1970
    pages BIGINT NOT NULL,  -- how many there are, and sums over them
    bytes BIGINT NOT NULL,
    longest BIGINT NOT NULL,  -- bytes of the longest
    retried BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    first_id BIGINT NOT NULL,  -- the lowest page.id of them
    PRIMARY KEY (seed_id, group_hash)
);

INSERT INTO schema_version (version, applied_at) VALUES (11, CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT));
