-- Format 5, in one step. Specified in docs/format/store.md; a change is a new file.

CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    read_version INTEGER NOT NULL,
    write_version INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    secret BLOB NOT NULL,
    packed_content INTEGER NOT NULL DEFAULT 0,
    packed_commit INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE content (
    row INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    length INTEGER NOT NULL,
    coding INTEGER NOT NULL,
    dictionary INTEGER,
    referred INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE INDEX content_by_hash ON content (substr(hash, 1, 8));

CREATE TABLE kind (
    row INTEGER PRIMARY KEY,
    format TEXT NOT NULL,
    template TEXT NOT NULL,
    rules BLOB NOT NULL
);

CREATE TABLE commits (
    row INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    parent INTEGER,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tip INTEGER NOT NULL,
    artifact INTEGER NOT NULL,
    native INTEGER,
    created_at INTEGER NOT NULL,
    origin INTEGER,
    figures BLOB NOT NULL
);
CREATE INDEX commits_by_id ON commits (substr(id, 1, 8));
-- A chain that one writer stores row after row needs no entry: its next commit is the next row.
CREATE INDEX commits_by_parent ON commits (parent) WHERE parent <> row - 1;
CREATE INDEX commits_tips ON commits (created_at DESC, id) WHERE tip = 1;

CREATE TABLE origin (
    row INTEGER PRIMARY KEY,
    principal TEXT NOT NULL,
    machine TEXT NOT NULL,
    session TEXT NOT NULL,
    path TEXT,
    ticket TEXT,
    thread TEXT,
    template_alias TEXT,
    seal INTEGER
);
CREATE INDEX origin_by_session ON origin (session, machine);
CREATE INDEX origin_by_principal ON origin (principal);
CREATE INDEX origin_by_ticket ON origin (ticket) WHERE ticket IS NOT NULL;
CREATE INDEX origin_by_thread ON origin (thread) WHERE thread IS NOT NULL;

CREATE TABLE sighting (
    origin INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    commit_row INTEGER NOT NULL,
    trigger INTEGER NOT NULL,
    observed_at INTEGER NOT NULL,
    offset INTEGER,
    length INTEGER,
    seal INTEGER,
    PRIMARY KEY (origin, created_at, commit_row)
) WITHOUT ROWID;
CREATE TABLE sighting_more (
    commit_row INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    PRIMARY KEY (commit_row, origin)
) WITHOUT ROWID;

CREATE TABLE session (
    path TEXT NOT NULL,
    machine TEXT NOT NULL,
    session TEXT NOT NULL,
    parent_session TEXT,
    format TEXT NOT NULL,
    template TEXT NOT NULL,
    principal TEXT NOT NULL,
    granularity INTEGER NOT NULL,
    came INTEGER NOT NULL,
    placed_from BLOB,
    title TEXT,
    cwd TEXT,
    git_branch TEXT,
    version TEXT,
    started_at INTEGER,
    last_at INTEGER,
    tip BLOB,
    commits INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    seal INTEGER,
    PRIMARY KEY (path, machine)
) WITHOUT ROWID;
CREATE INDEX session_by_last ON session (last_at DESC, path, machine);

CREATE TABLE cursor (
    path TEXT NOT NULL,
    machine TEXT NOT NULL,
    value BLOB NOT NULL,
    seal INTEGER,
    PRIMARY KEY (path, machine)
) WITHOUT ROWID;

CREATE TABLE placement (
    path TEXT NOT NULL,
    machine TEXT NOT NULL,
    session TEXT NOT NULL,
    ctx BLOB NOT NULL,
    taken_bytes INTEGER NOT NULL,
    placed_bytes INTEGER NOT NULL,
    keyed_hash BLOB NOT NULL,
    placed_at INTEGER NOT NULL,
    seal INTEGER,
    PRIMARY KEY (path, machine)
) WITHOUT ROWID;

CREATE TABLE link (
    source INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    target INTEGER NOT NULL,
    entry TEXT NOT NULL,
    seal INTEGER,
    PRIMARY KEY (source, kind, target, entry)
) WITHOUT ROWID;
CREATE INDEX link_by_target ON link (target);

-- Summaries, tags, notes, pins and the trail of their changes, told apart by `kind`.
CREATE TABLE annotation (
    commit_row INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    change INTEGER,
    text TEXT,
    source INTEGER,
    seal INTEGER,
    PRIMARY KEY (commit_row, kind, number)
) WITHOUT ROWID;
CREATE INDEX annotation_tags ON annotation (text) WHERE kind = 1;

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

-- What a transcript saw is asked for by its path, of which a store has as many as it has transcripts.
CREATE INDEX origin_by_path ON origin (path, machine) WHERE path IS NOT NULL;

-- People type the first characters of an id. Ids that begin with a time share these: of such an id they type the last ones.
CREATE INDEX session_by_id ON session (session);
CREATE INDEX session_by_end ON session (substr(session, -4));
-- A list folds sessions that were placed and never used.
CREATE INDEX session_by_placed ON session (placed_from) WHERE placed_from IS NOT NULL;
