package deploy

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/plan"
)

// settle applies to a row the result of a run for its intent.
func (e *Engine) settle(r *state.Row, res *result, s state.Settings) {
	r.LastAt, r.LastAction, r.NextAt = res.finished, res.action, time.Time{}
	if res.sendEvent && res.acted && res.outcome != state.StatusDeployed {
		r.Unsure = true
	}
	if res.outcome == state.StatusDeploying {
		r.NotBefore, r.Waiting, r.Notes = res.finished.Add(res.again.After), res.again.State, res.kept
		r.Reason = "in progress"
		r.Ticket = max(r.Ticket, 1) // the wave that asked for it may end earlier
		return
	}
	r.Ticket, r.NotBefore, r.Waiting, r.Causes, r.Left = 0, time.Time{}, nil, nil, nil
	r.Reason, r.Class, r.TriedAt = res.reason, res.class, time.Time{}
	if res.outcome != state.StatusDeployed && res.outcome != state.StatusNonCompliant || res.reportOnly {
		r.TriedAt = res.follows
	}
	if res.sendEvent && res.outcome == state.StatusDeployed && (res.change != plan.NoChange || r.Unsure) {
		r.ChangedAt, r.Unsure = res.finished, false
	}
	switch res.outcome {
	case state.StatusDeployed, state.StatusNonCompliant:
		r.LastRun, r.Compliance, r.Blocked = state.RunSuccess, state.Compliant, state.NotBlocked
		r.Deployed, r.Attempts, r.Creating = r.Hash, 0, ""
		if res.outcome == state.StatusDeployed {
			r.Notes = res.kept
		}
		if res.outcome == state.StatusDeployed && !res.purged {
			r.WantFacts = false // they were read; of what is purged they cannot be, and it may exist again some day
		}
		if !res.reportOnly { // what is only compared has followed no change
			r.SucceededAt = res.follows
		}
		if res.outcome == state.StatusNonCompliant {
			r.Compliance = state.NonCompliant
		}
		r.Gone = r.Removing && res.outcome == state.StatusDeployed
	case state.StatusSkipped:
		r.LastRun, r.Compliance = state.RunSkipped, state.NonCompliant
		if len(res.causes) > 0 {
			r.Blocked, r.Causes = state.BlockedTemp, res.causes
			return
		}
		e.retryLater(r, res, s)
	default:
		r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
		if res.nothing {
			r.Creating = ""
		}
		if res.person {
			r.Blocked = state.NeedsPerson
			return
		}
		if r.Blocked == state.BlockedTemp || r.Blocked == state.NeedsPerson {
			r.Blocked = state.NotBlocked
		}
		e.retryLater(r, res, s)
	}
}

// Defaults of the settings for backoff.
const (
	defaultRetryBase = 2 * time.Second
	defaultRetryMax  = 10 * time.Minute
)

// retryLater counts a failure and sets when it is tried again: after an exponential backoff with a jitter of up to a quarter, or not by
// itself if it cannot pass by itself.
func (e *Engine) retryLater(r *state.Row, res *result, s state.Settings) {
	r.Attempts++
	if !state.Retried(res.class) {
		return
	}
	base, most := s.RetryBase, s.RetryMax
	if base <= 0 {
		base = defaultRetryBase
	}
	if most <= 0 {
		most = defaultRetryMax
	}
	pause := base
	for i := 1; i < r.Attempts && pause < most; i++ {
		pause *= 2
	}
	pause = min(pause, most)
	pause += time.Duration((e.Jitter() - 0.5) * 0.5 * float64(pause))
	r.NextAt = res.finished.Add(pause)
}

// standing is what the result of a run still means for its row, which others may have changed since the run began.
type standing int

const (
	resultCounts    standing = iota // the row has the same intent
	resultMoot                      // the run was skipped for what the row may no longer require: it has to run again
	resultStale                     // the row has another intent or is orphaned: the result changes nothing
	resultOvertaken                 // the row was moved to another lane, and a run that began later is recorded there: stale as well
	resultVoid                      // there is no row any more
	resultWritten                   // the row has the result already: the answer to our write was lost
)

// standingOf compares a claimed row with the row as it is now.
func standingOf(c *claim, now *state.Row) standing {
	switch {
	case now.Rev == 0:
		return resultVoid
	case now.LastAction == c.result.action:
		return resultWritten
	case now.LastAction > c.result.action: // ids of actions grow with time
		return resultOvertaken
	case now.Hash != c.row.Hash || now.Orphaned:
		return resultStale
	case len(c.result.causes) > 0 && string(now.Body) != string(c.row.Body):
		return resultMoot
	default:
		return resultCounts
	}
}

// settleOn applies the result of a run to a row that others have changed meanwhile and that still has the same intent. What they have
// asked for or forbidden since the run began stays, as the run is not an answer to it.
func (w *worker) settleOn(now state.Row, c *claim) state.Row {
	row := now
	c.result.sendEvent = row.SendsEvents() // it may have got receivers since the run began
	w.e.settle(&row, c.result, w.state.Settings)
	if string(now.Body) != string(c.row.Body) { // it may require more than the run has looked at: it has not followed changes of that
		row.SucceededAt = now.SucceededAt
	}
	if row.Lane == c.row.Lane { // in a lane that it was moved to it has still to be checked
		row.Checked = max(row.Checked, c.wrote.Checked)
	}
	if now.Ticket != c.row.Ticket || now.WantFacts && !c.row.WantFacts {
		row.Ticket, row.Priority, row.WantFacts, row.Gone = now.Ticket, now.Priority, now.WantFacts, false
	}
	if now.Unsure && !c.row.Unsure { // a run elsewhere was lost meanwhile, and this one may not have seen what that did
		row.Unsure = true
	}
	if now.Blocked == state.BlockedYes {
		row.Blocked, row.Causes, row.Reason, row.Ticket = now.Blocked, now.Causes, now.Reason, 0
	}
	return row
}
