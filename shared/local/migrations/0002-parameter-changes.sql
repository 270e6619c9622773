-- What became of parameters and facts, by the order in which it happened.
CREATE TABLE parameter_changes (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, of TEXT NOT NULL, name TEXT NOT NULL, at INTEGER NOT NULL, record TEXT NOT NULL
);
CREATE INDEX parameter_changes_name ON parameter_changes (env, name, of);
