-- Format 6: what events are known by. Specified in docs/format/store.md; a change is a new file.

-- Hashes that callers give, so that what is said twice stands once.
CREATE TABLE event_key (
    ledger INTEGER NOT NULL,
    key BLOB NOT NULL,
    digest BLOB NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    until INTEGER,
    seal INTEGER,
    PRIMARY KEY (ledger, key)
) WITHOUT ROWID;
CREATE INDEX event_key_by_until ON event_key (until) WHERE until IS NOT NULL;
