package step

import (
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Released is the release of a version that has the resource.
type Released struct {
	Version      int
	Hash         string
	Body         []byte
	Missing      []string   // its unknown values
	Problem      string     // why known values do not fit, so that they are Missing; "": they fit
	MayOweReload bool       // it may owe a reload for new requirements
	From         *state.Row // row of the id that managed its thing before; nil: none
}

func (e Released) next(r *state.Row) []Effect {
	switch {
	case e.From != nil:
		inheritRow(r, e.From)
	case r.Hash == e.Hash && !r.Orphaned && !r.Removing && !r.Damaged():
		return e.adjust(r)
	case r.Rev == 0:
		r.LastRun, r.Blocked = state.RunNew, state.NotBlocked
	}
	return e.replace(r)
}

// inheritRow gives a row the state of the row that managed its thing before. A run of that row may
// still be under way; the next run waits for its end.
func inheritRow(row *state.Row, from *state.Row) {
	was := *row
	*row = *from
	row.ID, row.Rev, row.LastAction = was.ID, was.Rev, was.LastAction
	if was.Ticket() != 0 && (row.Ticket() == 0 || was.Priority < row.Priority) {
		row.Generation, row.Observed, row.Priority = was.Generation, was.Observed, was.Priority
	}
	row.Moves = max(was.Moves, from.Moves)
	if len(row.PendingPurges()) > 0 {
		row.Purges = max(was.Purges, from.Purges) + 1
	}
	if row.WantFacts() {
		row.FactsAsked = max(was.FactsAsked, from.FactsAsked) + 1
	}
	row.SetMoved(state.Union(was.EarlierIDs(), from.EarlierIDs(), []resource.ID{from.ID}))
	row.Hidden = state.Union(was.Hidden, from.Hidden)
	row.PossiblyChanged = was.PossiblyChanged || from.PossiblyChanged
	row.Checked = 0
}

// replace gives a row another intent and keeps the data about its thing. A change by a run of the
// previous intent that is still under way is notified when its result is found to be stale.
func (e *Released) replace(r *state.Row) []Effect {
	r.HideSecrets()
	r.Agent, r.Version, r.Hash, r.Body = r.ID.Agent(), e.Version, e.Hash, e.Body
	r.Orphaned, r.Removing, r.BlockedBy = false, false, ""
	r.Missing, r.Problem = e.Missing, e.Problem
	if r.Undefined() {
		return nil
	}
	return schedule(state.PriorityNewVersion)
}

// adjust applies changes of a release that do not change the intent: requirements, set, flags.
func (e *Released) adjust(r *state.Row) []Effect {
	if string(r.Body) == string(e.Body) {
		return nil
	}
	r.Body = e.Body
	if effects := (RequirementEnded{}).next(r); effects != nil {
		return effects
	}
	if e.MayOweReload && r.Runnable() {
		return schedule(state.PriorityNewVersion)
	}
	return nil
}

// RequirementEnded means that the resource may no longer require a resource for which it waited, or was
// skipped. A run that has begun has not waited for the current requirements.
type RequirementEnded struct {
	Asked state.Priority // of the check of everything that has yet to run it; 0: none
}

func (e RequirementEnded) next(r *state.Row) []Effect {
	switch {
	case r.Orphaned:
	case r.Current().Blocked == state.BlockedTemp:
		return schedule(state.PriorityNewVersion)
	case r.Ticket() != 0:
		return schedule(r.Priority)
	case e.Asked != 0:
		return schedule(e.Asked)
	}
	return nil
}

// Left is the release of a version that no longer has the resource, which is purged or orphaned.
type Left struct {
	Version int
	Purge   bool
}

func (e Left) next(r *state.Row) []Effect {
	if !e.Purge {
		r.Orphaned = true
		return nil
	}
	res, err := resource.Decode(r.Body)
	if err != nil {
		return nil
	}
	res.Purged, res.ReportOnly, res.Followed = true, false, nil
	body, err := res.Encode()
	if err != nil {
		return nil
	}
	r.Body, r.Hash, r.Removing, r.Version = body, "purge "+r.Hash, true, e.Version
	r.Missing, r.Problem, r.BlockedBy = nil, "", ""
	return schedule(state.PriorityNewVersion)
}

// ValueKnown gives a resource values of its references: an undefined one the values that it lacked,
// and any other one the new value of a fact.
type ValueKnown struct {
	Hash    string
	Body    []byte
	Missing []string // values that are still unknown
	// Problem is why the values do not fit, so that they are not applied; "": they fit. A resource
	// that had other values is undefined from then on, with Missing.
	Problem string
}

func (e ValueKnown) next(r *state.Row) []Effect {
	switch {
	case r.Orphaned || r.Removing:
		return nil
	case e.Problem != "":
		if !r.Undefined() {
			r.Missing = e.Missing
		}
		r.Problem = e.Problem
		return nil
	case r.Hash == e.Hash && slices.Equal(r.Missing, e.Missing) && r.Problem == "":
		return nil
	}
	r.HideSecrets()
	r.Hash, r.Body, r.Missing, r.Problem = e.Hash, e.Body, e.Missing, ""
	if r.Undefined() {
		return nil
	}
	return schedule(state.PriorityNewVersion)
}

// Blocked states which undefined resource a resource requires, directly or not; "": none.
type Blocked struct {
	By resource.ID
	// NeverStored means that no stored row has the block that ends: nothing was prevented.
	NeverStored bool
}

func (e Blocked) next(r *state.Row) []Effect {
	ends := r.BlockedBy != "" && e.By == ""
	r.BlockedBy = e.By
	// A new intent schedules a resource that waits for a decision, which is not runnable.
	if ends && !e.NeverStored && (r.Runnable() || r.Ticket() != 0) {
		return schedule(state.PriorityNewVersion)
	}
	return nil
}
