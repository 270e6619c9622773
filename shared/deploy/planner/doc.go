// Package planner stores versions and decides what has to run. Each request takes the lease "plan"
// of its environment, so one at a time is carried out:
//
//	Planner     a request: export, release, deploy, repair, parameters, forget, sweep, collection
//	planning    what is planned under one lease: rows by id, and what else one commit writes
//	releaser    takes the rows from the version in force to another one
//	FollowUp    what follows from the commits of workers, through the outbox
//	Draft       plans an export without a lease and stores nothing, for a preview
//
// Workers go on meanwhile. A row that one of them has written in between is planned again, by the
// same function, until everything is stored; see docs/design/engine-today.md.
package planner
