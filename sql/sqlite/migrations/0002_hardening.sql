-- What a site taken from a dead machine waits for.
ALTER TABLE site ADD COLUMN slowest_ms INTEGER DEFAULT 0 NOT NULL;  -- its slowest answer; 0: none. Asked by a dead machine, it may answer that late

INSERT INTO schema_version (version, applied_at) VALUES (2, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
