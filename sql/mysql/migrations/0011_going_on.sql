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

INSERT INTO schema_version (version, applied_at) VALUES (11, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
