-- SCrawler: schema of a crawl's database for MySQL 8 and MariaDB 10.6+.
-- One database holds one crawl. Times are UTC milliseconds. URLs compare byte for byte; *_hash is BLAKE2b, 16 bytes.
-- There are no foreign keys: all rows of a site are written by the one machine that owns it, fenced by site.token.

CREATE TABLE schema_version (
    version BIGINT NOT NULL,  -- number of a migration that was applied
    applied_at BIGINT NOT NULL,
    PRIMARY KEY (version)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE feature (
    name VARCHAR(64) NOT NULL,  -- of the room of a feature that keeps rows of its own in this database
    version INTEGER NOT NULL,  -- of its tables
    since BIGINT NOT NULL,  -- when a run first used it
    PRIMARY KEY (name)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE crawl (
    id BIGINT NOT NULL,  -- always 1: one database holds one crawl
    name VARCHAR(255) NOT NULL,
    scope VARCHAR(16) NOT NULL,  -- host, domain, prefix; fixes the keys of the sites
    created_at BIGINT NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0,  -- 1: no machine starts a request, those that come later neither
    stopped_at BIGINT NOT NULL DEFAULT 0,  -- machines of commands launched before this time stop
    settings MEDIUMTEXT,  -- JSON: set while it runs; hold over files, variables and flags
    revision BIGINT NOT NULL DEFAULT 0,  -- grows with each import, promotion or change of settings: machines look again
    starting_machines INTEGER NOT NULL DEFAULT 0,  -- how many the newest command starts ...
    starting_at BIGINT NOT NULL DEFAULT 0,  -- ... since then: the machine.launched_at of those that are there
    starting_process VARCHAR(255) NOT NULL DEFAULT '',  -- ... and by which process, as machine.process
    again MEDIUMTEXT,  -- JSON: the round that was ordered, until it is begun for all its seeds
    revisit_clock BIGINT NOT NULL DEFAULT 0,  -- up to when the budget of visits to URLs again is spent; 0: nothing is
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE run (
    id BIGINT NOT NULL AUTO_INCREMENT,
    machine_id BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT,
    outcome VARCHAR(64),  -- how it ended; NULL while it runs, or if it was killed
    settings MEDIUMTEXT NOT NULL,  -- JSON: the settings in force
    pages BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,
    errors BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE site (
    id BIGINT NOT NULL AUTO_INCREMENT,
    key_hash BINARY(16) NOT NULL,  -- BLAKE2b-128 of site_key
    site_key TEXT NOT NULL,  -- host[:port] or registrable domain, by the crawl's scope
    state VARCHAR(8) NOT NULL DEFAULT 'ready',  -- ready: has seeds, no owner; resting: as ready from next_due_at on; active: owned; done: no seed ready or active; of the row of a site's guests: guest, visited, left
    owner BIGINT,  -- machine.id
    token BIGINT NOT NULL DEFAULT 0,  -- counts the owners; what an earlier one still writes is refused
    next_due_at BIGINT NOT NULL DEFAULT 0,  -- politeness clock: no request before
    address VARCHAR(64) NOT NULL DEFAULT '',  -- IP address last used
    pushbacks INTEGER NOT NULL DEFAULT 0,  -- refusals in a row: 429, 503, or what is found to be a refusal of all
    pause_ms BIGINT NOT NULL DEFAULT 0,  -- pause between two requests; a site taken over from a dead machine rests that long
    slowest_ms BIGINT NOT NULL DEFAULT 0,  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late
    visits BIGINT,  -- site.id of the site whose guests have their parties here, and whose lease they take
    rates VARBINARY(32) NOT NULL DEFAULT x'',  -- how often its pages change: four sums of doubles; empty: nothing is known
    revisit_clock BIGINT NOT NULL DEFAULT 0,  -- up to when its own budget of visits to URLs again is spent; 0: nothing is
    window_from INTEGER NOT NULL DEFAULT 0,  -- minute of the day, UTC, from which its owner wants it to be asked ...
    window_to INTEGER NOT NULL DEFAULT 0,  -- ... and up to which; the same as window_from: at any time
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE UNIQUE INDEX site_key_hash ON site (key_hash);
CREATE INDEX site_state ON site (state, owner);

CREATE TABLE seed (
    id BIGINT NOT NULL AUTO_INCREMENT,
    site_id BIGINT NOT NULL,
    url TEXT NOT NULL,  -- as imported, normalised
    url_hash BINARY(16) NOT NULL,  -- BLAKE2b-128 of url
    home_url TEXT,  -- where its redirects led; NULL: url itself
    rehomed INTEGER NOT NULL DEFAULT 0,  -- redirects followed from url to home_url
    hops INTEGER NOT NULL DEFAULT 0,  -- 0: given by the user; n: found n sites away
    state VARCHAR(8) NOT NULL DEFAULT 'ready',  -- ready, active, slow (waits with its slow lane), done
    end_reason VARCHAR(24),  -- why it is done
    end_detail VARCHAR(1000) NOT NULL DEFAULT '',
    requests BIGINT NOT NULL DEFAULT 0,  -- download attempts, good or bad
    pages BIGINT NOT NULL DEFAULT 0,  -- URLs whose final result is fetched
    redirects BIGINT NOT NULL DEFAULT 0,
    http_errors BIGINT NOT NULL DEFAULT 0,
    failures BIGINT NOT NULL DEFAULT 0,  -- no whole answer: too-large, cut, timeout, connect-failed, ...
    denied BIGINT NOT NULL DEFAULT 0,  -- by robots.txt
    unwanted BIGINT NOT NULL DEFAULT 0,  -- Content-Type not accepted
    trapped BIGINT NOT NULL DEFAULT 0,  -- not asked for: their pattern is capped
    retries BIGINT NOT NULL DEFAULT 0,
    bytes BIGINT NOT NULL DEFAULT 0,  -- body bytes over the wire, all attempts
    listed BIGINT NOT NULL DEFAULT 0,  -- URLs appended to the party's list
    revisits BIGINT NOT NULL DEFAULT 0,  -- pages whose payload was archived before
    candidates BIGINT NOT NULL DEFAULT 0,  -- external links handed back
    near_duplicates BIGINT NOT NULL DEFAULT 0,  -- pages that say nearly what an earlier one says
    noindex BIGINT NOT NULL DEFAULT 0,  -- pages that forbid to index them
    nofollow BIGINT NOT NULL DEFAULT 0,  -- pages that forbid to follow their links
    assets BIGINT NOT NULL DEFAULT 0,  -- URLs listed as images, scripts or styles
    sitemap_urls BIGINT NOT NULL DEFAULT 0,  -- URLs listed from sitemaps
    pushed_back BIGINT NOT NULL DEFAULT 0,  -- answers by which its site refused, as 429, 503
    slowed BIGINT NOT NULL DEFAULT 0,  -- URLs put off to the slow lane
    slow_pages BIGINT NOT NULL DEFAULT 0,  -- pages fetched there
    wait_ms BIGINT NOT NULL DEFAULT 0,  -- time in which only politeness held it up
    verdicts MEDIUMTEXT,  -- JSON: reason of a URL verdict -> times; NULL: none
    elapsed_ms BIGINT NOT NULL DEFAULT 0,  -- time in work
    slow_pass INTEGER NOT NULL DEFAULT 0,  -- 1: all else was fetched, now its slow lane is
    added_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    machine_id BIGINT,  -- the machine that last worked on it
    internal_errors BIGINT NOT NULL DEFAULT 0,  -- answers that met a fault of this program
    not_modified BIGINT NOT NULL DEFAULT 0,  -- URLs visited again whose page is as it was
    columns TEXT,  -- JSON: further columns of its line in the seed file, 16,000 characters; NULL: none
    base_depth INTEGER NOT NULL DEFAULT 0,  -- links from a user's seed to its URL, where that came from another site
    reopened INTEGER NOT NULL DEFAULT 0,  -- times that it went on after its end, for URLs from other sites
    saved BIGINT NOT NULL DEFAULT 0,  -- bytes of bodies that did not come again (304), or that an earlier crawl has archived
    round INTEGER NOT NULL DEFAULT 0,  -- 0: its URLs are fetched for the first time; n: they were visited again n times
    round_at BIGINT NOT NULL DEFAULT 0,  -- when that round was begun; 0: it is the first
    states_to BIGINT NOT NULL DEFAULT 0,  -- page.id up to which url_state has what its first round has brought
    due_at BIGINT DEFAULT 0,  -- when a URL of it is due next; 0: look into url_state; NULL: never
    guest_of BIGINT,  -- of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url
    skipped INTEGER NOT NULL DEFAULT 0,  -- 1: the user wants nothing of it now: no machine, round or retry takes it up
    batch BIGINT NOT NULL DEFAULT 0,  -- promotion.id of the promotion that made it a seed; 0: none
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX seed_due ON seed (state, due_at);
CREATE INDEX seed_site ON seed (site_id, state);
CREATE INDEX seed_state ON seed (state, end_reason);
CREATE UNIQUE INDEX seed_url_hash ON seed (url_hash);

CREATE TABLE seed_round (
    seed_id BIGINT NOT NULL,
    round INTEGER NOT NULL,  -- one that is over; that which a seed is in, or was in last, stands in its own row
    began_at BIGINT NOT NULL,  -- 0: it was the first
    ended_at BIGINT NOT NULL,
    end_reason VARCHAR(24) NOT NULL,
    end_detail VARCHAR(1000) NOT NULL,
    elapsed_ms BIGINT NOT NULL,  -- as seed.elapsed_ms at its end: since the seed began, as all counts here
    requests BIGINT NOT NULL,
    pages BIGINT NOT NULL,
    redirects BIGINT NOT NULL,
    http_errors BIGINT NOT NULL,
    failures BIGINT NOT NULL,
    denied BIGINT NOT NULL,
    unwanted BIGINT NOT NULL,
    trapped BIGINT NOT NULL,
    retries BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    listed BIGINT NOT NULL,
    revisits BIGINT NOT NULL,
    candidates BIGINT NOT NULL,
    near_duplicates BIGINT NOT NULL,
    noindex BIGINT NOT NULL,
    nofollow BIGINT NOT NULL,
    assets BIGINT NOT NULL,
    sitemap_urls BIGINT NOT NULL,
    pushed_back BIGINT NOT NULL,
    slowed BIGINT NOT NULL,
    slow_pages BIGINT NOT NULL,
    wait_ms BIGINT NOT NULL,
    internal_errors BIGINT NOT NULL,
    not_modified BIGINT NOT NULL,
    saved BIGINT NOT NULL,
    PRIMARY KEY (seed_id, round)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE lane (
    seed_id BIGINT NOT NULL,  -- the seed that listed the entries
    kind INTEGER NOT NULL,  -- 0: normal; r + 100 p: r-th retry, pushed back p times; others stand in model/lanes.py
    holder_id BIGINT NOT NULL,  -- the seed for which they are fetched now
    cursor_position BIGINT NOT NULL,  -- lowest position not finished
    length BIGINT NOT NULL,  -- entries listed
    ahead MEDIUMTEXT NOT NULL,  -- JSON: finished positions beyond the cursor
    PRIMARY KEY (seed_id, kind)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX lane_holder ON lane (holder_id);

CREATE TABLE chunk (
    seed_id BIGINT NOT NULL,
    kind INTEGER NOT NULL,
    seq BIGINT NOT NULL,  -- 0, 1, 2, ... within the lane
    first_position BIGINT NOT NULL,  -- position of its first entry
    entries BIGINT NOT NULL,
    data MEDIUMBLOB NOT NULL,  -- the entries, compressed
    PRIMARY KEY (seed_id, kind, seq)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX chunk_first_position ON chunk (seed_id, kind, first_position);

CREATE TABLE page (
    id BIGINT NOT NULL AUTO_INCREMENT,
    seed_id BIGINT NOT NULL,  -- fetched for this seed
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,  -- links from the seed URL
    lane_seed BIGINT NOT NULL,  -- listed by this seed ...
    position BIGINT NOT NULL,  -- ... at this position of its normal lane; -1, -2, ...: of that of its sitemaps
    result VARCHAR(24) NOT NULL,
    status INTEGER NOT NULL,  -- HTTP status; 0: none
    content_type TEXT NOT NULL,  -- media type without parameters
    length BIGINT NOT NULL,  -- body bytes over the wire; where the server said 304, those that an earlier crawl has
    digest VARBINARY(20) NOT NULL,  -- SHA-1 of the payload, or empty
    attempts INTEGER NOT NULL,
    fetched_at BIGINT NOT NULL,
    elapsed_ms BIGINT NOT NULL,
    warc_file VARCHAR(255) NOT NULL,  -- empty: nothing was archived
    warc_offset BIGINT NOT NULL,
    warc_length BIGINT NOT NULL,
    revisit INTEGER NOT NULL,  -- 1: the record is a revisit
    detail TEXT NOT NULL,  -- where a redirect leads, or what went wrong
    flags INTEGER NOT NULL DEFAULT 0,  -- sum of 1 noindex, 2 nofollow, 4 TLS unchecked, 8 slow lane, 16 asset, 32 sitemap, 64 near duplicate, 128 cut
    simhash BIGINT NOT NULL DEFAULT 0,  -- of the visible text; 0: not computed
    visit INTEGER NOT NULL DEFAULT 0,  -- 0: the first to this URL; n: it was visited n times before, each of which has a row
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- url_hash of the page that listed the URL first; empty: none did, or the version before did not say it
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX page_seed ON page (seed_id);
CREATE INDEX page_url_hash ON page (url_hash);
CREATE INDEX page_warc_file ON page (warc_file, warc_offset);

CREATE TABLE url_state (
    seed_id BIGINT NOT NULL,  -- its visits were made for this seed
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    position BIGINT NOT NULL,  -- as page.position
    flags INTEGER NOT NULL,  -- as page.flags, of its last visit
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- as page.referrer
    visit INTEGER NOT NULL,  -- page.visit of the last visit
    visited_at BIGINT NOT NULL,  -- when it was asked for last ...
    result VARCHAR(24) NOT NULL,  -- ... and what came of that
    digest VARBINARY(20) NOT NULL,  -- of its newest payload; empty: none that is whole
    payload_url TEXT NOT NULL,  -- whose record holds that payload, if it is another URL's; empty: its own
    payload_at BIGINT NOT NULL,  -- page.fetched_at of that record
    length BIGINT NOT NULL,  -- bytes of that payload, as transferred
    etag VARCHAR(255) NOT NULL,  -- as the server sent it with that
    last_modified VARCHAR(64) NOT NULL,  -- as the server sent it with that
    known_since BIGINT NOT NULL,  -- its first visit
    changed_at BIGINT NOT NULL,  -- when a visit last found it changed; 0: never
    changes INTEGER NOT NULL,  -- visits that found it changed
    missing INTEGER NOT NULL,  -- answers of 404 or 410 in a row
    interval_ms BIGINT NOT NULL,  -- from its last visit to the next one, by the policy
    due_at BIGINT NOT NULL,  -- when it is to be visited again; 0: never, -1: it is listed for that
    simhash BIGINT NOT NULL DEFAULT 0,  -- of the text of its newest payload; 0: not computed
    checks VARBINARY(28) NOT NULL DEFAULT x'',  -- how often it was found changed: seven sums of floats; empty: it was not checked
    text_print VARBINARY(16) NOT NULL DEFAULT x'',  -- of its text without dates and counters, digest and simhash, or of a body that came packed; empty: none
    demand_cell INTEGER NOT NULL DEFAULT 0,  -- revisit_demand.cell in which it is counted; 0: in none
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX url_state_due ON url_state (seed_id, due_at);

CREATE TABLE thinned (
    seed_id BIGINT NOT NULL,
    group_hash BINARY(16) NOT NULL,  -- of what visits have in common, by keep_visits gone from page; these are:
    result VARCHAR(24) NOT NULL,
    status INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    content_type TEXT NOT NULL,
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
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE orphan (
    warc_file VARCHAR(255) NOT NULL,  -- holds a whole response or revisit record that no row of page refers to ...
    warc_offset BIGINT NOT NULL,  -- ... because it was not committed in time, or its row was taken back, or thinned
    warc_length BIGINT NOT NULL,
    others VARBINARY(8000) NOT NULL DEFAULT x'',  -- others of the file, behind it: how far from one to the next, and length, compressed
    PRIMARY KEY (warc_file, warc_offset)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

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

CREATE TABLE relation (
    url_hash BINARY(16) NOT NULL,  -- of a page ...
    kind VARCHAR(16) NOT NULL,  -- canonical, redirect
    seed_id BIGINT NOT NULL,  -- ... fetched for this seed
    target TEXT NOT NULL,  -- URL that stands for it
    PRIMARY KEY (url_hash, kind)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE pattern (
    seed_id BIGINT NOT NULL,
    pattern_hash BINARY(16) NOT NULL,
    pattern TEXT NOT NULL,  -- of URLs: digits, ids as stars, query keys without values; or: links as on URL
    fetched BIGINT NOT NULL DEFAULT 0,
    exact BIGINT NOT NULL DEFAULT 0,  -- of these, with a payload known before
    near BIGINT NOT NULL DEFAULT 0,  -- of these, with a text like an earlier one and no new word
    refused BIGINT NOT NULL DEFAULT 0,  -- URLs not asked for, or not listed, because it is capped
    evidence TEXT NOT NULL,  -- why it is capped; empty: it is not
    PRIMARY KEY (seed_id, pattern_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE jar (
    seed_id BIGINT NOT NULL,
    data MEDIUMBLOB NOT NULL,  -- cookies of its party, JSON of at most 64 KiB
    PRIMARY KEY (seed_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE rejection (
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    reason VARCHAR(24) NOT NULL,  -- a verdict of seed.verdicts; a few URLs are kept for each
    url TEXT NOT NULL,
    evidence TEXT NOT NULL,  -- the page on which it stands, the limit, ...
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX rejection_url_hash ON rejection (url_hash);

CREATE TABLE sitemap_url (
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    lastmod BIGINT NOT NULL,  -- as the sitemap says; 0: it does not
    sitemap TEXT NOT NULL,  -- its URL
    changefreq VARCHAR(8) NOT NULL DEFAULT '',  -- as the sitemap says; empty: it does not
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE robots (
    origin_hash BINARY(16) NOT NULL,  -- BLAKE2b-128 of origin
    origin TEXT NOT NULL,  -- scheme://host[:port]; or a URL to which several robots.txt redirect, if it is none itself
    site_id BIGINT NOT NULL,  -- 0: of such a URL
    fetched_at BIGINT NOT NULL,
    status INTEGER NOT NULL,  -- HTTP status; 0: no whole answer
    detail TEXT NOT NULL,  -- what went wrong
    body MEDIUMBLOB NOT NULL,  -- compressed (zlib)
    PRIMARY KEY (origin_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX robots_site ON robots (site_id);

CREATE TABLE suspect (
    site_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    machine_id BIGINT NOT NULL,  -- died while it read the URL: each of them counts once, however often it is noted
    url TEXT NOT NULL,
    blame BIGINT NOT NULL,  -- 1: perhaps, 2: for sure; with 2, all machines together, it is not asked for again
    detail TEXT NOT NULL,  -- of what the machine died
    PRIMARY KEY (site_id, url_hash, machine_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE candidate (
    seed_id BIGINT NOT NULL,  -- the seed whose party has the links
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,  -- of the page where it was first found
    count BIGINT NOT NULL,  -- times found
    promoted INTEGER NOT NULL DEFAULT 0,  -- 1: made a seed of this crawl; 2: sent to the owner of its site; 3: for guests
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- page.url_hash of the page where it was first found; empty: the version before did not say it
    part INTEGER NOT NULL DEFAULT 0,  -- SQLite: its part of the index of hashes; each 262144 pages of the crawl begin the next
    PRIMARY KEY (seed_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX candidate_url_hash ON candidate (promoted, url_hash);

CREATE TABLE inbox (
    id BIGINT NOT NULL AUTO_INCREMENT,
    key_hash BINARY(16) NOT NULL,  -- site.key_hash of the URL's site, which may not be in the database yet
    url TEXT NOT NULL,  -- sent to the owner of the site; the row goes with the checkpoint that lists it
    depth INTEGER NOT NULL,  -- links from a user's seed, over all sites between
    hops INTEGER NOT NULL,  -- sites from a user's seed
    seed_id BIGINT NOT NULL,  -- the seed whose party has found it
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- page.url_hash of the page where it was found
    guest INTEGER NOT NULL DEFAULT 0,  -- 1: for guests at the site, whose row has the key 'guest ' and that of the site; 2: pushed
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX inbox_key_hash ON inbox (key_hash);

CREATE TABLE outbox (
    id BIGINT NOT NULL AUTO_INCREMENT,
    machine_id BIGINT NOT NULL,  -- the machine that has found it, and sends it by its communicator
    key_hash BINARY(16) NOT NULL,  -- as in inbox, and all others; the row goes when the receiver has acknowledged it ...
    url TEXT NOT NULL,  -- ... or into the inbox of its site, where no other machine owns that
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    seed_id BIGINT NOT NULL,
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- page.url_hash of the page where it was found
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX outbox_machine_id ON outbox (machine_id);

CREATE TABLE server (
    address VARCHAR(64) NOT NULL,  -- IP address
    machine_id BIGINT NOT NULL,  -- with delay_per_ip: the machine that may ask it next, or was the last to ask ...
    next_due_at BIGINT NOT NULL,  -- ... and when any other one may
    PRIMARY KEY (address)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX server_next_due_at ON server (next_due_at);

CREATE TABLE server_place (
    address VARCHAR(64) NOT NULL,  -- IP address; empty: the machine lives alone, and holds what it likes anywhere
    machine_id BIGINT NOT NULL,  -- 0: the row that is locked while shares are told
    places BIGINT NOT NULL,  -- requests that it may have in flight there, of per_ip in all
    PRIMARY KEY (address, machine_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE errand (
    site_id BIGINT NOT NULL,  -- a site that one machine has in work, and of whose host another one wants something
    url TEXT NOT NULL,  -- what it wants, on behalf of a site of its own
    machine_id BIGINT NOT NULL,  -- the one that wants it; 0: it has asked, and the owner of the site goes on after `ends_at`
    lent_at BIGINT NOT NULL,  -- from when on it may ask: the owner asks nothing from then on until `ends_at`; 0: not yet
    ends_at BIGINT NOT NULL,  -- after this the row counts no more, whatever has become of either machine
    PRIMARY KEY (site_id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE machine (
    id BIGINT NOT NULL AUTO_INCREMENT,
    name VARCHAR(255) NOT NULL,
    host VARCHAR(255) NOT NULL,
    pid INTEGER NOT NULL,
    process VARCHAR(255) NOT NULL,  -- tells on its own host whether it still runs: boot id, pid namespace, pid, start time
    state VARCHAR(8) NOT NULL,  -- running, paused, stopping, stopped, dead
    wanted VARCHAR(8) NOT NULL DEFAULT 'run',  -- what it is told to do: run, pause, stop, drain, remove
    launched_at BIGINT NOT NULL,  -- when the command that started it began
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,  -- its lease on the sites it owns counts from here
    memory BIGINT NOT NULL DEFAULT 0,  -- resident bytes at the last heartbeat
    checkpoints BIGINT NOT NULL DEFAULT 0,  -- committed by it; tells a repeated commit from a new one
    pages BIGINT NOT NULL DEFAULT 0,  -- committed by it, result fetched
    bytes BIGINT NOT NULL DEFAULT 0,  -- of the page rows committed by it
    errors BIGINT NOT NULL DEFAULT 0,  -- page rows not fetched, redirect, not-modified, unwanted-type or trap
    refused BIGINT NOT NULL DEFAULT 0,  -- page rows of deltas that were refused: their sites were taken over
    uncommitted BIGINT NOT NULL DEFAULT 0,  -- records in its files that were never committed, cut off or kept as orphans: fetched again
    capacity BIGINT NOT NULL DEFAULT 0,  -- seeds that it can hold, as it said with its last heartbeat; 0: not yet
    urls_left BIGINT NOT NULL DEFAULT 0,  -- URLs that its sites have left, as told while there is no delay; 0: not told
    kept_open_by VARCHAR(64) NOT NULL DEFAULT '',  -- why the crawl was not over when it last looked; empty: it has not looked
    agent VARCHAR(255) NOT NULL DEFAULT '',  -- its identifier, which a consistent partition is made from; kept when it starts anew
    weight INTEGER NOT NULL DEFAULT 1,  -- how much of the crawl it takes, compared with the others
    sent BIGINT NOT NULL DEFAULT 0,  -- URLs that it has put into inboxes, or into its outbox
    received BIGINT NOT NULL DEFAULT 0,  -- URLs that it has taken out of inboxes, or that receivers have acknowledged: sent less that waits
    reopened BIGINT NOT NULL DEFAULT 0,  -- parties that had ended, and that it let go on for URLs in their inboxes
    dropped BIGINT NOT NULL DEFAULT 0,  -- external URLs that it has forgotten, as mode drop or max_candidates wants
    carried BIGINT NOT NULL DEFAULT 0,  -- URLs that other machines have acknowledged to its communicator; counted as received as well
    address VARCHAR(255) NOT NULL DEFAULT '',  -- where its communicator listens, as tcp://host:port; empty: it has none
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX machine_state ON machine (state);

CREATE TABLE machine_statistics (
    machine_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    requests BIGINT NOT NULL,  -- since the machine started, as all of these
    pages BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    queued BIGINT NOT NULL,  -- seeds in its Seed ID Queue
    PRIMARY KEY (machine_id, at)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE thread_statistics (
    machine_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    thread INTEGER NOT NULL,  -- number of the URL Collector, from 0
    seeds_held BIGINT NOT NULL,
    PRIMARY KEY (machine_id, at, thread)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE promotion (
    id BIGINT NOT NULL AUTO_INCREMENT,
    promoted_at BIGINT NOT NULL,
    what TEXT NOT NULL,  -- JSON: what was promoted, as it was asked for
    after_seed BIGINT NOT NULL DEFAULT 0,  -- seed.id of the newest seed before it: its own come later
    undone_at BIGINT NOT NULL DEFAULT 0,  -- 0: it holds
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE slot_table (
    kind VARCHAR(16) NOT NULL,  -- of partition: dynamic, modulo, subsite
    version BIGINT NOT NULL,  -- counts its changes; one that was made from an earlier version is refused
    machines MEDIUMTEXT NOT NULL,  -- JSON: id -> weight of those among whom the slots are divided
    slots MEDIUMTEXT NOT NULL,  -- JSON: the machine.id of each slot, 0: nobody's; a site's slot follows from its key
    PRIMARY KEY (kind)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE search (
    seed_id BIGINT NOT NULL,
    queries INTEGER NOT NULL DEFAULT 0,  -- asked of the search forms of its site
    results BIGINT NOT NULL DEFAULT 0,  -- links that the answers have shown
    found BIGINT NOT NULL DEFAULT 0,  -- URLs that these have listed first
    ended VARCHAR(16) NOT NULL DEFAULT '',  -- why no more is asked: budget, repeats, no-terms, failing, refused; empty: goes on
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

CREATE TABLE processor (
    name VARCHAR(255) NOT NULL,  -- of page processors that work together, with commas between them
    cursor_page BIGINT NOT NULL,  -- they have had all rows of page up to this id ...
    gaps MEDIUMTEXT NOT NULL,  -- ... but for these, JSON: [first, last] of ids that were not committed yet
    pages BIGINT NOT NULL DEFAULT 0,  -- given to them
    items BIGINT NOT NULL DEFAULT 0,  -- that they made
    errors BIGINT NOT NULL DEFAULT 0,  -- pages at which one of them failed: their items were left out
    items_file TEXT NOT NULL,  -- path of the file with the items, or table:NAME of this database; empty: none
    items_bytes BIGINT NOT NULL DEFAULT 0,  -- of that file which are committed (a killed process wrote what follows); rows of that table
    version BIGINT NOT NULL DEFAULT 0,  -- counts commits, and who begins: what an earlier process still commits is refused
    PRIMARY KEY (name)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

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

CREATE TABLE push_key (
    key_hash VARBINARY(32) NOT NULL,  -- SHA-256 of a key for pings, which is 256 random bits
    site_id BIGINT NOT NULL,
    host TEXT NOT NULL,  -- as it was given
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL DEFAULT 0,  -- 0: never
    PRIMARY KEY (key_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE subscription (
    id BIGINT NOT NULL AUTO_INCREMENT,
    site_id BIGINT NOT NULL,
    topic TEXT NOT NULL,
    topic_hash BINARY(16) NOT NULL,
    hub TEXT NOT NULL,
    callback TEXT NOT NULL,  -- as the hub knows it: it ends with the token
    token VARCHAR(64) NOT NULL,  -- random: who knows it may answer for the hub
    secret VARCHAR(64) NOT NULL,  -- random: the hub signs with it
    state VARCHAR(16) NOT NULL,  -- asked, active, denied, leaving, left, failed
    asked_at BIGINT NOT NULL,  -- when the hub was last asked
    lease_until BIGINT NOT NULL DEFAULT 0,  -- 0: there is no lease
    next_at BIGINT NOT NULL DEFAULT 0,  -- when the hub is to be asked again; 0: never
    failures INTEGER NOT NULL DEFAULT 0,  -- times in a row that it could not be asked
    detail VARCHAR(1000) NOT NULL DEFAULT '',  -- what went wrong
    deliveries BIGINT NOT NULL DEFAULT 0,  -- messages that were signed by the hub
    forged BIGINT NOT NULL DEFAULT 0,  -- messages that were not
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX subscription_next_at ON subscription (next_at);
CREATE UNIQUE INDEX subscription_token ON subscription (token);
CREATE UNIQUE INDEX subscription_topic ON subscription (topic_hash);

CREATE TABLE site_owner (
    id BIGINT NOT NULL AUTO_INCREMENT,
    site_id BIGINT NOT NULL,
    host TEXT NOT NULL,  -- with its port, where that is not the scheme's own
    token_hash VARBINARY(32) NOT NULL,  -- SHA-256 of the owner's token, which is 256 random bits
    proof VARCHAR(8) NOT NULL,  -- how it was shown last: file, meta, dns
    proved_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE UNIQUE INDEX site_owner_token ON site_owner (token_hash);

CREATE TABLE submission (
    owner_id BIGINT NOT NULL,  -- site_owner.id
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    at BIGINT NOT NULL,  -- when it was submitted, last
    PRIMARY KEY (owner_id, url_hash)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX submission_at ON submission (owner_id, at);

CREATE TABLE listener (
    id BIGINT NOT NULL AUTO_INCREMENT,
    host VARCHAR(255) NOT NULL,
    pid INTEGER NOT NULL,
    process VARCHAR(255) NOT NULL,  -- as machine.process
    address VARCHAR(255) NOT NULL,  -- where it listens
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    stopped_at BIGINT NOT NULL DEFAULT 0,  -- 0: it has not stopped in order
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE revisit_demand (
    site_id BIGINT NOT NULL,  -- whose URLs; 0: of all sites, as one machine has counted them
    machine_id BIGINT NOT NULL,  -- which machine has counted them; 0: before any ran, or for a site
    cell INTEGER NOT NULL,  -- how often they change, and what they weigh: see scrawler/features/revisit/policies/demand.py
    pages BIGINT NOT NULL,  -- so many more than before; of one machine it may be below 0: others have counted them first
    PRIMARY KEY (site_id, machine_id, cell)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE url_change (
    id BIGINT NOT NULL AUTO_INCREMENT,
    at BIGINT NOT NULL,
    seed_id BIGINT NOT NULL,
    url_hash BINARY(16) NOT NULL,
    url TEXT NOT NULL,
    kind VARCHAR(8) NOT NULL,  -- new, changed, failing, gone, back, moved
    visit INTEGER NOT NULL,  -- page.visit of the visit that has found it
    detail TEXT NOT NULL,  -- where it has moved
    distance INTEGER NOT NULL DEFAULT (-1),  -- by how many of 64 bits the simhashes of old and new text differ; -1: not known
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX url_change_at ON url_change (at);
CREATE INDEX url_change_seed ON url_change (seed_id, at);

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

CREATE TABLE pushed (
    id BIGINT NOT NULL AUTO_INCREMENT,
    site_id BIGINT NOT NULL,  -- the site that is known, and to whose lists it goes
    url TEXT NOT NULL,  -- somebody has told that it is new, or has changed; the row goes when it is listed
    url_hash BINARY(16) NOT NULL,
    source VARCHAR(16) NOT NULL,  -- who has told it: indexnow, websub, ping, owner
    at BIGINT NOT NULL,  -- when it came, last
    due_at BIGINT NOT NULL,  -- when it may be asked for: at once, once it is proved, or in the window of the site's owner
    proof TEXT NOT NULL,  -- JSON: what is not proved yet, key and place of its file; empty: all is
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX pushed_due_at ON pushed (due_at);
CREATE UNIQUE INDEX pushed_site_url ON pushed (site_id, url_hash);

CREATE TABLE push_tally (
    site_id BIGINT NOT NULL,  -- 0: of no known site
    day BIGINT NOT NULL,  -- days since 1970, UTC
    source VARCHAR(16) NOT NULL,  -- as in pushed
    accepted BIGINT NOT NULL DEFAULT 0,  -- URLs; the quota of the site counts them
    refused BIGINT NOT NULL DEFAULT 0,  -- URLs, or messages: outside the crawl, over the quota, not proved
    listed BIGINT NOT NULL DEFAULT 0,  -- URLs that machines have taken into the lists of parties
    PRIMARY KEY (site_id, day, source)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO schema_version (version, applied_at) VALUES (16, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
