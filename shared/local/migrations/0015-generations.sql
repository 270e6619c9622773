-- How often values were chosen for instances of a service by looking at what others have, as JSON.
CREATE TABLE service_generations (env TEXT NOT NULL, service TEXT NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (env, service)) STRICT, WITHOUT ROWID;
