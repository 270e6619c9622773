package run

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Result is what came of one run: its record, and what follows from it for the row.
type Result struct {
	state.Action
	Follows     time.Time // changes that ended before are known to it
	Facts       map[string]string
	Class       provider.Class
	Causes      []resource.ID   // what it was skipped for
	Again       *provider.Again // of what is in progress: when to ask once more, and with what
	Notes       []byte          // that the row is left with, of a run that was not in vain
	Damaged     bool            // what is stored of the resource cannot be read
	NeedsPerson bool            // a create may have happened, and only a person can tell
	NothingMade bool            // a create was begun, and it is certain that nothing was made
	Acted       bool            // the handler was told to change something
	Purged      bool            // the resource must not exist
	ReportOnly  bool            // the resource was only compared
	SendsEvent  bool            // others are notified of its changes
	Notified    bool            // it follows a change that it was notified of
}

// Apply applies the result of a run to the row of which it was the intent. jitter, which returns a
// number in [0,1), spreads what is tried again.
func (res *Result) Apply(r *state.Row, s state.Settings, jitter func() float64) {
	r.LastAt, r.LastAction, r.NextAt = res.Finished, res.ID, time.Time{}
	if res.SendsEvent && res.Acted && res.Outcome != state.StatusDeployed {
		r.PossiblyChanged = true
	}
	if res.Outcome == state.StatusDeploying {
		r.NotBefore = res.Finished.Add(res.Again.After)
		r.Waiting, r.Notes = res.Again.State, res.Notes
		r.Reason = "in progress"
		r.Ticket = max(r.Ticket, 1) // the wave that asked for it may end earlier
		return
	}
	r.Ticket, r.NotBefore, r.Waiting, r.Causes, r.MovedFrom = 0, time.Time{}, nil, nil, nil
	r.Formerly = nil
	r.Reason, r.Class, r.TriedAt = res.Reason, res.Class, time.Time{}
	if res.Outcome != state.StatusDeployed && res.Outcome != state.StatusNonCompliant ||
		res.ReportOnly {
		r.TriedAt = res.Follows
	}
	if res.SendsEvent && res.Outcome == state.StatusDeployed &&
		(res.Change != diff.NoChange || r.PossiblyChanged) {
		r.ChangedAt, r.PossiblyChanged = res.Finished, false
	}
	switch res.Outcome {
	case state.StatusDeployed, state.StatusNonCompliant:
		r.LastRun, r.Compliance, r.Blocked = state.RunSuccess, state.Compliant, state.NotBlocked
		r.Deployed, r.Attempts, r.Creating = r.Hash, 0, ""
		if res.Outcome == state.StatusDeployed {
			r.Notes = res.Notes
		}
		if res.Outcome == state.StatusDeployed && !res.Purged {
			// They were read; of what is purged they cannot be, and it may exist again some day.
			r.WantFacts = false
		}
		if !res.ReportOnly { // what is only compared has followed no change
			r.SucceededAt = res.Follows
		}
		if res.Outcome == state.StatusNonCompliant {
			r.Compliance = state.NonCompliant
		}
		r.Gone = r.Removing && res.Outcome == state.StatusDeployed
	case state.StatusSkipped:
		r.LastRun, r.Compliance = state.RunSkipped, state.NonCompliant
		if len(res.Causes) > 0 {
			r.Blocked, r.Causes = state.BlockedTemp, res.Causes
			return
		}
		res.retryLater(r, s, jitter)
	default:
		r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
		if res.NothingMade {
			r.Creating = ""
		}
		if res.NeedsPerson {
			r.Blocked = state.NeedsPerson
			return
		}
		if r.Blocked == state.BlockedTemp || r.Blocked == state.NeedsPerson {
			r.Blocked = state.NotBlocked
		}
		res.retryLater(r, s, jitter)
	}
}

// retryLater counts a failure and sets when it is tried again: after an exponential backoff with a
// jitter of up to a quarter, or not by itself if it cannot pass by itself.
func (res *Result) retryLater(r *state.Row, s state.Settings, jitter func() float64) {
	r.Attempts++
	if !state.Retried(res.Class) {
		return
	}
	pause, longest := s.Backoff()
	for i := 1; i < r.Attempts && pause < longest; i++ {
		pause *= 2
	}
	pause = min(pause, longest)
	pause += time.Duration((jitter() - 0.5) * 0.5 * float64(pause))
	r.NextAt = res.Finished.Add(pause)
}
