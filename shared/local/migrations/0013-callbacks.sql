-- Addresses that are called for what happens to instances, with how the last calls went.
CREATE TABLE callbacks (env TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL, health BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
-- Instances with events that not all callbacks were told: those behind since, up to last. told is a JSON object of the last events that
-- callbacks were told, by their ids.
CREATE TABLE callback_pending (env TEXT NOT NULL, id TEXT NOT NULL, service TEXT NOT NULL, since INTEGER NOT NULL, last INTEGER NOT NULL,
	told BLOB NOT NULL, PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
