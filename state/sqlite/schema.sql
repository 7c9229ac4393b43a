-- One row a thread, with its lease. t is never used again.
CREATE TABLE threads (
  t          INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT    NOT NULL UNIQUE,
  status     TEXT    NOT NULL,
  head       INTEGER NOT NULL,
  step       INTEGER NOT NULL,
  cancel     INTEGER NOT NULL DEFAULT 0, -- 1: asked to stop; 2: cleared by an acquisition, and no status recorded since
  updated    INTEGER NOT NULL,            -- Unix time in ns
  write_id   TEXT    NOT NULL DEFAULT '', -- of the newest commit
  token      INTEGER NOT NULL DEFAULT 0,  -- of the newest acquisition
  held       INTEGER NOT NULL DEFAULT 0,
  granted    INTEGER NOT NULL DEFAULT 0,  -- when the lease's time began, Unix ns
  ttl        INTEGER NOT NULL DEFAULT 0,  -- ns
  owner      TEXT    NOT NULL DEFAULT '',
  pid        INTEGER NOT NULL DEFAULT 0,
  started    TEXT    NOT NULL DEFAULT '', -- the owner process's start time
  world      TEXT    NOT NULL DEFAULT '', -- boot id and pid namespace in which the pid means something
  created    INTEGER NOT NULL,
  workflow   TEXT    NOT NULL,
  version    TEXT    NOT NULL,
  definition TEXT    NOT NULL,
  lineage    TEXT    NOT NULL,
  failure    TEXT,                        -- JSON
  meta       TEXT                         -- JSON
) STRICT;

-- The last fencing token given.
CREATE TABLE tokens (last INTEGER NOT NULL) STRICT;
INSERT INTO tokens VALUES (0);

-- One row a checkpoint, under t·2³² + seq. The columns stand in the order in
-- which reads stop needing the row: a log is read over many rows, a head or a
-- last value from one.
CREATE TABLE commits (
  id   INTEGER PRIMARY KEY,
  logs BLOB, -- framed: appended items by channel
  head TEXT NOT NULL, -- JSON
  vals BLOB  -- framed: last values by channel
) STRICT;

-- What the superstep under way has reached; emptied by its commit.
CREATE TABLE writes (
  t INTEGER NOT NULL, task TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (t, task)
) STRICT, WITHOUT ROWID;
CREATE TABLE interrupts (
  t INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL,
  answer BLOB, answered INTEGER,
  PRIMARY KEY (t, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE results (
  t INTEGER NOT NULL, r INTEGER NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY (t, r)
) STRICT, WITHOUT ROWID;

CREATE TABLE records (
  r INTEGER PRIMARY KEY,
  t INTEGER NOT NULL, seq INTEGER NOT NULL, hop TEXT NOT NULL, round INTEGER NOT NULL, attempt INTEGER NOT NULL,
  server TEXT NOT NULL, started INTEGER NOT NULL, open INTEGER NOT NULL,
  data TEXT NOT NULL,
  UNIQUE (t, seq, hop, round, attempt)
) STRICT;
CREATE INDEX records_by_time ON records (started, server);

CREATE TABLE sessions (
  t INTEGER NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL,
  PRIMARY KEY (t, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE blobs (
  t INTEGER NOT NULL, hash TEXT NOT NULL, data BLOB NOT NULL, -- state.Squeeze
  PRIMARY KEY (t, hash)
) STRICT, WITHOUT ROWID;
