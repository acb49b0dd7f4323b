-- Format 4: origins by path. Specified in docs/format/store.md; a change is a new file.

-- What a transcript saw is asked for by its path, of which a store has as many as it has transcripts.
CREATE INDEX origin_by_path ON origin (path, machine) WHERE path IS NOT NULL;
