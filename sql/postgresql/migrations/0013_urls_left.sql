-- SCrawler: from schema 12 to 13 for PostgreSQL 13+.
-- Each statement makes one thing. A program that was cut short in the midst of it begins anew and passes by what is
-- done already; so the number is written last.

-- Machines tell each other how many URLs their sites have left, where there is no delay.
ALTER TABLE machine ADD COLUMN urls_left BIGINT DEFAULT 0 NOT NULL;  -- URLs that its sites have left, as told while there is no delay; 0: not told

INSERT INTO schema_version (version, applied_at) VALUES (13, CAST(FLOOR(EXTRACT(EPOCH FROM statement_timestamp()) * 1000) AS BIGINT));
