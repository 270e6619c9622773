-- What is in a lane, scheduled or not.
CREATE INDEX rows_lane ON rows (env, lane);
