-- SCrawler: schema of a crawl's database for SQLite 3.37+.
-- One database holds one crawl. Times are UTC milliseconds. URLs compare byte for byte; *_hash is BLAKE2b, 16 bytes.
-- There are no foreign keys: all rows of a site are written by the one machine that owns it, fenced by site.token.

CREATE TABLE schema_version (
    version INTEGER NOT NULL,  -- number of a migration that was applied
    applied_at INTEGER NOT NULL,
    PRIMARY KEY (version)
) STRICT;

CREATE TABLE feature (
    name TEXT NOT NULL,  -- of the room of a feature that keeps rows of its own in this database
    version INTEGER NOT NULL,  -- of its tables
    since INTEGER NOT NULL,  -- when a run first used it
    PRIMARY KEY (name)
) STRICT;

CREATE TABLE crawl (
    id INTEGER NOT NULL,  -- always 1: one database holds one crawl
    name TEXT NOT NULL,
    scope TEXT NOT NULL,  -- host, domain, prefix; fixes the keys of the sites
    created_at INTEGER NOT NULL,
    paused INTEGER DEFAULT 0 NOT NULL,  -- 1: no machine starts a request, those that come later neither
    stopped_at INTEGER DEFAULT 0 NOT NULL,  -- machines of commands launched before this time stop
    settings TEXT,  -- JSON: set while it runs; hold over files, variables and flags
    revision INTEGER DEFAULT 0 NOT NULL,  -- grows with each import, promotion or change of settings: machines look again
    starting_machines INTEGER DEFAULT 0 NOT NULL,  -- how many the newest command starts ...
    starting_at INTEGER DEFAULT 0 NOT NULL,  -- ... since then: the machine.launched_at of those that are there
    starting_process TEXT DEFAULT '' NOT NULL,  -- ... and by which process, as machine.process
    again TEXT,  -- JSON: the round that was ordered, until it is begun for all its seeds
    revisit_clock INTEGER DEFAULT 0 NOT NULL,  -- up to when the budget of visits to URLs again is spent; 0: nothing is
    PRIMARY KEY (id)
) STRICT;

CREATE TABLE run (
    id INTEGER NOT NULL,
    machine_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT,  -- how it ended; NULL while it runs, or if it was killed
    settings TEXT NOT NULL,  -- JSON: the settings in force
    pages INTEGER DEFAULT 0 NOT NULL,
    bytes INTEGER DEFAULT 0 NOT NULL,
    errors INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (id)
) STRICT;

CREATE TABLE site (
    id INTEGER NOT NULL,
    key_hash BLOB NOT NULL,  -- BLAKE2b-128 of site_key
    site_key TEXT NOT NULL,  -- host[:port] or registrable domain, by the crawl's scope
    state TEXT DEFAULT 'ready' NOT NULL,  -- ready: has seeds, no owner; resting: as ready from next_due_at on; active: owned; done: no seed ready or active; of the row of a site's guests: guest, visited, left
    owner INTEGER,  -- machine.id
    token INTEGER DEFAULT 0 NOT NULL,  -- counts the owners; what an earlier one still writes is refused
    next_due_at INTEGER DEFAULT 0 NOT NULL,  -- politeness clock: no request before
    address TEXT DEFAULT '' NOT NULL,  -- IP address last used
    pushbacks INTEGER DEFAULT 0 NOT NULL,  -- refusals in a row: 429, 503, or what is found to be a refusal of all
    pause_ms INTEGER DEFAULT 0 NOT NULL,  -- pause between two requests; a site taken over from a dead machine rests that long
    slowest_ms INTEGER DEFAULT 0 NOT NULL,  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late
    visits INTEGER,  -- site.id of the site whose guests have their parties here, and whose lease they take
    rates BLOB DEFAULT x'' NOT NULL,  -- how often its pages change: four sums of doubles; empty: nothing is known
    revisit_clock INTEGER DEFAULT 0 NOT NULL,  -- up to when its own budget of visits to URLs again is spent; 0: nothing is
    window_from INTEGER DEFAULT 0 NOT NULL,  -- minute of the day, UTC, from which its owner wants it to be asked ...
    window_to INTEGER DEFAULT 0 NOT NULL,  -- ... and up to which; the same as window_from: at any time
    PRIMARY KEY (id)
) STRICT;
CREATE UNIQUE INDEX site_key_hash ON site (key_hash);
CREATE INDEX site_state ON site (state, owner);

