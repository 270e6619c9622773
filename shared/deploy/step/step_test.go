package step

import (
	"reflect"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// step is a row of a table: what an event makes of a resource that is as wanted.
type step struct {
	reason string
	was    func(r *state.Row) // changes the row before the event
	event  Event
	want   func(r *state.Row) // changes the row before the event to the row after it; nil: nothing
	then   []Effect
}

// wanted is a row as wanted, which receives events.
func wanted() state.Row {
	return state.Row{
		ID: "t::T[a,n=1]", Rev: 4,
		Intent: state.Intent{Hash: "h",
			Body:  []byte(`{"attributes":{"n":"1"},"id":"t::T[a,n=1]"}`),
			Agent: "a", Version: 2},
		Outcome: state.Outcome{Ran: "h", Deployed: "h", LastRun: state.RunSuccess, LastAction: "a1",
			LastAt: time.Unix(6, 0), SucceededAt: time.Unix(5, 0),
			Compliance: state.Compliant, Blocked: state.NotBlocked},
	}
}

func check(t *testing.T, steps map[string]step) {
	t.Helper()
	for name, c := range steps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := wanted()
			if c.was != nil {
				c.was(&was)
			}
			want := was
			if c.want != nil {
				c.want(&want)
			}
			got, then := Next(was, c.event)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", c.reason, got, want)
			}
			if !reflect.DeepEqual(then, c.then) {
				t.Errorf("%s: effects %+v, want %+v", c.reason, then, c.then)
			}
		})
	}
}

func failed(r *state.Row) {
	r.LastRun, r.Compliance, r.Class = state.RunFailed, state.NonCompliant, "retryable"
	r.Attempts, r.NextAt = 1, time.Unix(30, 0)
}

func skipped(r *state.Row) {
	r.LastRun, r.Compliance, r.Blocked = state.RunSkipped, state.NonCompliant, state.BlockedTemp
	r.Causes = []resource.ID{cause}
}

func scheduled(r *state.Row) { r.Generation, r.Priority = 7, state.PriorityNewVersion }

func orphaned(r *state.Row) { r.Orphaned = true }

var (
	user   = []Effect{Schedule{Priority: state.PriorityUserDeploy}}
	newest = []Effect{Schedule{Priority: state.PriorityNewVersion}}
)

func TestRequested(t *testing.T) {
	t.Parallel()
	deploy := Requested{Priority: state.PriorityUserDeploy, Now: time.Unix(29, 0)}
	retry, busy, late := deploy, deploy, deploy
	retry.Retry, busy.Running, late.Now = true, true, time.Unix(30, 0)
	repair := Requested{Priority: state.PriorityUserRepair, Check: true}
	facts := Requested{Priority: state.PriorityFacts, Facts: true}
	read := facts
	read.Running = true
	undecided := func(r *state.Row) { r.Blocked, r.Creating = state.NeedsDecision, "token" }
	check(t, map[string]step{
		"AsWanted": {reason: "a deploy is about what is not as wanted", event: deploy},
		"Backoff":  {reason: "a failure waits for its backoff", was: failed, event: deploy},
		"Due":      {reason: "the backoff is over", was: failed, event: late, then: user},
		"Retry": {reason: "a user does not wait for the backoff", was: failed, event: retry,
			then: user},
		"Running": {reason: "the run under way does what is asked for", was: failed, event: busy},
		"Terminal": {
			reason: "a failure that cannot pass waits for a person",
			was:    func(r *state.Row) { failed(r); r.Class = state.ClassTerminal },
			event:  late,
		},
		"Raised": {
			reason: "a scheduled resource keeps its ticket and gets the better priority",
			was:    func(r *state.Row) { skipped(r); scheduled(r) },
			event:  deploy,
			then:   []Effect{Schedule{Priority: state.PriorityUserDeploy, Keep: true}},
		},
		"NotRaised": {
			reason: "a timer does not delay what a release has asked for",
			was:    func(r *state.Row) { skipped(r); scheduled(r) },
			event:  Requested{Priority: state.PriorityDeployTimer},
		},
		"Repair": {reason: "a repair checks what is as wanted", event: repair,
			then: []Effect{Schedule{Priority: state.PriorityUserRepair}}},
		"RepairOrphan": {reason: "an orphan never runs", was: orphaned, event: repair},
		"Undecided":    {reason: "a glob is no decision", was: undecided, event: retry},
		"Decided": {
			reason: "a person's request for the resource decides that the create may begin again",
			was:    undecided,
			event:  Requested{Priority: state.PriorityUserDeploy, Decided: true},
			want:   func(r *state.Row) { r.Decided = r.Creating },
			then:   user,
		},
		"DecidedBefore": {
			reason: "the first decision is enough",
			was:    func(r *state.Row) { undecided(r); r.Decided = r.Creating },
			event:  Requested{Priority: state.PriorityUserDeploy, Decided: true},
		},
		"Facts": {
			reason: "facts are read by a run",
			event:  facts,
			want:   func(r *state.Row) { r.FactsAsked = 1 },
			then:   []Effect{Schedule{Priority: state.PriorityFacts}},
		},
		"FactsWithRun": {
			reason: "the scheduled run reads the facts",
			was:    scheduled,
			event:  facts,
			want:   func(r *state.Row) { r.FactsAsked = 1 },
		},
		"FactsBeingRead": {
			reason: "the run under way was claimed to read them",
			was:    func(r *state.Row) { r.FactsAsked = 1 },
			event:  read,
		},
	})
}

