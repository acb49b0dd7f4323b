-- Format 2: packs, collection, tombstones, anchors. Specified in docs/format/store.md; a change is a new file.

-- Immutable files of blocks, in the folder `packs` beside the database.
CREATE TABLE pack (
    row INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    bytes INTEGER NOT NULL,
    made_at INTEGER NOT NULL
);
CREATE TABLE block (
    row INTEGER PRIMARY KEY,
    pack INTEGER NOT NULL,
    number INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    stored INTEGER NOT NULL,
    length INTEGER NOT NULL,
    coding INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    bases BLOB NOT NULL,
    low INTEGER NOT NULL,
    high INTEGER NOT NULL
);
CREATE INDEX block_by_pack ON block (pack, number);

-- Literal contents that moved from `content` into a block, under the row that they had there.
CREATE TABLE packed (
    row INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    length INTEGER NOT NULL,
    block INTEGER NOT NULL,
    offset INTEGER NOT NULL
);
CREATE INDEX packed_by_hash ON packed (substr(hash, 1, 8));

-- Marks, told apart by `kind`: what was forgotten, what is condemned, which files are to be removed.
CREATE TABLE mark (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    at INTEGER NOT NULL,
    by TEXT,
    seal INTEGER,
    PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- Hashes of entry and call ids, some of each chain, by which copies are found.
CREATE TABLE anchor (
    hash INTEGER NOT NULL,
    commit_row INTEGER NOT NULL,
    PRIMARY KEY (hash, commit_row)
) WITHOUT ROWID;

-- Rows up to these were looked at by packing, and are in packs where they are to be.
ALTER TABLE store ADD COLUMN packed_content INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN packed_commit INTEGER NOT NULL DEFAULT 0;

-- Checksums of rows that no hash covers. Rows of format 1 have none until they are written again.
ALTER TABLE origin ADD COLUMN seal INTEGER;
ALTER TABLE sighting ADD COLUMN seal INTEGER;
ALTER TABLE session ADD COLUMN seal INTEGER;
ALTER TABLE cursor ADD COLUMN seal INTEGER;
ALTER TABLE placement ADD COLUMN seal INTEGER;
ALTER TABLE link ADD COLUMN seal INTEGER;
ALTER TABLE annotation ADD COLUMN seal INTEGER;
