package batch

import (
	"context"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/work"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Waves does the work of agents in waves, and checks the result of a wave before the next one.
type Waves struct {
	*output.Console
	*home.Location
	*home.Session
	Waiter *work.Waiter
}

// Round is work in waves.
type Round struct {
	Terms []string // of the filter of the command
	Flags Flags
	Waves [][]string
	Of    work.Request
	// Do requests the work of a wave.
	Do func(wave []string, last bool) error
}

// EachWave requests the work of each wave, and waits for it. With --batch it stops if a wave has
// left an unhealthy resource that matches, or if the gate after the wave is closed. The remaining
// agents are then left unchanged. It always stops at a wave that is rejected. A rejection of the
// first wave is returned as an error, as nothing was done.
func (v *Waves) EachWave(ctx context.Context, r Round) (done work.Result, err error) {
	waves := r.Waves
	if len(waves) == 0 {
		waves = [][]string{nil}
	}
	for i, wave := range waves {
		if len(wave) > 0 {
			v.Say("wave %d of %d: %s", i+1, len(waves), output.Named(wave))
		}
		if err := r.Do(wave, i+1 == len(waves)); i > 0 && isRefused(err) {
			v.refusedLate(err, i+1, slices.Concat(waves[i:]...))
			break
		} else if err != nil {
			return done, err
		}
		if done, err = v.waitMore(ctx, r.Of, done); err != nil {
			return done, err
		}
		if r.Flags.Batch == "" || i+1 == len(waves) {
			continue
		}
		open := false
		if done, open, err = v.mayGoOn(ctx, r, i, done); err != nil {
			return done, err
		}
		if !open {
			v.Code = output.Unhealthy
			break
		}
	}
	return done, nil
}

// waitMore waits, and adds the corrections of earlier waves.
func (v *Waves) waitMore(ctx context.Context, of work.Request, before work.Result) (work.Result, error) {
	done, err := v.Waiter.Wait(ctx, of)
	if err == nil && !v.Remote() {
		done.Did.Fixed += before.Did.Fixed // each wait counts its own corrections
	}
	return done, err
}

// mayGoOn reports whether wave i succeeded and the gate after it is open.
func (v *Waves) mayGoOn(
	ctx context.Context, r Round, i int, done work.Result,
) (work.Result, bool, error) {
	rest := output.Named(slices.Concat(r.Waves[i+1:]...))
	bad, err := v.unwell(ctx, AtAgents(r.Terms, r.Waves[i]))
	if err != nil {
		return done, false, err
	}
	if bad > 0 || done.Stuck {
		v.Say("wave %d failed; left as they are: %s", i+1, rest)
		return done, false, nil
	}
	if len(r.Flags.Gate) == 0 {
		return done, true, nil
	}
	done, err = v.PassGate(ctx, r.Flags.Gate, r.Of, done)
	if err != nil || done.Gate == nil {
		return done, err == nil, err
	}
	done.Gate.AfterWave = i + 1
	SayClosed(v.Console, done.Gate, rest)
	return done, false, nil
}

// isRefused reports whether an error rejects a request that is not permitted.
func isRefused(err error) bool {
	problems, _ := diag.Of(err)
	return fault.Is(err, fault.Refused) || len(problems) > 0
}

// refusedLate reports that a wave was rejected although all waves were possible when they were
// planned. The earlier waves are done; another user has released a version in between.
func (v *Waves) refusedLate(err error, number int, rest []string) {
	problems, more := diag.Of(err)
	v.Problems(problems, more)
	v.Complain("wave %d was refused, as something else was released since the waves were planned; "+
		"left as they are: %s", number, output.Named(rest))
	v.Code = output.Unhealthy
}

// RefusedFirst reports that the first wave of an apply was rejected. All waves were possible when
// they were planned, so the rejection is no mistake of the user.
func (v *Waves) RefusedFirst(err error) {
	if isRefused(err) {
		v.Complain("the first wave was refused, although all could be done when they were planned; " +
			"something else may have been released since: run the command again")
	}
}

// AtAgents returns the terms of a filter with these agents in place of the agents in the terms.
func AtAgents(terms, agents []string) []string {
	out := slices.DeleteFunc(slices.Clone(terms),
		func(t string) bool { return strings.HasPrefix(t, "agent=") })
	for _, name := range agents {
		out = append(out, "agent="+name)
	}
	return out
}

// AgentsOf returns the agents of the resources that match, sorted.
func (v *Waves) AgentsOf(ctx context.Context, filter []string) ([]string, error) {
	names := map[string]bool{}
	err := v.Home.Resources(ctx, v.Env, filter, func(r *api.Resource) error {
		if r.Status != "orphaned" {
			names[r.Agent] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// unwell counts the unhealthy resources that match. Terms about the status are dropped: they apply
// to the status before the work.
func (v *Waves) unwell(ctx context.Context, terms []string) (int, error) {
	terms = state.WithoutState(terms)
	for _, s := range api.Unhealthy() {
		terms = append(terms, "status="+string(s))
	}
	n := 0
	err := v.Home.Resources(ctx, v.Env, terms, func(*api.Resource) error {
		n++
		return nil
	})
	return n, err
}
