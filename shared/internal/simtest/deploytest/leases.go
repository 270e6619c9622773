package deploytest

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func leaseChecks() []check {
	return []check{
		{"FreeIsTaken", func(f *fixture) {
			holder := f.HolderA()
			l, err := f.A.Acquire(f.ctx, env, lane, holder, epoch, at(time.Minute))
			f.ok(err)
			f.same(l, state.Lease{Key: lane, Holder: holder, Fence: l.Fence,
				Until: at(time.Minute)}, "lease")
			f.same(l.Fence > 0, true, "the first fence is not that of nobody")
			f.same(f.held(lane), l, "as the other process sees it")
		}},
		{"TellsOfTheEnvironment", func(f *fixture) {
			l, err := f.A.Acquire(f.ctx, env, state.PlanKey, f.HolderA(), epoch, at(time.Minute))
			f.ok(err)
			_, err = f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(l),
				Env: &state.Env{Name: env, Last: 7}})
			f.ok(err)
			f.ok(f.A.Release(f.ctx, env, l))
			f.ok(f.B.Halt(f.ctx, env, true))
			l, err = f.B.Acquire(f.ctx, env, state.PlanKey, f.HolderB(), epoch, at(time.Minute))
			f.ok(err)
			want, err := f.A.Env(f.ctx, env)
			f.ok(err)
			if l.Env.Name != "" { // otherwise it is read separately
				f.same(l.Env, want, "as it is since the lease was taken")
			}
		}},
		{"HeldIsBusy", func(f *fixture) {
			mine := f.lease(f.A, lane, f.HolderA())
			for name, s := range map[string]state.State{f.HolderB(): f.B, f.HolderA(): f.A} {
				_, err := s.Acquire(f.ctx, env, lane, name, at(time.Hour-1), at(2*time.Hour))
				f.is(err, fault.Busy, "held by another, also of the same process")
			}
			f.same(f.held(lane), mine, "a refused Acquire changes nothing")
			f.commit(state.Commit{Guard: guardOf(mine)})
		}},
		{"ExpiresAtExactlyUntil", func(f *fixture) {
			mine := f.lease(f.A, lane, f.HolderA())
			_, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), mine.Until.Add(-1),
				at(2*time.Hour))
			f.is(err, fault.Busy, "a nanosecond before")
			theirs, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), mine.Until, at(2*time.Hour))
			f.ok(err)
			f.same(theirs.Fence > mine.Fence, true, "the fence grows")
		}},
		{"SameHolderTakesAgain", func(f *fixture) {
			holder := f.HolderA()
			first := f.lease(f.A, lane, holder)
			second := f.lease(f.A, lane, holder)
			f.same(second.Fence > first.Fence, true, "the fence grows with every Acquire")
			_, err := f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(first)})
			f.is(err, fault.Fenced, "under the earlier fence")
			f.commit(state.Commit{Guard: guardOf(second)})
		}},
		{"TakeoverFencesTheOldHolder", func(f *fixture) {
			old := f.lease(f.A, lane, f.HolderA())
			_, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), old.Until, at(3*time.Hour))
			f.ok(err)
			_, err = f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(old)})
			f.is(err, fault.Fenced, "a stale holder")
		}},
		{"ExpiredAndNotTakenStillCommits", func(f *fixture) {
			l, err := f.A.Acquire(f.ctx, env, lane, f.HolderA(), epoch, at(-time.Hour))
			f.ok(err)
			f.commit(state.Commit{Guard: guardOf(l), Rows: freshRows(1)})
			f.same(f.row(id(0)).Rev, int64(1),
				"what was done is recorded while nobody else has begun")
		}},
		{"ReleaseFrees", func(f *fixture) {
			mine := f.lease(f.A, lane, f.HolderA())
			f.ok(f.A.Release(f.ctx, env, mine))
			f.same(f.held(lane).Holder, "", "a free lease is listed without holder")
			_, err := f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(mine)})
			f.is(err, fault.Fenced, "a commit after the release")
			theirs := f.lease(f.B, lane, f.HolderB())
			f.same(theirs.Fence > mine.Fence, true, "the fence grows over a release")
		}},
		{"StaleReleaseDoesNothing", staleRelease},
		{"KeysAreApart", func(f *fixture) {
			for _, key := range []string{state.PlanKey, "plan", "a", "a/1"} {
				f.lease(f.A, key, f.HolderA())
			}
			leases, err := f.B.Leases(f.ctx, env)
			f.ok(err)
			f.same(len(leases), 4, "leases")
			_, err = f.B.Acquire(f.ctx, other, "plan", f.HolderB(), epoch, at(1))
			f.ok(err)
		}},
		{"RunningEndsWithTheHolder", runningEndsWithTheHolder},
		{"TakenForNoTimeFences", takenForNoTime},
		{"DeadHoldersLeaseIsFree", deadHoldersLeaseIsFree},
		{"UntilProlongs", untilProlongs},
	}
}

