-- Instances of services: records with what they are found by, what refers to what, and what has happened. Times are microseconds since 1970.
-- due is NULL where nothing is to be done, identity where there is none or the instance is deleted.
CREATE TABLE instances (env TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, service TEXT NOT NULL, state TEXT NOT NULL,
	identity TEXT, deleted INTEGER NOT NULL, closed INTEGER NOT NULL, created INTEGER NOT NULL, due INTEGER, events INTEGER NOT NULL,
	body BLOB NOT NULL, PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX instances_identity ON instances (env, service, identity) WHERE identity IS NOT NULL;
CREATE INDEX instances_created ON instances (env, service, created, id);
CREATE INDEX instances_all ON instances (env, created, id);
CREATE INDEX instances_due ON instances (env, due, id) WHERE due IS NOT NULL;
CREATE TABLE instance_refs (env TEXT NOT NULL, target TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (env, target, id)) STRICT, WITHOUT ROWID;
CREATE INDEX instance_refs_from ON instance_refs (env, id);
CREATE TABLE instance_events (env TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id, seq)) STRICT, WITHOUT ROWID;
