-- A record names all sets of its version. In a table without row ids a look-up reads the whole records that it comes by.
ALTER TABLE versions RENAME TO versions_by_key;
CREATE TABLE versions (
  env TEXT NOT NULL, number INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (env, number)
);
INSERT INTO versions SELECT env, number, record FROM versions_by_key;
DROP TABLE versions_by_key;