func TestTimers(t *testing.T) {
	t.Parallel()
	check(t, map[string]step{
		"Early": {reason: "the retry is not due", was: failed, event: Due{time.Unix(29, 0)}},
		"Due": {reason: "the retry is due", was: failed, event: Due{time.Unix(30, 0)},
			then: []Effect{Schedule{Priority: state.PriorityDeployTimer}}},
		"Scheduled": {
			reason: "the resource runs in any case",
			was:    func(r *state.Row) { failed(r); scheduled(r) },
			event:  Due{time.Unix(30, 0)},
		},
		"DueOrphan": {reason: "an orphan never runs", was: func(r *state.Row) { failed(r); orphaned(r) },
			event: Due{time.Unix(30, 0)}},
		"Overtaken": {
			reason: "the later run may not have seen the change",
			event:  Overtaken{Priority: state.PriorityUserDeploy, Facts: true},
			want:   func(r *state.Row) { r.FactsAsked = 1 },
			then:   user,
		},
		"OvertakenOrphan": {reason: "an orphan never runs", was: orphaned,
			event: Overtaken{Priority: state.PriorityUserDeploy}},
		"Lost": {
			reason: "the run may have changed the thing",
			event:  HolderLost{},
			want:   func(r *state.Row) { r.PossiblyChanged = true },
		},
	})
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	of := Dependency{Priority: state.PriorityUserDeploy, Ticket: 9}
	running, checking := of, of
	running.Running, checking.Checking = true, true
	sender := wanted()
	sender.ID, sender.ChangedAt = "t::T[a,n=2]", time.Unix(5, 0)
	sender.Body = []byte(`{"attributes":{"n":"2"},"id":"t::T[a,n=2]","send_event":true}`)
	deaf := sender
	deaf.Body = []byte(`{"attributes":{"n":"2"},"id":"t::T[a,n=2]"}`)
	changed := func(d Dependency, of *state.Row, at int64) Event {
		return DependencyChanged{Dependency: d, Of: of, At: time.Unix(at, 0)}
	}
	purge := DependencyChanged{Dependency: of, At: time.Unix(1, 0), Purged: sender.ID}
	back := sender
	back.ChangedAt = time.Time{}
	returned := purge
	returned.Of = &back
	stale := sender
	stale.ChangedAt = time.Unix(0, 1)
	ignored := purge
	ignored.Of = &stale
	leave := func(r *state.Row) { r.AddPurges(sender.ID) }
	check(t, map[string]step{
		"Recovered": {reason: "it was skipped", was: skipped, event: DependencyRecovered{of},
			then: user},
		"RecoveredForNothing": {reason: "it was not skipped", event: DependencyRecovered{of}},
		"RecoveredScheduled": {
			reason: "the next run sees the outcome",
			was:    func(r *state.Row) { skipped(r); scheduled(r) },
			event:  DependencyRecovered{of},
		},
		"RecoveredRunning": {
			reason: "the run was claimed without knowing of the requirement",
			was:    func(r *state.Row) { skipped(r); scheduled(r) },
			event:  DependencyRecovered{running},
			then:   user,
		},
		"RecoveredWaited": {
			reason: "a run that was scheduled no earlier has waited",
			was:    func(r *state.Row) { skipped(r); r.Generation = 9 },
			event:  DependencyRecovered{running},
		},
		"RecoveredChecking": {
			reason: "a check of everything runs it",
			was:    skipped,
			event:  DependencyRecovered{checking},
		},
		"RecoveredOrphan": {
			reason: "an orphan never runs",
			was:    func(r *state.Row) { skipped(r); orphaned(r) },
			event:  DependencyRecovered{of},
		},
		"Changed": {reason: "of two equal times the change counts as the later",
			event: changed(of, &sender, 5), then: user},
		"ChangedBefore": {
			reason: "the last run was claimed after the change",
			event:  changed(of, &sender, 4),
		},
		"ChangedVoid": {
			reason: "the row of the sender has no such change, as its result did not count",
			event:  changed(of, &sender, 8),
		},
		"ChangedDeaf": {reason: "it receives no events of that", event: changed(of, &deaf, 5)},
		"ChangedSkipped": {
			reason: "it runs when what it was skipped for recovers",
			was:    skipped,
			event:  changed(of, &sender, 5),
		},
		"Purged": {
			reason: "no row tells of a purge later, so the next run has to know",
			event:  purge,
			want:   leave,
			then:   user,
		},
		"PurgedReturned": {
			reason: "the purge happened, although its resource is back and has a new row",
			event:  returned,
			want:   leave,
			then:   user,
		},
		"PurgedVoid": {
			reason: "the resource was back before the purge ended, so the result did not count",
			event:  ignored,
		},
		"PurgedScheduled": {
			reason: "the next run reloads",
			was:    scheduled,
			event:  purge,
			want:   leave,
		},
		"PurgedRemoving": {
			reason: "it leaves as well",
			was:    func(r *state.Row) { scheduled(r); r.Removing = true },
			event:  purge,
		},
	})
}

