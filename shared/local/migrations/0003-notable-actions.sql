-- How many actions of a row changed something or did not go well: most checks find nothing, and are looked for seldom.
ALTER TABLE actions ADD COLUMN notable INTEGER NOT NULL DEFAULT 1;
