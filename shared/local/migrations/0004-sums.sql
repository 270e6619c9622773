-- A checksum of each body: SQLite has none, and a flipped bit in it would be deployed.
ALTER TABLE bodies ADD COLUMN sum INTEGER;
