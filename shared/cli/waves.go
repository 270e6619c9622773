package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// waves does the work of agents in waves, and checks the result of a wave before the next one.
type waves struct {
	*console
	*location
	*session
	waiter *waiter
}

// round is work in waves.
type round struct {
	terms []string // of the filter of the command
	flags waveFlags
	waves [][]string
	of    asked
	// do requests the work of a wave.
	do func(wave []string, last bool) error
}

// eachWave requests the work of each wave, and waits for it. With --batch it stops if a wave has
// left an unhealthy resource that matches, or if the gate after the wave is closed. The remaining
// agents are then left unchanged. It always stops at a wave that is rejected. A rejection of the
// first wave is returned as an error, as nothing was done.
func (v *waves) eachWave(ctx context.Context, r round) (done waited, err error) {
	waves := r.waves
	if len(waves) == 0 {
		waves = [][]string{nil}
	}
	for i, wave := range waves {
		if len(wave) > 0 {
			v.say("wave %d of %d: %s", i+1, len(waves), named(wave))
		}
		if err := r.do(wave, i+1 == len(waves)); i > 0 && isRefused(err) {
			v.refusedLate(err, i+1, slices.Concat(waves[i:]...))
			break
		} else if err != nil {
			return done, err
		}
		if done, err = v.waitMore(ctx, r.of, done); err != nil {
			return done, err
		}
		if r.flags.batch == "" || i+1 == len(waves) {
			continue
		}
		open := false
		if done, open, err = v.mayGoOn(ctx, r, i, done); err != nil {
			return done, err
		}
		if !open {
			v.code = exitUnhealthy
			break
		}
	}
	return done, nil
}

// waitMore waits, and adds the corrections of earlier waves.
func (v *waves) waitMore(ctx context.Context, of asked, before waited) (waited, error) {
	done, err := v.waiter.wait(ctx, of)
	if err == nil && !v.remote() {
		done.Did.fixed += before.Did.fixed // each wait counts its own corrections
	}
	return done, err
}

// mayGoOn reports whether wave i succeeded and the gate after it is open.
func (v *waves) mayGoOn(
	ctx context.Context, r round, i int, done waited,
) (waited, bool, error) {
	rest := named(slices.Concat(r.waves[i+1:]...))
	bad, err := v.unwell(ctx, atAgents(r.terms, r.waves[i]))
	if err != nil {
		return done, false, err
	}
	if bad > 0 || done.Stuck {
		v.say("wave %d failed; left as they are: %s", i+1, rest)
		return done, false, nil
	}
	if len(r.flags.gate) == 0 {
		return done, true, nil
	}
	done, err = v.passGate(ctx, r.flags.gate, r.of, done)
	if err != nil || done.Gate == nil {
		return done, err == nil, err
	}
	done.Gate.AfterWave = i + 1
	sayClosed(v.console, done.Gate, rest)
	return done, false, nil
}

// isRefused reports whether an error rejects a request that is not permitted.
func isRefused(err error) bool {
	problems, _ := diag.Of(err)
	return fault.Is(err, fault.Refused) || len(problems) > 0
}

// refusedLate reports that a wave was rejected although all waves were possible when they were
// planned. The earlier waves are done; another user has released a version in between.
func (v *waves) refusedLate(err error, number int, rest []string) {
	problems, more := diag.Of(err)
	v.problems(problems, more)
	v.complain("wave %d was refused, as something else was released since the waves were planned; "+
		"left as they are: %s", number, named(rest))
	v.code = exitUnhealthy
}

// refusedFirst reports that the first wave of an apply was rejected. All waves were possible when
// they were planned, so the rejection is no mistake of the user.
func (v *waves) refusedFirst(err error) {
	if isRefused(err) {
		v.complain("the first wave was refused, although all could be done when they were planned; " +
			"something else may have been released since: run the command again")
	}
}

// atAgents returns the terms of a filter with these agents in place of the agents in the terms.
func atAgents(terms, agents []string) []string {
	out := slices.DeleteFunc(slices.Clone(terms),
		func(t string) bool { return strings.HasPrefix(t, "agent=") })
	for _, name := range agents {
		out = append(out, "agent="+name)
	}
	return out
}

// agentsOf returns the agents of the resources that match, sorted.
func (v *waves) agentsOf(ctx context.Context, filter []string) ([]string, error) {
	names := map[string]bool{}
	err := v.home.Resources(ctx, v.env, filter, func(r *api.Resource) error {
		if r.Status != "orphaned" {
			names[r.Agent] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// unwell counts the unhealthy resources that match. Terms about the status are dropped: they apply
// to the status before the work.
func (v *waves) unwell(ctx context.Context, terms []string) (int, error) {
	terms = slices.DeleteFunc(slices.Clone(terms),
		func(t string) bool { return strings.HasPrefix(t, "status=") })
	n := 0
	for _, s := range api.Unhealthy() {
		if err := v.home.Resources(ctx, v.env, append(slices.Clip(terms), "status="+string(s)),
			func(*api.Resource) error {
				n++
				return nil
			}); err != nil {
			return n, err
		}
	}
	return n, nil
}
