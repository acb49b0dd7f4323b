-- Format 5: sessions by their ids. Specified in docs/format/store.md; a change is a new file.

-- People type the first characters of an id. Ids that begin with a time share these: of such an id they type the last ones.
CREATE INDEX session_by_id ON session (session);
CREATE INDEX session_by_end ON session (substr(session, -4));
-- A list folds sessions that were placed and never used.
CREATE INDEX session_by_placed ON session (placed_from) WHERE placed_from IS NOT NULL;
