-- What instances were at each of their versions, as it was written last.
CREATE TABLE instance_versions (env TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id, version)) STRICT, WITHOUT ROWID;