func TestReleased(t *testing.T) {
	t.Parallel()
	body, requires := []byte(`{"attributes":{"n":"1","v":2},"id":"t::T[a,n=1]"}`), []byte(
		`{"attributes":{"n":"1"},"id":"t::T[a,n=1]","requires":["t::T[a,n=2]"]}`)
	as := func(change func(e *Released)) Released {
		e := Released{Version: 3, Hash: "h", Body: requires}
		change(&e)
		return e
	}
	same := as(func(e *Released) { e.Body = wanted().Body })
	other := as(func(e *Released) { e.Hash, e.Body = "i", body })
	intent := func(r *state.Row) {
		r.Version, r.Hash, r.Body = 3, "i", body
	}
	rewired := as(func(*Released) {})
	requiring := func(r *state.Row) { r.Body = requires }
	check(t, map[string]step{
		"Same": {reason: "an unchanged resource costs nothing (C1)", event: same},
		"New": {
			reason: "a new resource runs",
			was:    func(r *state.Row) { *r = state.Row{ID: r.ID} },
			event:  other,
			want: func(r *state.Row) {
				intent(r)
				r.Agent, r.LastRun, r.Blocked = "a", state.RunNew, state.NotBlocked
			},
			then: newest,
		},
		"Changed": {
			reason: "the outcome of another intent stays, and no longer counts",
			was:    failed,
			event:  other,
			want:   intent,
			then:   newest,
		},
		"ChangedSkipped": {
			reason: "it may not require any more what it was skipped for",
			was:    skipped,
			event:  other,
			want:   intent,
			then:   newest,
		},
		"Unknown": {
			reason: "a resource with an unknown value does not run",
			was:    scheduled,
			event:  as(func(e *Released) { e.Hash, e.Body, e.Missing = "i", body, []string{"p"} }),
			want: func(r *state.Row) {
				intent(r)
				r.Missing = []string{"p"}
			},
		},
		"Returned": {
			reason: "a resource that comes back keeps the outcome, which describes its thing",
			was:    func(r *state.Row) { orphaned(r); r.Creating = "token" },
			event:  same,
			want:   func(r *state.Row) { r.Orphaned, r.Version = false, 3 },
			then:   newest,
		},
		"Rewired": {reason: "other requirements alone are no reason", event: rewired, want: requiring},
		"RewiredSkipped": {
			reason: "it may not require any more what it was skipped for",
			was:    skipped,
			event:  rewired,
			want:   requiring,
			then:   newest,
		},
		"RewiredScheduled": {
			reason: "a run that has begun has not waited for the new requirements",
			was:    scheduled,
			event:  rewired,
			want:   requiring,
			then:   newest,
		},
		"RewiredToSender": {
			reason: "the sender may be changing by a run that does not know of the new receiver",
			event:  as(func(e *Released) { e.MayOweReload = true }),
			want:   requiring,
			then:   newest,
		},
		"Unbound": {reason: "it no longer requires what it was skipped for", was: skipped,
			event: RequirementEnded{}, then: newest},
		"UnboundIdle":   {reason: "it waited for nothing", event: RequirementEnded{}},
		"UnboundOrphan": {reason: "an orphan never runs", was: orphaned, event: RequirementEnded{user1}},
		"UnboundChecking": {
			reason: "a run of the check may be under way, and skip it",
			event:  RequirementEnded{user1},
			then:   user,
		},
	})
}

const user1 = state.PriorityUserDeploy

