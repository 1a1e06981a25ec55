-- SCrawler: from schema 13 to 14 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- A database says which features keep rows in it, and so are needed by whoever crawls with it.
CREATE TABLE feature (
    name VARCHAR(64) NOT NULL,  -- of the room of a feature that keeps rows of its own in this database
    version INTEGER NOT NULL,  -- of its tables
    since BIGINT NOT NULL,  -- when a run first used it
    PRIMARY KEY (name)
) ENGINE=InnoDB CHARSET=utf8mb4 COLLATE utf8mb4_bin;

INSERT INTO schema_version (version, applied_at) VALUES (14, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
