-- Orders of several instances of services. Times are microseconds since 1970.
CREATE TABLE orders (env TEXT NOT NULL, id TEXT NOT NULL, created INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, id)) STRICT, WITHOUT ROWID;
CREATE INDEX orders_created ON orders (env, created, id);
