-- The bundles that are kept of an environment besides those that definitions belong to: number counts
-- the exports of its services.
CREATE TABLE definition_models (env TEXT NOT NULL, bundle TEXT NOT NULL, number INTEGER NOT NULL,
	PRIMARY KEY (env, bundle)) STRICT, WITHOUT ROWID;
INSERT INTO definition_models SELECT env, bundle, 1 FROM definition_bundles;
