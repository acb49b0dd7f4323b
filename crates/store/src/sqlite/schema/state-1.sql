-- Version 1 of a service's state. Specified in docs/format/service-state.md; a change is a new file.

CREATE TABLE about (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    read_version INTEGER NOT NULL,
    write_version INTEGER NOT NULL
);

CREATE TABLE token (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    label TEXT NOT NULL,
    principal TEXT NOT NULL,
    scopes INTEGER NOT NULL,
    projects TEXT NOT NULL,
    sessions TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    once INTEGER NOT NULL,
    used_at INTEGER,
    revoked_at INTEGER
) WITHOUT ROWID;

CREATE TABLE access_grant (
    reader TEXT NOT NULL,
    whose TEXT NOT NULL,
    granted_at INTEGER NOT NULL,
    until INTEGER,
    PRIMARY KEY (reader, whose)
) WITHOUT ROWID;

CREATE TABLE pointer (
    key TEXT PRIMARY KEY,
    target BLOB NOT NULL,
    set_at INTEGER NOT NULL,
    by TEXT NOT NULL
) WITHOUT ROWID;

-- The number of the newest claim of any job.
CREATE TABLE job_claim (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
);
INSERT INTO job_claim (one, last) VALUES (1, 0);

CREATE TABLE job (
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    state INTEGER NOT NULL,
    claim INTEGER NOT NULL,
    again INTEGER NOT NULL,
    added_at INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL,
    backoff_ms INTEGER NOT NULL,
    budget TEXT,
    attempts INTEGER NOT NULL,
    spent TEXT NOT NULL,
    holder TEXT,
    begun_at INTEGER,
    leased_until INTEGER,
    ended_at INTEGER,
    error TEXT,
    PRIMARY KEY (kind, subject)
) WITHOUT ROWID;
-- Looked through for work: few jobs wait or run, many have ended.
CREATE INDEX job_open ON job (not_before) WHERE state < 2;
CREATE INDEX job_ended ON job (ended_at) WHERE state >= 2;

CREATE TABLE audit (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    principal TEXT NOT NULL,
    operation TEXT NOT NULL,
    whose TEXT,
    target TEXT NOT NULL,
    outcome INTEGER NOT NULL,
    detail TEXT,
    request TEXT
);
CREATE INDEX audit_by_principal ON audit (principal, number);
CREATE INDEX audit_by_operation ON audit (operation, number);
