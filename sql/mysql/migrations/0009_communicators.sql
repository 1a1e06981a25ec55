-- SCrawler: from schema 8 to 9 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.

-- What a machine sends to the owners of sites by a communicator, until they have acknowledged it.
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

ALTER TABLE machine ADD COLUMN carried BIGINT NOT NULL DEFAULT 0;  -- URLs that other machines have acknowledged to its communicator; counted as received as well
ALTER TABLE machine ADD COLUMN address VARCHAR(255) NOT NULL DEFAULT '';  -- where its communicator listens, as tcp://host:port; empty: it has none

INSERT INTO schema_version (version, applied_at) VALUES (9, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
