-- Which versions have which resource sets: from one up to another, which has it no more; NULL: the
-- last version has it. Records of versions from before have their sets in themselves.
CREATE TABLE version_sets (env TEXT NOT NULL, name TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER,
	PRIMARY KEY (env, name, since)) STRICT, WITHOUT ROWID;
CREATE INDEX version_sets_gone ON version_sets (env, until) WHERE until IS NOT NULL;
