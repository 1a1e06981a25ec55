-- SCrawler: from schema 10 to 11 for SQLite 3.37+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- What servers publish of their changes, by ResourceSync.
CREATE TABLE published_url (
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    changed_at INTEGER NOT NULL,  -- when it last changed, as the ResourceSync lists of its server say; 0: they do not
    gone INTEGER NOT NULL,  -- 1: that change was its deletion
    source TEXT NOT NULL,  -- URL of the list that says so
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE publisher (
    seed_id INTEGER NOT NULL,  -- whose site has change lists of ResourceSync
    complete_since INTEGER NOT NULL,  -- they have told of all changes since then; 0: of none
    read_at INTEGER NOT NULL,  -- when the last of them was read
    hits INTEGER NOT NULL,  -- visits that found of a URL what they have said; halved now and then, as are misses
    misses INTEGER NOT NULL,  -- visits that found something else
    PRIMARY KEY (seed_id)
) WITHOUT ROWID,
 STRICT;

-- By how much a page has changed.
ALTER TABLE url_state ADD COLUMN simhash INTEGER DEFAULT 0 NOT NULL;  -- of the text of its newest payload; 0: not computed
ALTER TABLE url_change ADD COLUMN distance INTEGER DEFAULT (-1) NOT NULL;  -- by how many of 64 bits the simhashes of old and new text differ; -1: not known

-- Where changes are sent.
CREATE TABLE webhook (
    url_hash BLOB NOT NULL,  -- BLAKE2b-128 of url
    url TEXT NOT NULL,  -- changes are sent to it
    cursor_change INTEGER NOT NULL,  -- all rows of url_change up to this id were delivered
    batch_to INTEGER DEFAULT 0 NOT NULL,  -- the message on its way goes up to this id; 0: there is none
    message_id TEXT DEFAULT '' NOT NULL,  -- its id, the same at each try
    tries INTEGER DEFAULT 0 NOT NULL,  -- of this message, which have failed
    next_at INTEGER DEFAULT 0 NOT NULL,  -- no try before
    delivered INTEGER DEFAULT 0 NOT NULL,  -- changes
    messages INTEGER DEFAULT 0 NOT NULL,  -- that were delivered
    delivered_at INTEGER DEFAULT 0 NOT NULL,  -- when the last of them was; 0: none
    error TEXT DEFAULT '' NOT NULL,  -- what went wrong at the last try; empty: nothing
    error_at INTEGER DEFAULT 0 NOT NULL,  -- when; 0: never
    holder TEXT DEFAULT '' NOT NULL,  -- the process that sends, as machine.process ...
    held_until INTEGER DEFAULT 0 NOT NULL,  -- ... which others leave alone until then
    PRIMARY KEY (url_hash)
) WITHOUT ROWID,
 STRICT;

-- What a site says in its sitemaps of changes, and how often that was right.
ALTER TABLE sitemap_url ADD COLUMN changefreq TEXT DEFAULT '' NOT NULL;  -- as the sitemap says; empty: it does not

CREATE TABLE sitemap_trust (
    site_id INTEGER NOT NULL,
    newer_right INTEGER DEFAULT 0 NOT NULL,  -- visits that found a page changed whose lastmod said so; thousandths, as all of these, ...
    newer_wrong INTEGER DEFAULT 0 NOT NULL,  -- ... for what is long ago counts less and less
    older_right INTEGER DEFAULT 0 NOT NULL,  -- visits that found a page as it was whose lastmod said so
    older_wrong INTEGER DEFAULT 0 NOT NULL,
    changefreq_right INTEGER DEFAULT 0 NOT NULL,  -- visits to pages whose rate of change is known, and within a factor of four of that
    changefreq_wrong INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (site_id)
) WITHOUT ROWID,
 STRICT;

-- Visits again: rates of change that are estimated, and budgets.
ALTER TABLE crawl ADD COLUMN revisit_clock INTEGER DEFAULT 0 NOT NULL;  -- up to when the budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE site ADD COLUMN rates BLOB DEFAULT x'' NOT NULL;  -- how often its pages change: four sums of doubles; empty: nothing is known
ALTER TABLE site ADD COLUMN revisit_clock INTEGER DEFAULT 0 NOT NULL;  -- up to when its own budget of visits to URLs again is spent; 0: nothing is
ALTER TABLE url_state ADD COLUMN checks BLOB DEFAULT x'' NOT NULL;  -- how often it was found changed: seven sums of floats; empty: it was not checked
ALTER TABLE url_state ADD COLUMN text_print BLOB DEFAULT x'' NOT NULL;  -- of its text without dates and counters, digest and simhash; empty: none
ALTER TABLE url_state ADD COLUMN demand_cell INTEGER DEFAULT 0 NOT NULL;  -- revisit_demand.cell in which it is counted; 0: in none

CREATE TABLE revisit_demand (
    site_id INTEGER NOT NULL,  -- whose URLs; 0: of all sites, as one machine has counted them
    machine_id INTEGER NOT NULL,  -- which machine has counted them; 0: before any ran, or for a site
    cell INTEGER NOT NULL,  -- how often they change, and what they weigh: see scrawler/revisit/demand.py
    pages INTEGER NOT NULL,  -- so many more than before; of one machine it may be below 0: others have counted them first
    PRIMARY KEY (site_id, machine_id, cell)
) WITHOUT ROWID,
 STRICT;

-- Which seeds next: those that are skipped, and batches of candidate seeds that were promoted together.
ALTER TABLE seed ADD COLUMN skipped INTEGER DEFAULT 0 NOT NULL;  -- 1: the user wants nothing of it now: no machine, round or retry takes it up
ALTER TABLE seed ADD COLUMN batch INTEGER DEFAULT 0 NOT NULL;  -- promotion.id of the promotion that made it a seed; 0: none

CREATE TABLE promotion (
    id INTEGER NOT NULL,
    promoted_at INTEGER NOT NULL,
    what TEXT NOT NULL,  -- JSON: what was promoted, as it was asked for
    after_seed INTEGER DEFAULT 0 NOT NULL,  -- seed.id of the newest seed before it: its own come later
    undone_at INTEGER DEFAULT 0 NOT NULL,  -- 0: it holds
    PRIMARY KEY (id)
) STRICT;

-- The hidden web: what search forms of a seed's site were asked.
CREATE TABLE search (
    seed_id INTEGER NOT NULL,
    queries INTEGER DEFAULT 0 NOT NULL,  -- asked of the search forms of its site
    results INTEGER DEFAULT 0 NOT NULL,  -- links that the answers have shown
    found INTEGER DEFAULT 0 NOT NULL,  -- URLs that these have listed first
    ended TEXT DEFAULT '' NOT NULL,  -- why no more is asked: budget, repeats, no-terms, failing, refused; empty: goes on
    data BLOB NOT NULL,  -- forms and terms of its pages, compressed JSON
    PRIMARY KEY (seed_id)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE search_query (
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,  -- of the URL that asks, which stands in the seed's list
    number INTEGER NOT NULL,  -- 1: the first query of the seed
    term TEXT NOT NULL,  -- that was asked for
    form TEXT NOT NULL,  -- action and field of the form
    answers INTEGER DEFAULT 0 NOT NULL,  -- pages of results
    results INTEGER DEFAULT 0 NOT NULL,  -- links to results on these
    found INTEGER DEFAULT 0 NOT NULL,  -- URLs that these have listed first
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX search_query_url_hash ON search_query (url_hash);

-- What servers and owners send to `scrawler listen`.
ALTER TABLE site ADD COLUMN window_from INTEGER DEFAULT 0 NOT NULL;  -- minute of the day, UTC, from which its owner wants it to be asked ...
ALTER TABLE site ADD COLUMN window_to INTEGER DEFAULT 0 NOT NULL;  -- ... and up to which; the same as window_from: at any time

CREATE TABLE pushed (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    site_id INTEGER NOT NULL,  -- the site that is known, and to whose lists it goes
    url TEXT NOT NULL,  -- somebody has told that it is new, or has changed; the row goes when it is listed
    url_hash BLOB NOT NULL,
    source TEXT NOT NULL,  -- who has told it: indexnow, websub, ping, owner
    at INTEGER NOT NULL,  -- when it came, last
    due_at INTEGER NOT NULL,  -- when it may be asked for: at once, once it is proved, or in the window of the site's owner
    proof TEXT NOT NULL  -- JSON: what is not proved yet, key and place of its file; empty: all is
) STRICT;
CREATE INDEX pushed_due_at ON pushed (due_at);
CREATE UNIQUE INDEX pushed_site_url ON pushed (site_id, url_hash);

CREATE TABLE push_tally (
    site_id INTEGER NOT NULL,  -- 0: of no known site
    day INTEGER NOT NULL,  -- days since 1970, UTC
    source TEXT NOT NULL,  -- as in pushed
    accepted INTEGER DEFAULT 0 NOT NULL,  -- URLs; the quota of the site counts them
    refused INTEGER DEFAULT 0 NOT NULL,  -- URLs, or messages: outside the crawl, over the quota, not proved
    listed INTEGER DEFAULT 0 NOT NULL,  -- URLs that machines have taken into the lists of parties
    PRIMARY KEY (site_id, day, source)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE push_key (
    key_hash BLOB NOT NULL,  -- SHA-256 of a key for pings, which is 256 random bits
    site_id INTEGER NOT NULL,
    host TEXT NOT NULL,  -- as it was given
    created_at INTEGER NOT NULL,
    used_at INTEGER DEFAULT 0 NOT NULL,  -- 0: never
    PRIMARY KEY (key_hash)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE subscription (
    id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    topic TEXT NOT NULL,
    topic_hash BLOB NOT NULL,
    hub TEXT NOT NULL,
    callback TEXT NOT NULL,  -- as the hub knows it: it ends with the token
    token TEXT NOT NULL,  -- random: who knows it may answer for the hub
    secret TEXT NOT NULL,  -- random: the hub signs with it
    state TEXT NOT NULL,  -- asked, active, denied, leaving, left, failed
    asked_at INTEGER NOT NULL,  -- when the hub was last asked
    lease_until INTEGER DEFAULT 0 NOT NULL,  -- 0: there is no lease
    next_at INTEGER DEFAULT 0 NOT NULL,  -- when the hub is to be asked again; 0: never
    failures INTEGER DEFAULT 0 NOT NULL,  -- times in a row that it could not be asked
    detail TEXT DEFAULT '' NOT NULL,  -- what went wrong
    deliveries INTEGER DEFAULT 0 NOT NULL,  -- messages that were signed by the hub
    forged INTEGER DEFAULT 0 NOT NULL,  -- messages that were not
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX subscription_next_at ON subscription (next_at);
CREATE UNIQUE INDEX subscription_token ON subscription (token);
CREATE UNIQUE INDEX subscription_topic ON subscription (topic_hash);

CREATE TABLE site_owner (
    id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    host TEXT NOT NULL,  -- with its port, where that is not the scheme's own
    token_hash BLOB NOT NULL,  -- SHA-256 of the owner's token, which is 256 random bits
    proof TEXT NOT NULL,  -- how it was shown last: file, meta, dns
    proved_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE UNIQUE INDEX site_owner_token ON site_owner (token_hash);

CREATE TABLE submission (
    owner_id INTEGER NOT NULL,  -- site_owner.id
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    at INTEGER NOT NULL,  -- when it was submitted, last
    PRIMARY KEY (owner_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX submission_at ON submission (owner_id, at);

CREATE TABLE listener (
    id INTEGER NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process TEXT NOT NULL,  -- as machine.process
    address TEXT NOT NULL,  -- where it listens
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    stopped_at INTEGER DEFAULT 0 NOT NULL,  -- 0: it has not stopped in order
    PRIMARY KEY (id)
) STRICT;

-- Visits that have found nothing new, and are not kept one by one.
CREATE TABLE thinned (
    seed_id INTEGER NOT NULL,
    group_hash BLOB NOT NULL,  -- of what visits have in common, by keep_visits gone from page; these are:
    result TEXT NOT NULL,
    status INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    size INTEGER NOT NULL,  -- class of its length
    time INTEGER NOT NULL,  -- class of its elapsed_ms
    month INTEGER NOT NULL,  -- of 30 days since 1970
    pages INTEGER NOT NULL,  -- how many there are, and sums over them
    bytes INTEGER NOT NULL,
    longest INTEGER NOT NULL,  -- bytes of the longest
    retried INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    first_id INTEGER NOT NULL,  -- the lowest page.id of them
    PRIMARY KEY (seed_id, group_hash)
) WITHOUT ROWID,
 STRICT;

INSERT INTO schema_version (version, applied_at) VALUES (11, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
