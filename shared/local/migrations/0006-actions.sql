-- The resources of actions are found by hashes of their ids now; in rows from before, ids in full stand there. The actions themselves are
-- encoded in fewer bytes, which programs before this cannot read.
ALTER TABLE actions RENAME COLUMN ids TO resources;
