-- SCrawler: from schema 4 to 5 for MySQL 8 and MariaDB 10.6+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already (no IF EXISTS: MySQL has none for columns); so the number is written last.
-- The number rises with the lines of chunks as well: they tell the referrer, which the version before cannot read.

ALTER TABLE page ADD COLUMN referrer VARBINARY(16) NOT NULL DEFAULT x'';  -- url_hash of the page that listed the URL first; empty: none did, or the version before did not say it
ALTER TABLE candidate ADD COLUMN referrer VARBINARY(16) NOT NULL DEFAULT x'';  -- page.url_hash of the page where it was first found; empty: the version before did not say it

ALTER TABLE seed ADD COLUMN columns TEXT;  -- JSON: further columns of its line in the seed file, 16,000 characters; NULL: none

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

INSERT INTO schema_version (version, applied_at) VALUES (5, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
