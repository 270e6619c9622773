-- Definitions of services: which one each version of a service has, all of them by their digests with the model bundle that they belong to,
-- and the bundle that was exported last.
CREATE TABLE definitions (env TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, usual INTEGER NOT NULL, digest TEXT NOT NULL,
	PRIMARY KEY (env, name, version)) STRICT, WITHOUT ROWID;
CREATE TABLE definition_texts (env TEXT NOT NULL, digest TEXT NOT NULL, bundle TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, digest)) STRICT, WITHOUT ROWID;
CREATE TABLE definition_bundles (env TEXT NOT NULL PRIMARY KEY, bundle TEXT NOT NULL) STRICT, WITHOUT ROWID;
