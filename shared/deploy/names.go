package deploy

import (
	"southbound/shared/deploy/planner"
	"southbound/shared/resource"
)

// What is asked of an engine and what it answers has the names of the planner.
type (
	Export        = planner.Export        // asks for a model to be stored and released
	Move          = planner.Move          // a thing that has another id since a release
	Exported      = planner.Exported      // what came of an export
	Since         = planner.Since         // says of an export what its model was before
	Limits        = planner.Limits        // bounds what may leave by an export
	Request       = planner.Request       // says which of the released resources work is asked for
	PlannedChange = planner.PlannedChange // what a deploy would do to one resource
	SweepResult   = planner.SweepResult   // what a sweep found
	Collected     = planner.Collected     // what a collection removed
)

// ErrWhole says that an export with Since was declined and has done nothing: the whole model has to
// be exported.
var ErrWhole = planner.ErrWhole

// Emptied returns the error that refuses an export that describes no resource and would delete ids.
func Emptied(ids []resource.ID) error { return planner.Emptied(ids) }

// CheckTimer returns an Invalid error unless a timer setting can be read: whole seconds, "0" for
// off, or five fields of cron in UTC.
func CheckTimer(setting string) error { return planner.CheckTimer(setting) }
