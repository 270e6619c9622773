package deploy

import (
	"southbound/shared/deploy/planner"
	"southbound/shared/resource"
)

// The parameters and results of Engine have the names that they have in package planner.
type (
	Export        = planner.Export        // a model to be stored and released
	Move          = planner.Move          // a change of the id of an object since a release
	Exported      = planner.Exported      // the result of an export
	Since         = planner.Since         // the base of an export that holds only changes
	Limits        = planner.Limits        // bounds on the resources that an export may remove
	Request       = planner.Request       // selects the released resources to schedule
	PlannedChange = planner.PlannedChange // the effect of a deploy on one resource
	AwaitedFact   = planner.AwaitedFact   // a fact that an apply learns
	SweepResult   = planner.SweepResult   // the result of a sweep
	Collected     = planner.Collected     // the items removed by a collection
)

// Codes of problems with instances of services; see package planner.
const (
	CodeInstanceMissing = planner.CodeInstanceMissing
	CodeInstanceDeleted = planner.CodeInstanceDeleted
)

// ErrWhole reports that an export with Since was declined and changed nothing. The caller has to
// export the whole model.
var ErrWhole = planner.ErrWhole

// Emptied returns the error for an export that describes no resource and would delete ids.
func Emptied(ids []resource.ID) error { return planner.Emptied(ids) }

// MayChangeText describes known facts that an apply may change, for people; "" if there is none.
func MayChangeText(facts []AwaitedFact) string { return planner.MayChangeText(facts) }

// CheckTimer returns an Invalid error unless a timer setting can be read: whole seconds, "0" for
// off, or five fields of cron in UTC.
func CheckTimer(setting string) error { return planner.CheckTimer(setting) }
