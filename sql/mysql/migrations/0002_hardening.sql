-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN IF NOT EXISTS slowest_ms BIGINT DEFAULT 0 NOT NULL;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED));
