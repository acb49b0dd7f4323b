-- Format 1. Specified in docs/format/store.md; a change is a new file, never an edit of this one.

CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    read_version INTEGER NOT NULL,
    write_version INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    secret BLOB NOT NULL
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
    template_alias TEXT
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
    PRIMARY KEY (path, machine)
) WITHOUT ROWID;
CREATE INDEX session_by_last ON session (last_at DESC, path, machine);

CREATE TABLE cursor (
    path TEXT NOT NULL,
    machine TEXT NOT NULL,
    value BLOB NOT NULL,
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
    PRIMARY KEY (path, machine)
) WITHOUT ROWID;

CREATE TABLE link (
    source INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    target INTEGER NOT NULL,
    entry TEXT NOT NULL,
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
    PRIMARY KEY (commit_row, kind, number)
) WITHOUT ROWID;
CREATE INDEX annotation_tags ON annotation (text) WHERE kind = 1;
