-- How servers fared, minute by minute. The table came after schema 1 and is made
-- when a file without it is opened; a program that does not know it does no harm.
CREATE TABLE health (
  server     TEXT    NOT NULL,
  minute     INTEGER NOT NULL, -- Unix s
  capability TEXT    NOT NULL,
  worker     TEXT    NOT NULL,
  data       TEXT    NOT NULL, -- JSON
  PRIMARY KEY (server, minute, capability, worker)
) STRICT, WITHOUT ROWID;
CREATE INDEX health_by_time ON health (minute);
