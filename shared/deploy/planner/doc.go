// Package planner stores versions and decides which resources have to run. Each request takes the
// lease "plan" of its environment, so requests run one at a time:
//
//	Planner     a request: export, release, deploy, repair, parameters, forget, sweep, collection
//	planning    the plan under one lease: rows by id, and the other data that one commit writes
//	releaser    takes the rows from the version in force to another one
//	FollowUp    the work that follows from commits of workers, through the outbox
//	Draft       plans an export without a lease and stores nothing, for a preview
//
// An export goes through these files:
//
//	export.go, next.go            the request, and the version that results from it
//	exporting.go                  the procedure; validate.go and files.go are its first steps
//	sets.go, increment.go         exports that affect few resources: a bounded edit (bounded.go,
//	                              replaced.go) of parts of the last version (reader.go)
//	whole.go                      all other exports: an edit (edit.go) of the whole base version;
//	                              merge.go for partial ones, target.go for targeted ones
//	resolve.go                    values for the references of the model: values.go reads them,
//	                              attributes.go and fitting.go put them into one resource
//	release.go, releaser.go       the difference to the version in force, and its rows
//	entries.go, moves.go          values and former ids of these rows
//	graph.go, wake.go, askfacts.go, block.go    the graph, and the other rows that it concerns
//	steps.go, awaited.go, limits.go             the effects of the plan, as previews show them
//	store.go, commit.go, notify.go              the files, the commit, and the notices to agents
//
// Planners are in lease.go, planner.go and changes.go: the lease, the plan, and its rows.
// Later, outbox.go plans the work that follows from runs, and rowvalues.go gives rows new values.
//
// Workers run concurrently. If a worker writes a row in between, the same function plans the row
// again, until everything is stored; see docs/design/engine-today.md.
package planner
