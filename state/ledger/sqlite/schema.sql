-- Times are µs since 1970 UTC. A row with done IS NULL is a claim.
CREATE TABLE IF NOT EXISTS junction_ledger (
	key         TEXT NOT NULL PRIMARY KEY,
	fingerprint TEXT NOT NULL,
	receipt     TEXT NOT NULL,
	owner       TEXT NOT NULL,
	claims      INTEGER NOT NULL,
	executions  INTEGER NOT NULL,
	result      TEXT,
	claimed     INTEGER NOT NULL,
	until       INTEGER NOT NULL,
	done        INTEGER,
	expires     INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS junction_ledger_expires ON junction_ledger (expires);
