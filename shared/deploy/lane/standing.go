package lane

import (
	"slices"

	"southbound/shared/deploy/state"
)

// standing is what the result of a run still means for its row, which others may have changed since
// the run began.
type standing int

const (
	resultCounts standing = iota // the row has the same intent
	// the run was skipped for what the row may no longer require: it has to run again
	resultMoot
	// the row has another intent or is orphaned: the result changes nothing
	resultStale
	// the row was moved to another lane, and a run that began later is recorded there: stale as
	// well
	resultOvertaken
	resultVoid // there is no row any more
	// the row has the result already: the answer to our write was lost
	resultWritten
)

// standingOf compares a claimed row with the row as it is now.
func standingOf(c *claim, now *state.Row) standing {
	switch {
	case now.Rev == 0 && c.wrote.Gone: // also if somebody else took it away: nobody waits for it
		return resultWritten
	case now.Rev == 0:
		return resultVoid
	case now.LastAction == c.result.ID:
		return resultWritten
	case now.LastAction > c.result.ID: // ids of actions grow with time
		return resultOvertaken
	case now.Hash != c.row.Hash || now.Orphaned:
		return resultStale
	case len(c.result.Causes) > 0 && string(now.Body) != string(c.row.Body):
		return resultMoot
	default:
		return resultCounts
	}
}

// mergeInto applies the result of a run to a row that others have changed meanwhile and that still
// has the same intent. What they have asked for or forbidden since the run began stays, as the run
// is not an answer to it.
func (r *recording) mergeInto(now state.Row, c *claim) state.Row {
	row := now
	c.result.SendsEvent = row.SendsEvents() // it may have got receivers since the run began
	c.result.Apply(&row, r.stored.Settings, r.Jitter)
	// It may require more than the run has looked at: it has not followed changes of that.
	if string(now.Body) != string(c.row.Body) {
		row.SucceededAt = now.SucceededAt
	}
	if row.Lane == c.row.Lane { // in a lane that it was moved to it has still to be checked
		row.Checked = max(row.Checked, c.wrote.Checked)
	}
	if now.Ticket != c.row.Ticket || now.WantFacts && !c.row.WantFacts {
		row.Ticket, row.Priority, row.WantFacts, row.Gone = now.Ticket, now.Priority, now.WantFacts,
			false
	}
	if now.PossiblyChanged &&
		// a run elsewhere was lost meanwhile, and this one may not have seen what that did
		!c.row.PossiblyChanged {
		row.PossiblyChanged = true
	}
	known := c.row.LeftBehind()
	for _, id := range now.LeftBehind() {
		if !slices.Contains(known, id) { // it has been purged since this run began
			row.LeaveBehind(id)
		}
	}
	if now.Blocked == state.BlockedYes {
		row.Blocked, row.Causes, row.Reason, row.Ticket = now.Blocked, now.Causes, now.Reason, 0
	}
	return row
}
