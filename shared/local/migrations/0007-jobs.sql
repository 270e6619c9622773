-- Records of jobs: comparisons with reality that somebody waits for. Times are milliseconds since 1970.
CREATE TABLE jobs (env TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