// TestTakesOver: an id that takes over a thing has the state of the id that managed the thing.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	from := wanted()
	from.ID, from.Agent, from.Checked, from.Removing = "t::T[b,n=1]", "b", 3, true
	check(t, map[string]step{"Moved": {
		reason: "the thing is neither deleted nor made again (T1), and no run of both ids overlaps",
		was:    func(r *state.Row) { *r = state.Row{ID: r.ID} },
		event:  Released{Version: 3, Hash: "i", Body: []byte("{}"), From: &from},
		want: func(r *state.Row) {
			id := r.ID
			*r = from
			r.ID, r.Rev, r.LastAction, r.Agent, r.Removing = id, 0, "", "a", false
			r.Version, r.Hash, r.Body, r.Checked = 3, "i", []byte("{}"), 0
			r.Earlier, r.Moves = []resource.ID{from.ID}, 1
		},
		then: newest,
	}})
}

func TestLeft(t *testing.T) {
	t.Parallel()
	purged := []byte(`{"attributes":{"n":"1"},"id":"t::T[a,n=1]","purged":true}`)
	undefined := func(r *state.Row) { r.Missing = []string{"p"} }
	blocked := func(r *state.Row) { r.BlockedBy = cause }
	check(t, map[string]step{
		"Orphaned": {
			reason: "a resource that left the model stays as it is, and never runs",
			was:    func(r *state.Row) { failed(r); scheduled(r) },
			event:  Left{Version: 3},
			want:   orphaned,
		},
		"Purged": {
			reason: "purge_on_delete makes it a purged intent of its own",
			event:  Left{Version: 3, Purge: true},
			want: func(r *state.Row) {
				r.Version, r.Hash, r.Body, r.Removing = 3, "purge h", purged, true
			},
			then: newest,
		},
		"Forgotten": {
			reason: "a person no longer needs it",
			was:    func(r *state.Row) { orphaned(r); scheduled(r) },
			event:  Forgotten{},
			want:   func(r *state.Row) { r.Gone = true },
		},
		"ForgottenAndBack": {reason: "it is in the model again", event: Forgotten{}},
		"ForgottenMoved": {
			reason: "another id manages its thing",
			event:  Forgotten{Moved: true},
			want:   func(r *state.Row) { r.Gone = true },
		},
		"Known": {
			reason: "with all values known it is an intent like any other",
			was:    undefined,
			event:  ValueKnown{Hash: "i", Body: purged},
			want: func(r *state.Row) {
				r.Hash, r.Body, r.Missing = "i", purged, nil
			},
			then: newest,
		},
		"PartlyKnown": {
			reason: "another value is still missing",
			was:    undefined,
			event:  ValueKnown{Hash: "i", Body: purged, Missing: []string{"q"}},
			want: func(r *state.Row) {
				r.Hash, r.Body, r.Missing = "i", purged, []string{"q"}
			},
		},
		"DoesNotFit": {
			reason: "a value that does not fit changes nothing, and is shown",
			was:    undefined,
			event:  ValueKnown{Problem: "size: expected an Integer"},
			want:   func(r *state.Row) { r.Problem = "size: expected an Integer" },
		},
		"KnownBefore": {reason: "it has the values already",
			event: ValueKnown{Hash: "h", Body: purged}},
		"Blocked": {reason: "it requires something undefined", was: skipped,
			event: Blocked{By: cause}, want: blocked},
		"BlockedByAnother": {reason: "it still may not run", was: blocked,
			event: Blocked{By: "o"}, want: func(r *state.Row) { r.BlockedBy = "o" }},
		"Unblocked": {reason: "whatever it has missed", was: blocked, event: Blocked{},
			want: func(r *state.Row) { r.BlockedBy = "" }, then: newest},
		"UnblockedAndUndefined": {reason: "it runs when its own values are known",
			was:   func(r *state.Row) { blocked(r); undefined(r) },
			event: Blocked{}, want: func(r *state.Row) { r.BlockedBy = "" }},
		"UnblockedInDoubt": {
			reason: "it was scheduled before it was blocked, and others may have run since",
			was:    func(r *state.Row) { blocked(r); scheduled(r); r.Blocked = state.NeedsDecision },
			event:  Blocked{}, want: func(r *state.Row) { r.BlockedBy = "" }, then: newest},
		"UnblockedAndUndecided": {
			reason: "a person has to decide first",
			was:    func(r *state.Row) { blocked(r); r.Blocked = state.NeedsDecision },
			event:  Blocked{}, want: func(r *state.Row) { r.BlockedBy = "" }},
		"BlockedBriefly": {reason: "it has missed nothing", was: blocked,
			event: Blocked{NeverStored: true}, want: func(r *state.Row) { r.BlockedBy = "" }},
	})
}
