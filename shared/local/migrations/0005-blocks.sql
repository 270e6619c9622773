-- Rows stand in blocks, in the order of their ids: what a block says of its rows, and apart from that what they want, since results never change
-- it. A block holds the ids from its own first to that of the next block; the first block of an environment begins with "". What is due next in a block
-- has a column, and the lanes of its rows a table. After these statements the rows are moved here, and the old tables dropped.
CREATE TABLE blocks (
  k INTEGER PRIMARY KEY, env TEXT NOT NULL, first TEXT NOT NULL, due INTEGER NOT NULL, rows BLOB NOT NULL
);
CREATE UNIQUE INDEX blocks_first ON blocks (env, first);
CREATE INDEX blocks_due ON blocks (env, due) WHERE due > 0;
CREATE TABLE block_bodies (k INTEGER PRIMARY KEY, bodies BLOB NOT NULL);
CREATE TABLE block_lanes (
  env TEXT NOT NULL, lane TEXT NOT NULL, k INTEGER NOT NULL, scheduled INTEGER NOT NULL, PRIMARY KEY (env, lane, k)
) WITHOUT ROWID;
CREATE INDEX block_lanes_scheduled ON block_lanes (env, lane, k) WHERE scheduled;
