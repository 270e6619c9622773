CREATE TABLE envs (
  name TEXT PRIMARY KEY, rev INTEGER NOT NULL, plan_seq INTEGER NOT NULL, halted INTEGER NOT NULL, record TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE agents (
  env TEXT NOT NULL, name TEXT NOT NULL, record TEXT, paused INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (env, name)
) WITHOUT ROWID;
CREATE TABLE leases (
  env TEXT NOT NULL, key TEXT NOT NULL, holder TEXT NOT NULL, fence INTEGER NOT NULL, until INTEGER NOT NULL,
  runs TEXT NOT NULL DEFAULT '', wave INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (env, key)
) WITHOUT ROWID;
CREATE TABLE row_changes (env TEXT NOT NULL, n INTEGER NOT NULL, ids BLOB, PRIMARY KEY (env, n)) STRICT, WITHOUT ROWID;
CREATE TABLE changes (env TEXT NOT NULL, n INTEGER NOT NULL, kinds INTEGER NOT NULL, ids BLOB NOT NULL,
	PRIMARY KEY (env, n)) STRICT, WITHOUT ROWID;
CREATE TABLE counts (
  env TEXT NOT NULL, lane TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (env, lane, type, status)
) WITHOUT ROWID;
CREATE TABLE checks (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, lane TEXT NOT NULL, epoch INTEGER NOT NULL, resources TEXT NOT NULL
);
CREATE INDEX checks_lane ON checks (env, lane, epoch);
CREATE TABLE outbox (env TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (env, id)) WITHOUT ROWID;
CREATE TABLE actions (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, oldest INTEGER NOT NULL, finished INTEGER NOT NULL,
  resources TEXT NOT NULL, record BLOB NOT NULL
, notable INTEGER NOT NULL DEFAULT 1);
CREATE INDEX actions_last ON actions (env, last);
CREATE TABLE parameters (
  env TEXT NOT NULL, of TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (env, of, name)
) WITHOUT ROWID;
CREATE TABLE parameter_changes (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, of TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, record TEXT NOT NULL
);
CREATE INDEX parameter_changes_name ON parameter_changes (env, name, of);
CREATE TABLE resources (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, lane TEXT NOT NULL, ticket INTEGER NOT NULL,
  next_at INTEGER NOT NULL, checked INTEGER NOT NULL, status TEXT NOT NULL,
  compliance TEXT NOT NULL, last_run TEXT NOT NULL, blocked TEXT NOT NULL, why TEXT NOT NULL, set_name TEXT NOT NULL, state BLOB NOT NULL, sum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX resources_id ON resources (env, id);
CREATE INDEX resources_status ON resources (env, status, id);
CREATE INDEX resources_set ON resources (env, set_name, status, id) WHERE set_name <> '';
CREATE INDEX resources_lane ON resources (env, lane);
CREATE INDEX resources_scheduled ON resources (env, lane, id, ticket) WHERE ticket <> 0;
CREATE INDEX resources_due ON resources (env, next_at) WHERE next_at > 0;
CREATE TABLE intents (k INTEGER PRIMARY KEY, body BLOB NOT NULL, sum INTEGER NOT NULL) STRICT;
CREATE TABLE kept (env TEXT NOT NULL, id TEXT NOT NULL, rev TEXT NOT NULL, outputs TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT;
CREATE TABLE jobs (env TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, expires INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE TABLE instances (env TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, service TEXT NOT NULL, state TEXT NOT NULL,
	identity TEXT, deleted INTEGER NOT NULL, closed INTEGER NOT NULL, created INTEGER NOT NULL, due INTEGER, events INTEGER NOT NULL,
	version INTEGER NOT NULL, updated INTEGER NOT NULL, name TEXT NOT NULL, sets INTEGER NOT NULL, terms TEXT NOT NULL,
	body BLOB NOT NULL, PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX instances_identity ON instances (env, service, identity) WHERE identity IS NOT NULL;
CREATE INDEX instances_created ON instances (env, service, created, id);
CREATE INDEX instances_state ON instances (env, service, deleted, state, created, id, version);
CREATE INDEX instances_updated ON instances (env, service, deleted, updated, created, id, state, name, sets);
CREATE INDEX instances_all ON instances (env, created, id);
CREATE INDEX instances_due ON instances (env, due, id) WHERE due IS NOT NULL;
CREATE TABLE instance_terms (env TEXT NOT NULL, term TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (env, term, id)) STRICT, WITHOUT ROWID;
CREATE TABLE instance_refs (env TEXT NOT NULL, target TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (env, target, id)) STRICT, WITHOUT ROWID;
CREATE INDEX instance_refs_from ON instance_refs (env, id);
CREATE TABLE instance_events (env TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE instance_texts (env TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX instance_texts_at ON instance_texts (env, at);
CREATE TABLE definitions (env TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, usual INTEGER NOT NULL, digest TEXT NOT NULL,
	PRIMARY KEY (env, name, version)) STRICT, WITHOUT ROWID;
CREATE TABLE definition_texts (env TEXT NOT NULL, digest TEXT NOT NULL, bundle TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, digest)) STRICT, WITHOUT ROWID;
CREATE TABLE definition_bundles (env TEXT NOT NULL PRIMARY KEY, bundle TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE instance_versions (env TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id, version)) STRICT, WITHOUT ROWID;
CREATE TABLE orders (env TEXT NOT NULL, id TEXT NOT NULL, created INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE INDEX orders_created ON orders (env, created, id);
CREATE TABLE callbacks (env TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, health BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE TABLE callback_pending (env TEXT NOT NULL, id TEXT NOT NULL, service TEXT NOT NULL, since INTEGER NOT NULL, last INTEGER NOT NULL,
	told BLOB NOT NULL, PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE TABLE versions (
  env TEXT NOT NULL, number INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (env, number)
);
CREATE TABLE service_generations (env TEXT NOT NULL, service TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, service)) STRICT, WITHOUT ROWID;
CREATE TABLE version_sets (env TEXT NOT NULL, name TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER,
	PRIMARY KEY (env, name, since)) STRICT, WITHOUT ROWID;
CREATE INDEX version_sets_gone ON version_sets (env, until) WHERE until IS NOT NULL;
CREATE TABLE definition_models (env TEXT NOT NULL, bundle TEXT NOT NULL, number INTEGER NOT NULL,
	PRIMARY KEY (env, bundle)) STRICT, WITHOUT ROWID;
CREATE TABLE audit (env TEXT NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
