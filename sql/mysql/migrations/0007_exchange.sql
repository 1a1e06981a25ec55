-- SCrawler: from schema 6 to 7 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- URLs of somebody else: they wait in the inboxes of their sites.
CREATE TABLE inbox (
    id BIGINT NOT NULL AUTO_INCREMENT,
    key_hash BINARY(16) NOT NULL,  -- site.key_hash of the URL's site, which may not be in the database yet
    url TEXT NOT NULL,  -- sent to the owner of the site; the row goes with the checkpoint that lists it
    depth INTEGER NOT NULL,  -- links from a user's seed, over all sites between
    hops INTEGER NOT NULL,  -- sites from a user's seed
    seed_id BIGINT NOT NULL,  -- the seed whose party has found it
    referrer VARBINARY(16) NOT NULL DEFAULT x'',  -- page.url_hash of the page where it was found
    PRIMARY KEY (id)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;
CREATE INDEX inbox_key_hash ON inbox (key_hash);

ALTER TABLE seed ADD COLUMN base_depth INTEGER NOT NULL DEFAULT 0;  -- links from a user's seed to its URL, where that came from another site
ALTER TABLE seed ADD COLUMN reopened INTEGER NOT NULL DEFAULT 0;  -- times that it went on after its end, for URLs from other sites

ALTER TABLE machine ADD COLUMN sent BIGINT NOT NULL DEFAULT 0;  -- URLs that it has put into inboxes
ALTER TABLE machine ADD COLUMN received BIGINT NOT NULL DEFAULT 0;  -- URLs that it has taken out of inboxes: of all machines, sent less received is what waits there
ALTER TABLE machine ADD COLUMN reopened BIGINT NOT NULL DEFAULT 0;  -- parties that had ended, and that it let go on for URLs in their inboxes
ALTER TABLE machine ADD COLUMN dropped BIGINT NOT NULL DEFAULT 0;  -- external URLs that it has forgotten, as mode drop wants

INSERT INTO schema_version (version, applied_at) VALUES (7, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
