package planner

import (
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// writtenOf returns the entry that a version has of the resource of a row: with references to facts
// instead of their values.
func writtenOf(row *state.Row, agents map[string]resource.Agent) (version.Entry, error) {
	if !row.Follows() {
		return version.Entry{ID: row.ID, Hash: row.Hash, Body: row.Body}, nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return version.Entry{}, fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	en, err := version.NewEntry(res.Written(), agents[res.Agent])
	return en, fault.Wrap(fault.Internal, "encode resource "+string(row.ID), err)
}

// hasIntent reports whether a row has an intent in force.
func hasIntent(row *state.Row) bool {
	return row != nil && !row.Orphaned && !row.Removing && !row.Damaged()
}
