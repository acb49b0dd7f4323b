-- Format 3: ledgers of events. Specified in docs/format/store.md; a change is a new file.

-- Append-only logs, one row each, with where each of them is.
CREATE TABLE ledger (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last INTEGER NOT NULL,
    last_at INTEGER,
    root TEXT,
    compacted_at INTEGER,
    output_events INTEGER NOT NULL,
    output_bytes INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    seal INTEGER
);
CREATE UNIQUE INDEX ledger_by_id ON ledger (id);

-- By what else a ledger is found.
CREATE TABLE ledger_mark (
    mark TEXT PRIMARY KEY,
    ledger INTEGER NOT NULL,
    seal INTEGER
) WITHOUT ROWID;
CREATE INDEX ledger_mark_by_ledger ON ledger_mark (ledger);

-- Topics, senders, receivers and sessions, so that a row of an event is small.
CREATE TABLE name (
    row INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    seal INTEGER
);
CREATE UNIQUE INDEX name_by_text ON name (text);

-- With rows of its own: in a tree by place a payload of a thousand bytes would take a page of its own.
CREATE TABLE event (
    ledger INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    topic INTEGER NOT NULL,
    sender INTEGER NOT NULL,
    receiver INTEGER NOT NULL,
    session INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    replayable INTEGER NOT NULL,
    content INTEGER,
    text TEXT,
    data TEXT,
    metadata TEXT,
    hash BLOB,
    bytes INTEGER,
    seal INTEGER,
    PRIMARY KEY (ledger, seq)
);
-- Sender and receiver are there so that who looks for one of them in a topic reads no other's row.
CREATE INDEX event_by_topic ON event (ledger, topic, replayable, seq, sender, receiver);
CREATE INDEX event_by_session ON event (ledger, session, topic, replayable, seq);
-- Collection and forgetting ask whether a content is an event's line.
CREATE INDEX event_by_content ON event (content) WHERE content IS NOT NULL;

-- What a ledger let go of in a topic, and up to where nothing of it is left: of raw events, and of those for prompts.
CREATE TABLE receipt (
    ledger INTEGER NOT NULL,
    topic INTEGER NOT NULL,
    events INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    chain BLOB NOT NULL,
    through INTEGER NOT NULL,
    raw_through INTEGER NOT NULL,
    replayable_through INTEGER NOT NULL,
    seal INTEGER,
    PRIMARY KEY (ledger, topic)
) WITHOUT ROWID;

-- What reducers made of a ledger.
CREATE TABLE state (
    ledger INTEGER NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    through INTEGER NOT NULL,
    position TEXT,
    state TEXT NOT NULL,
    seal INTEGER,
    PRIMARY KEY (ledger, name)
) WITHOUT ROWID;

-- How far commits cover ledgers.
CREATE TABLE coverage (
    commit_row INTEGER NOT NULL,
    ledger INTEGER NOT NULL,
    through INTEGER NOT NULL,
    seal INTEGER,
    PRIMARY KEY (commit_row, ledger)
) WITHOUT ROWID;
CREATE INDEX coverage_by_ledger ON coverage (ledger, through);