CREATE TABLE seed (
    id INTEGER NOT NULL,
    site_id INTEGER NOT NULL,
    url TEXT NOT NULL,  -- as imported, normalised
    url_hash BLOB NOT NULL,  -- BLAKE2b-128 of url
    home_url TEXT,  -- where its redirects led; NULL: url itself
    rehomed INTEGER DEFAULT 0 NOT NULL,  -- redirects followed from url to home_url
    hops INTEGER DEFAULT 0 NOT NULL,  -- 0: given by the user; n: found n sites away
    state TEXT DEFAULT 'ready' NOT NULL,  -- ready, active, slow (waits with its slow lane), done
    end_reason TEXT,  -- why it is done
    end_detail TEXT DEFAULT '' NOT NULL,
    requests INTEGER DEFAULT 0 NOT NULL,  -- download attempts, good or bad
    pages INTEGER DEFAULT 0 NOT NULL,  -- URLs whose final result is fetched
    redirects INTEGER DEFAULT 0 NOT NULL,
    http_errors INTEGER DEFAULT 0 NOT NULL,
    failures INTEGER DEFAULT 0 NOT NULL,  -- no whole answer: too-large, cut, timeout, connect-failed, ...
    denied INTEGER DEFAULT 0 NOT NULL,  -- by robots.txt
    unwanted INTEGER DEFAULT 0 NOT NULL,  -- Content-Type not accepted
    trapped INTEGER DEFAULT 0 NOT NULL,  -- not asked for: their pattern is capped
    retries INTEGER DEFAULT 0 NOT NULL,
    bytes INTEGER DEFAULT 0 NOT NULL,  -- body bytes over the wire, all attempts
    listed INTEGER DEFAULT 0 NOT NULL,  -- URLs appended to the party's list
    revisits INTEGER DEFAULT 0 NOT NULL,  -- pages whose payload was archived before
    candidates INTEGER DEFAULT 0 NOT NULL,  -- external links handed back
    near_duplicates INTEGER DEFAULT 0 NOT NULL,  -- pages that say nearly what an earlier one says
    noindex INTEGER DEFAULT 0 NOT NULL,  -- pages that forbid to index them
    nofollow INTEGER DEFAULT 0 NOT NULL,  -- pages that forbid to follow their links
    assets INTEGER DEFAULT 0 NOT NULL,  -- URLs listed as images, scripts or styles
    sitemap_urls INTEGER DEFAULT 0 NOT NULL,  -- URLs listed from sitemaps
    pushed_back INTEGER DEFAULT 0 NOT NULL,  -- answers by which its site refused, as 429, 503
    slowed INTEGER DEFAULT 0 NOT NULL,  -- URLs put off to the slow lane
    slow_pages INTEGER DEFAULT 0 NOT NULL,  -- pages fetched there
    wait_ms INTEGER DEFAULT 0 NOT NULL,  -- time in which only politeness held it up
    verdicts TEXT,  -- JSON: reason of a URL verdict -> times; NULL: none
    elapsed_ms INTEGER DEFAULT 0 NOT NULL,  -- time in work
    slow_pass INTEGER DEFAULT 0 NOT NULL,  -- 1: all else was fetched, now its slow lane is
    added_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    machine_id INTEGER,  -- the machine that last worked on it
    internal_errors INTEGER DEFAULT 0 NOT NULL,  -- answers that met a fault of this program
    not_modified INTEGER DEFAULT 0 NOT NULL,  -- URLs visited again whose page is as it was
    columns TEXT,  -- JSON: further columns of its line in the seed file, 16,000 characters; NULL: none
    base_depth INTEGER DEFAULT 0 NOT NULL,  -- links from a user's seed to its URL, where that came from another site
    reopened INTEGER DEFAULT 0 NOT NULL,  -- times that it went on after its end, for URLs from other sites
    saved INTEGER DEFAULT 0 NOT NULL,  -- bytes of bodies that did not come again (304), or that an earlier crawl has archived
    round INTEGER DEFAULT 0 NOT NULL,  -- 0: its URLs are fetched for the first time; n: they were visited again n times
    round_at INTEGER DEFAULT 0 NOT NULL,  -- when that round was begun; 0: it is the first
    states_to INTEGER DEFAULT 0 NOT NULL,  -- page.id up to which url_state has what its first round has brought
    due_at INTEGER DEFAULT 0,  -- when a URL of it is due next; 0: look into url_state; NULL: never
    guest_of INTEGER,  -- of a guests' party: the seed that found its URL; url_hash is of 'guest ' and url
    skipped INTEGER DEFAULT 0 NOT NULL,  -- 1: the user wants nothing of it now: no machine, round or retry takes it up
    batch INTEGER DEFAULT 0 NOT NULL,  -- promotion.id of the promotion that made it a seed; 0: none
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX seed_due ON seed (state, due_at);
CREATE INDEX seed_site ON seed (site_id, state);
CREATE INDEX seed_state ON seed (state, end_reason);
CREATE UNIQUE INDEX seed_url_hash ON seed (url_hash);

CREATE TABLE seed_round (
    seed_id INTEGER NOT NULL,
    round INTEGER NOT NULL,  -- one that is over; that which a seed is in, or was in last, stands in its own row
    began_at INTEGER NOT NULL,  -- 0: it was the first
    ended_at INTEGER NOT NULL,
    end_reason TEXT NOT NULL,
    end_detail TEXT NOT NULL,
    elapsed_ms INTEGER NOT NULL,  -- as seed.elapsed_ms at its end: since the seed began, as all counts here
    requests INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    redirects INTEGER NOT NULL,
    http_errors INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    denied INTEGER NOT NULL,
    unwanted INTEGER NOT NULL,
    trapped INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    listed INTEGER NOT NULL,
    revisits INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    near_duplicates INTEGER NOT NULL,
    noindex INTEGER NOT NULL,
    nofollow INTEGER NOT NULL,
    assets INTEGER NOT NULL,
    sitemap_urls INTEGER NOT NULL,
    pushed_back INTEGER NOT NULL,
    slowed INTEGER NOT NULL,
    slow_pages INTEGER NOT NULL,
    wait_ms INTEGER NOT NULL,
    internal_errors INTEGER NOT NULL,
    not_modified INTEGER NOT NULL,
    saved INTEGER NOT NULL,
    PRIMARY KEY (seed_id, round)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE lane (
    seed_id INTEGER NOT NULL,  -- the seed that listed the entries
    kind INTEGER NOT NULL,  -- 0: normal; r + 100 p: r-th retry, pushed back p times; others stand in model/lanes.py
    holder_id INTEGER NOT NULL,  -- the seed for which they are fetched now
    cursor_position INTEGER NOT NULL,  -- lowest position not finished
    length INTEGER NOT NULL,  -- entries listed
    ahead TEXT NOT NULL,  -- JSON: finished positions beyond the cursor
    PRIMARY KEY (seed_id, kind)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX lane_holder ON lane (holder_id);

CREATE TABLE chunk (
    seed_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    seq INTEGER NOT NULL,  -- 0, 1, 2, ... within the lane
    first_position INTEGER NOT NULL,  -- position of its first entry
    entries INTEGER NOT NULL,
    data BLOB NOT NULL,  -- the entries, compressed
    PRIMARY KEY (seed_id, kind, seq)
) STRICT;
CREATE INDEX chunk_first_position ON chunk (seed_id, kind, first_position);

CREATE TABLE page (
    id INTEGER NOT NULL,
    seed_id INTEGER NOT NULL,  -- fetched for this seed
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,  -- links from the seed URL
    lane_seed INTEGER NOT NULL,  -- listed by this seed ...
    position INTEGER NOT NULL,  -- ... at this position of its normal lane; -1, -2, ...: of that of its sitemaps
    result TEXT NOT NULL,
    status INTEGER NOT NULL,  -- HTTP status; 0: none
    content_type TEXT NOT NULL,  -- media type without parameters
    length INTEGER NOT NULL,  -- body bytes over the wire; where the server said 304, those that an earlier crawl has
    digest BLOB NOT NULL,  -- SHA-1 of the payload, or empty
    attempts INTEGER NOT NULL,
    fetched_at INTEGER NOT NULL,
    elapsed_ms INTEGER NOT NULL,
    warc_file TEXT NOT NULL,  -- empty: nothing was archived
    warc_offset INTEGER NOT NULL,
    warc_length INTEGER NOT NULL,
    revisit INTEGER NOT NULL,  -- 1: the record is a revisit
    detail TEXT NOT NULL,  -- where a redirect leads, or what went wrong
    flags INTEGER DEFAULT 0 NOT NULL,  -- sum of 1 noindex, 2 nofollow, 4 TLS unchecked, 8 slow lane, 16 asset, 32 sitemap, 64 near duplicate, 128 cut
    simhash INTEGER DEFAULT 0 NOT NULL,  -- of the visible text; 0: not computed
    visit INTEGER DEFAULT 0 NOT NULL,  -- 0: the first to this URL; n: it was visited n times before, each of which has a row
    referrer BLOB DEFAULT x'' NOT NULL,  -- url_hash of the page that listed the URL first; empty: none did, or the version before did not say it
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX page_seed ON page (seed_id);
CREATE INDEX page_url_hash_in_parts ON page (id / 262144, url_hash);
CREATE INDEX page_warc_file ON page (warc_file, warc_offset);

CREATE TABLE url_state (
    seed_id INTEGER NOT NULL,  -- its visits were made for this seed
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- as page.position
    flags INTEGER NOT NULL,  -- as page.flags, of its last visit
    referrer BLOB DEFAULT x'' NOT NULL,  -- as page.referrer
    visit INTEGER NOT NULL,  -- page.visit of the last visit
    visited_at INTEGER NOT NULL,  -- when it was asked for last ...
    result TEXT NOT NULL,  -- ... and what came of that
    digest BLOB NOT NULL,  -- of its newest payload; empty: none that is whole
    payload_url TEXT NOT NULL,  -- whose record holds that payload, if it is another URL's; empty: its own
    payload_at INTEGER NOT NULL,  -- page.fetched_at of that record
    length INTEGER NOT NULL,  -- bytes of that payload, as transferred
    etag TEXT NOT NULL,  -- as the server sent it with that
    last_modified TEXT NOT NULL,  -- as the server sent it with that
    known_since INTEGER NOT NULL,  -- its first visit
    changed_at INTEGER NOT NULL,  -- when a visit last found it changed; 0: never
    changes INTEGER NOT NULL,  -- visits that found it changed
    missing INTEGER NOT NULL,  -- answers of 404 or 410 in a row
    interval_ms INTEGER NOT NULL,  -- from its last visit to the next one, by the policy
    due_at INTEGER NOT NULL,  -- when it is to be visited again; 0: never, -1: it is listed for that
    simhash INTEGER DEFAULT 0 NOT NULL,  -- of the text of its newest payload; 0: not computed
    checks BLOB DEFAULT x'' NOT NULL,  -- how often it was found changed: seven sums of floats; empty: it was not checked
    text_print BLOB DEFAULT x'' NOT NULL,  -- of its text without dates and counters, digest and simhash, or of a body that came packed; empty: none
    demand_cell INTEGER DEFAULT 0 NOT NULL,  -- revisit_demand.cell in which it is counted; 0: in none
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX url_state_due ON url_state (seed_id, due_at);

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

CREATE TABLE orphan (
    warc_file TEXT NOT NULL,  -- holds a whole response or revisit record that no row of page refers to ...
    warc_offset INTEGER NOT NULL,  -- ... because it was not committed in time, or its row was taken back, or thinned
    warc_length INTEGER NOT NULL,
    others BLOB DEFAULT x'' NOT NULL,  -- others of the file, behind it: how far from one to the next, and length, compressed
    PRIMARY KEY (warc_file, warc_offset)
) WITHOUT ROWID,
 STRICT;

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

CREATE TABLE relation (
    url_hash BLOB NOT NULL,  -- of a page ...
    kind TEXT NOT NULL,  -- canonical, redirect
    seed_id INTEGER NOT NULL,  -- ... fetched for this seed
    target TEXT NOT NULL,  -- URL that stands for it
    PRIMARY KEY (url_hash, kind)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE pattern (
    seed_id INTEGER NOT NULL,
    pattern_hash BLOB NOT NULL,
    pattern TEXT NOT NULL,  -- of URLs: digits, ids as stars, query keys without values; or: links as on URL
    fetched INTEGER DEFAULT 0 NOT NULL,
    exact INTEGER DEFAULT 0 NOT NULL,  -- of these, with a payload known before
    near INTEGER DEFAULT 0 NOT NULL,  -- of these, with a text like an earlier one and no new word
    refused INTEGER DEFAULT 0 NOT NULL,  -- URLs not asked for, or not listed, because it is capped
    evidence TEXT NOT NULL,  -- why it is capped; empty: it is not
    PRIMARY KEY (seed_id, pattern_hash)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE jar (
    seed_id INTEGER NOT NULL,
    data BLOB NOT NULL,  -- cookies of its party, JSON of at most 64 KiB
    PRIMARY KEY (seed_id)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE rejection (
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    reason TEXT NOT NULL,  -- a verdict of seed.verdicts; a few URLs are kept for each
    url TEXT NOT NULL,
    evidence TEXT NOT NULL,  -- the page on which it stands, the limit, ...
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX rejection_url_hash ON rejection (url_hash);

CREATE TABLE sitemap_url (
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    lastmod INTEGER NOT NULL,  -- as the sitemap says; 0: it does not
    sitemap TEXT NOT NULL,  -- its URL
    changefreq TEXT DEFAULT '' NOT NULL,  -- as the sitemap says; empty: it does not
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE robots (
    origin_hash BLOB NOT NULL,  -- BLAKE2b-128 of origin
    origin TEXT NOT NULL,  -- scheme://host[:port]; or a URL to which several robots.txt redirect, if it is none itself
    site_id INTEGER NOT NULL,  -- 0: of such a URL
    fetched_at INTEGER NOT NULL,
    status INTEGER NOT NULL,  -- HTTP status; 0: no whole answer
    detail TEXT NOT NULL,  -- what went wrong
    body BLOB NOT NULL,  -- compressed (zlib)
    PRIMARY KEY (origin_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX robots_site ON robots (site_id);

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

CREATE TABLE candidate (
    seed_id INTEGER NOT NULL,  -- the seed whose party has the links
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    depth INTEGER NOT NULL,  -- of the page where it was first found
    count INTEGER NOT NULL,  -- times found
    promoted INTEGER DEFAULT 0 NOT NULL,  -- 1: made a seed of this crawl; 2: sent to the owner of its site; 3: for guests
    referrer BLOB DEFAULT x'' NOT NULL,  -- page.url_hash of the page where it was first found; empty: the version before did not say it
    part INTEGER DEFAULT 0 NOT NULL,  -- SQLite: its part of the index of hashes; each 262144 pages of the crawl begin the next
    PRIMARY KEY (seed_id, url_hash)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX candidate_url_hash_in_parts ON candidate (part, promoted, url_hash);

CREATE TABLE inbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    key_hash BLOB NOT NULL,  -- site.key_hash of the URL's site, which may not be in the database yet
    url TEXT NOT NULL,  -- sent to the owner of the site; the row goes with the checkpoint that lists it
    depth INTEGER NOT NULL,  -- links from a user's seed, over all sites between
    hops INTEGER NOT NULL,  -- sites from a user's seed
    seed_id INTEGER NOT NULL,  -- the seed whose party has found it
    referrer BLOB DEFAULT x'' NOT NULL,  -- page.url_hash of the page where it was found
    guest INTEGER DEFAULT 0 NOT NULL  -- 1: for guests at the site, whose row has the key 'guest ' and that of the site; 2: pushed
) STRICT;
CREATE INDEX inbox_key_hash ON inbox (key_hash);

CREATE TABLE outbox (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    machine_id INTEGER NOT NULL,  -- the machine that has found it, and sends it by its communicator
    key_hash BLOB NOT NULL,  -- as in inbox, and all others; the row goes when the receiver has acknowledged it ...
    url TEXT NOT NULL,  -- ... or into the inbox of its site, where no other machine owns that
    depth INTEGER NOT NULL,
    hops INTEGER NOT NULL,
    seed_id INTEGER NOT NULL,
    referrer BLOB DEFAULT x'' NOT NULL  -- page.url_hash of the page where it was found
) STRICT;
CREATE INDEX outbox_machine_id ON outbox (machine_id);

CREATE TABLE server (
    address TEXT NOT NULL,  -- IP address
    machine_id INTEGER NOT NULL,  -- with delay_per_ip: the machine that may ask it next, or was the last to ask ...
    next_due_at INTEGER NOT NULL,  -- ... and when any other one may
    PRIMARY KEY (address)
) WITHOUT ROWID,
 STRICT;
CREATE INDEX server_next_due_at ON server (next_due_at);

CREATE TABLE server_place (
    address TEXT NOT NULL,  -- IP address; empty: the machine lives alone, and holds what it likes anywhere
    machine_id INTEGER NOT NULL,  -- 0: the row that is locked while shares are told
    places INTEGER NOT NULL,  -- requests that it may have in flight there, of per_ip in all
    PRIMARY KEY (address, machine_id)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE errand (
    site_id INTEGER NOT NULL,  -- a site that one machine has in work, and of whose host another one wants something
    url TEXT NOT NULL,  -- what it wants, on behalf of a site of its own
    machine_id INTEGER NOT NULL,  -- the one that wants it; 0: it has asked, and the owner of the site goes on after `ends_at`
    lent_at INTEGER NOT NULL,  -- from when on it may ask: the owner asks nothing from then on until `ends_at`; 0: not yet
    ends_at INTEGER NOT NULL,  -- after this the row counts no more, whatever has become of either machine
    PRIMARY KEY (site_id)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE machine (
    id INTEGER NOT NULL,
    name TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process TEXT NOT NULL,  -- tells on its own host whether it still runs: boot id, pid namespace, pid, start time
    state TEXT NOT NULL,  -- running, paused, stopping, stopped, dead
    wanted TEXT DEFAULT 'run' NOT NULL,  -- what it is told to do: run, pause, stop, drain, remove
    launched_at INTEGER NOT NULL,  -- when the command that started it began
    started_at INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,  -- its lease on the sites it owns counts from here
    memory INTEGER DEFAULT 0 NOT NULL,  -- resident bytes at the last heartbeat
    checkpoints INTEGER DEFAULT 0 NOT NULL,  -- committed by it; tells a repeated commit from a new one
    pages INTEGER DEFAULT 0 NOT NULL,  -- committed by it, result fetched
    bytes INTEGER DEFAULT 0 NOT NULL,  -- of the page rows committed by it
    errors INTEGER DEFAULT 0 NOT NULL,  -- page rows not fetched, redirect, not-modified, unwanted-type or trap
    refused INTEGER DEFAULT 0 NOT NULL,  -- page rows of deltas that were refused: their sites were taken over
    uncommitted INTEGER DEFAULT 0 NOT NULL,  -- records in its files that were never committed, cut off or kept as orphans: fetched again
    capacity INTEGER DEFAULT 0 NOT NULL,  -- seeds that it can hold, as it said with its last heartbeat; 0: not yet
    urls_left INTEGER DEFAULT 0 NOT NULL,  -- URLs that its sites have left, as told while there is no delay; 0: not told
    kept_open_by TEXT DEFAULT '' NOT NULL,  -- why the crawl was not over when it last looked; empty: it has not looked
    agent TEXT DEFAULT '' NOT NULL,  -- its identifier, which a consistent partition is made from; kept when it starts anew
    weight INTEGER DEFAULT 1 NOT NULL,  -- how much of the crawl it takes, compared with the others
    sent INTEGER DEFAULT 0 NOT NULL,  -- URLs that it has put into inboxes, or into its outbox
    received INTEGER DEFAULT 0 NOT NULL,  -- URLs that it has taken out of inboxes, or that receivers have acknowledged: sent less that waits
    reopened INTEGER DEFAULT 0 NOT NULL,  -- parties that had ended, and that it let go on for URLs in their inboxes
    dropped INTEGER DEFAULT 0 NOT NULL,  -- external URLs that it has forgotten, as mode drop or max_candidates wants
    carried INTEGER DEFAULT 0 NOT NULL,  -- URLs that other machines have acknowledged to its communicator; counted as received as well
    address TEXT DEFAULT '' NOT NULL,  -- where its communicator listens, as tcp://host:port; empty: it has none
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX machine_state ON machine (state);

CREATE TABLE machine_statistics (
    machine_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    requests INTEGER NOT NULL,  -- since the machine started, as all of these
    pages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    queued INTEGER NOT NULL,  -- seeds in its Seed ID Queue
    PRIMARY KEY (machine_id, at)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE thread_statistics (
    machine_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    thread INTEGER NOT NULL,  -- number of the URL Collector, from 0
    seeds_held INTEGER NOT NULL,
    PRIMARY KEY (machine_id, at, thread)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE promotion (
    id INTEGER NOT NULL,
    promoted_at INTEGER NOT NULL,
    what TEXT NOT NULL,  -- JSON: what was promoted, as it was asked for
    after_seed INTEGER DEFAULT 0 NOT NULL,  -- seed.id of the newest seed before it: its own come later
    undone_at INTEGER DEFAULT 0 NOT NULL,  -- 0: it holds
    PRIMARY KEY (id)
) STRICT;

CREATE TABLE slot_table (
    kind TEXT NOT NULL,  -- of partition: dynamic, modulo, subsite
    version INTEGER NOT NULL,  -- counts its changes; one that was made from an earlier version is refused
    machines TEXT NOT NULL,  -- JSON: id -> weight of those among whom the slots are divided
    slots TEXT NOT NULL,  -- JSON: the machine.id of each slot, 0: nobody's; a site's slot follows from its key
    PRIMARY KEY (kind)
) WITHOUT ROWID,
 STRICT;

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

CREATE TABLE processor (
    name TEXT NOT NULL,  -- of page processors that work together, with commas between them
    cursor_page INTEGER NOT NULL,  -- they have had all rows of page up to this id ...
    gaps TEXT NOT NULL,  -- ... but for these, JSON: [first, last] of ids that were not committed yet
    pages INTEGER DEFAULT 0 NOT NULL,  -- given to them
    items INTEGER DEFAULT 0 NOT NULL,  -- that they made
    errors INTEGER DEFAULT 0 NOT NULL,  -- pages at which one of them failed: their items were left out
    items_file TEXT NOT NULL,  -- path of the file with the items, or table:NAME of this database; empty: none
    items_bytes INTEGER DEFAULT 0 NOT NULL,  -- of that file which are committed (a killed process wrote what follows); rows of that table
    version INTEGER DEFAULT 0 NOT NULL,  -- counts commits, and who begins: what an earlier process still commits is refused
    PRIMARY KEY (name)
) WITHOUT ROWID,
 STRICT;

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

CREATE TABLE revisit_demand (
    site_id INTEGER NOT NULL,  -- whose URLs; 0: of all sites, as one machine has counted them
    machine_id INTEGER NOT NULL,  -- which machine has counted them; 0: before any ran, or for a site
    cell INTEGER NOT NULL,  -- how often they change, and what they weigh: see scrawler/features/revisit/policies/demand.py
    pages INTEGER NOT NULL,  -- so many more than before; of one machine it may be below 0: others have counted them first
    PRIMARY KEY (site_id, machine_id, cell)
) WITHOUT ROWID,
 STRICT;

CREATE TABLE url_change (
    id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    seed_id INTEGER NOT NULL,
    url_hash BLOB NOT NULL,
    url TEXT NOT NULL,
    kind TEXT NOT NULL,  -- new, changed, failing, gone, back, moved
    visit INTEGER NOT NULL,  -- page.visit of the visit that has found it
    detail TEXT NOT NULL,  -- where it has moved
    distance INTEGER DEFAULT (-1) NOT NULL,  -- by how many of 64 bits the simhashes of old and new text differ; -1: not known
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX url_change_at ON url_change (at);
CREATE INDEX url_change_seed ON url_change (seed_id, at);

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

-- How many rows have the same values in the columns of an index: without it, SQLite would not go through parts.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('page', 'page_seed', '1048576 200');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('page', 'page_url_hash_in_parts', '1048576 262144 1');
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('candidate', 'candidate_url_hash_in_parts', '1048576 262144 131072 2');
ANALYZE sqlite_schema;

INSERT INTO schema_version (version, applied_at) VALUES (16, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
