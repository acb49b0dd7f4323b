-- Format 2. Specified in docs/format/index.md. An index of another format is made again.

CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    format INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    through INTEGER NOT NULL,
    through_id BLOB,
    epoch INTEGER NOT NULL,
    unclean INTEGER NOT NULL
);

CREATE TABLE segment (
    base INTEGER PRIMARY KEY,
    family INTEGER NOT NULL,
    span INTEGER NOT NULL,
    made INTEGER NOT NULL,
    length INTEGER NOT NULL,
    minute_first INTEGER,
    minute_last INTEGER
);
CREATE TABLE chunk (
    row INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    first BLOB NOT NULL,
    part INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE UNIQUE INDEX chunk_by_first ON chunk (segment, first, part);
CREATE TABLE columns (
    row INTEGER PRIMARY KEY,
    segment INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE UNIQUE INDEX columns_by_kind ON columns (segment, kind);

CREATE TABLE entry (key INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE grp (row INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, runs BLOB NOT NULL);

CREATE TABLE occurrence (
    row INTEGER PRIMARY KEY,
    stored INTEGER NOT NULL,
    since INTEGER NOT NULL,
    id BLOB NOT NULL,
    parent BLOB,
    state INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER,
    shared INTEGER NOT NULL,
    grp INTEGER,
    tail INTEGER,
    runs BLOB NOT NULL
);
CREATE UNIQUE INDEX occurrence_by_stored ON occurrence (stored);
CREATE INDEX occurrence_by_id ON occurrence (substr(id, 1, 8));
CREATE INDEX occurrence_open ON occurrence (parent) WHERE state = 1;
CREATE INDEX occurrence_shared ON occurrence (row) WHERE shared = 1;
CREATE TABLE entry_more (number INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (number, row)) WITHOUT ROWID;

CREATE TABLE place (
    row INTEGER PRIMARY KEY,
    machine TEXT NOT NULL,
    path TEXT NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    cwd TEXT,
    branch TEXT,
    events INTEGER NOT NULL,
    runs BLOB NOT NULL
);
CREATE UNIQUE INDEX place_by_key ON place (machine, path);
CREATE TABLE place_more (
    place INTEGER NOT NULL,
    row INTEGER NOT NULL,
    runs BLOB NOT NULL,
    PRIMARY KEY (place, row)
) WITHOUT ROWID;

CREATE TABLE author (row INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, first INTEGER NOT NULL);
CREATE TABLE event (number INTEGER PRIMARY KEY, ledger INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE TABLE ledger (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, through INTEGER NOT NULL, epoch INTEGER NOT NULL);
