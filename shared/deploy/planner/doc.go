// Package planner stores versions and decides which resources have to run. Each request takes the
// lease "plan" of its environment, so requests run one at a time:
//
//	Planner     a request: export, release, deploy, repair, parameters, forget, sweep, collection
//	planning    the plan under one lease: rows by id, and the other data that one commit writes
//	releaser    takes the rows from the version in force to another one
//	FollowUp    the work that follows from commits of workers, through the outbox
//	Draft       plans an export without a lease and stores nothing, for a preview
//
// Workers run concurrently. If a worker writes a row in between, the same function plans the row
// again, until everything is stored; see docs/design/engine-today.md.
package planner