// runningEndsWithTheHolder pins who receives the list of running resources: the next holder of the
// lease, until a commit under the lease or its release.
func runningEndsWithTheHolder(f *fixture) {
	holder := f.HolderA()
	l := f.lease(f.A, lane, holder)
	start := func() {
		out := f.commit(state.Commit{Guard: guardOf(l), Next: []resource.ID{id(1)}})
		f.same(out.Started, true, "started")
		f.same(f.held(lane).Running, []resource.ID{id(1)}, "what runs")
	}
	start()
	l = f.lease(f.A, lane, holder)
	f.same(l.Running, []resource.ID{id(1)}, "who takes over is told what ran")
	f.same(f.held(lane).Running, []resource.ID{id(1)},
		"and so is the next, should this one end at once")
	f.commit(state.Commit{Guard: guardOf(l)})
	f.same(len(f.held(lane).Running), 0, "until the first commit")
	start()
	f.ok(f.A.Release(f.ctx, env, l))
	f.same(len(f.held(lane).Running), 0, "after a release nothing runs")
}

// takenForNoTime pins that a lease that is taken until now fences the previous holder, is free, and
// keeps the list of running resources for the next holder.
func takenForNoTime(f *fixture) {
	late := f.lease(f.A, lane, f.HolderA())
	f.commit(state.Commit{Guard: guardOf(late), Next: []resource.ID{id(1)}})
	fence, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), late.Until, late.Until)
	f.ok(err)
	_, err = f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(late)})
	f.is(err, fault.Fenced, "the late holder")
	next, err := f.A.Acquire(f.ctx, env, lane, f.HolderA(), late.Until, at(2*time.Hour))
	f.ok(err)
	f.same(next.Fence > fence.Fence, true, "the fence grows")
	f.same(next.Running, []resource.ID{id(1)}, "what the late holder ran")
}

// deadHoldersLeaseIsFree pins that a lease is free immediately if the process of its holder is
// known to have ended.
func deadHoldersLeaseIsFree(f *fixture) {
	old := f.lease(f.A, lane, f.HolderA())
	if f.KillA == nil {
		return // this state cannot know
	}
	f.KillA()
	now, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), epoch, at(time.Hour))
	f.ok(err)
	f.same(now.Fence > old.Fence, true, "the fence grows")
	_, err = f.B.Commit(f.ctx, env, state.Commit{Guard: guardOf(old)})
	f.is(err, fault.Fenced, "under the fence of the dead")
}

// untilProlongs pins that a commit can extend a lease and cannot shorten it.
func untilProlongs(f *fixture) {
	l := f.lease(f.A, lane, f.HolderA())
	for _, step := range []struct {
		reason      string
		until, want time.Time
	}{
		{"a later time prolongs", at(2 * time.Hour), at(2 * time.Hour)},
		{"zero leaves it", time.Time{}, at(2 * time.Hour)},
		{"an earlier time does not shorten", at(time.Hour), at(2 * time.Hour)},
	} {
		f.commit(state.Commit{Guard: guardOf(l), Until: step.until})
		f.same(f.held(lane).Until, step.want, step.reason)
	}
	_, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), at(2*time.Hour-1), at(3*time.Hour))
	f.is(err, fault.Busy, "while prolonged")
}

// staleRelease pins that only the holder of a lease can release it.
func staleRelease(f *fixture) {
	old := f.lease(f.A, lane, f.HolderA())
	now, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), old.Until, at(2*time.Hour))
	f.ok(err)
	f.ok(f.A.Release(f.ctx, env, old))
	f.ok(f.A.Release(f.ctx, env, state.Lease{Key: "unknown", Fence: 1}))
	f.same(f.held(lane), now, "the lease of the new holder")
	f.ok(f.B.Release(f.ctx, env, now))
	f.ok(f.B.Release(f.ctx, env, now))
}
