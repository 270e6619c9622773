-- Lists of ids are stored in a form that programs before this cannot read.
ALTER TABLE leases RENAME COLUMN running TO runs;
ALTER TABLE checks RENAME COLUMN ids TO resources;
