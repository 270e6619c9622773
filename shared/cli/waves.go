package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"southbound/shared/api"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// waveFlags say in which waves agents are worked on.
type waveFlags struct {
	batch    string
	parallel int
}

func (f *waveFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.batch, "batch", "",
		"agents in waves, such as 1,10%,100%; stops when a wave does not go well")
	fl.IntVar(&f.parallel, "max-parallel", 0, "work on at most this many agents at once")
}

// set reports whether there are to be waves.
func (f *waveFlags) set() bool { return f.batch != "" || f.parallel != 0 }

// waves cuts agents into waves: of the sizes that --batch names, the last of which is repeated, and
// of no more than --max-parallel. A percentage is one of all agents.
func (f *waveFlags) waves(agents []string) ([][]string, error) {
	if f.parallel < 0 {
		return nil, fault.New(fault.Usage, "", "--max-parallel is negative").
			WithHint("write how many agents to work on at once")
	}
	sizes := []int{len(agents)}
	if f.batch != "" {
		sizes = nil
		for _, text := range strings.Split(f.batch, ",") {
			digits, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
			n, err := strconv.Atoi(digits)
			if err != nil || n < 1 || percent && n > 100 {
				return nil, fault.New(fault.Usage, "", "%q is not the size of a wave", text).
					WithHint("write numbers of agents, or percentages, such as 1,10%%,100%%")
			}
			if percent {
				n = max(1, n*len(agents)/100)
			}
			sizes = append(sizes, n)
		}
	}
	var out [][]string
	for i := 0; len(agents) > 0; i++ {
		n := sizes[min(i, len(sizes)-1)]
		if f.parallel > 0 {
			n = min(n, f.parallel)
		}
		n = min(n, len(agents))
		out, agents = append(out, agents[:n]), agents[n:]
	}
	return out, nil
}

// waves does work at some agents after the others, and looks how it went before it goes on.
type waves struct {
	*console
	*location
	*session
	waiter *waiter
}

// eachWave has do ask for the work of each wave of agents, and waits for it. With --batch it stops
// when a wave has left something that matches and is not well, and leaves the agents after it as
// they are. So it does in any case from a wave on that is refused; that of the first is an error, as
// nothing was done.
func (v *waves) eachWave(ctx context.Context, terms []string, f waveFlags, agents []string,
	of asked,
	do func(wave []string, last bool) error) (done waited, err error) {
	waves, err := f.waves(agents)
	if err != nil {
		return done, err
	}
	if len(waves) == 0 {
		waves = [][]string{nil}
	}
	for i, wave := range waves {
		if len(wave) > 0 {
			v.say("wave %d of %d: %s", i+1, len(waves), named(wave))
		}
		if err := do(wave, i+1 == len(waves)); i > 0 && isRefused(err) {
			v.refusedLate(err, i+1, slices.Concat(waves[i:]...))
			break
		} else if err != nil {
			return done, err
		}
		fixed := done.Did.fixed
		if done, err = v.waiter.wait(ctx, of); err != nil {
			return done, err
		}
		if !v.remote() {
			done.Did.fixed += fixed // each wait counts its own
		}
		rest := slices.Concat(waves[i+1:]...)
		if f.batch == "" || len(rest) == 0 {
			continue
		}
		bad, err := v.unwell(ctx, atAgents(terms, wave))
		if err != nil {
			return done, err
		}
		if bad > 0 || done.Stuck {
			v.say("wave %d did not go well; left as they are: %s", i+1, named(rest))
			v.code = exitUnhealthy
			break
		}
	}
	return done, nil
}

// isRefused reports whether an error says that something is not done since it must not be.
func isRefused(err error) bool {
	problems, _ := diag.Of(err)
	return fault.Is(err, fault.Refused) || len(problems) > 0
}

// refusedLate tells of a wave that is refused although all of them could be done when they were
// planned: that those before it were done, and that somebody has released something meanwhile.
func (v *waves) refusedLate(err error, number int, rest []string) {
	problems, more := diag.Of(err)
	v.problems(problems, more)
	v.complain("wave %d was refused, as something else was released since the waves were planned; "+
		"left as they are: %s", number, named(rest))
	v.code = exitUnhealthy
}

// refusedFirst tells of an error, if it refuses the first wave of an apply, that all of them could be
// done when they were planned. What was refused then is no mistake of whoever gave the command.
func (v *waves) refusedFirst(err error) {
	if isRefused(err) {
		v.complain("the first wave was refused, although all could be done when they were planned; " +
			"something else may have been released since: run the command again")
	}
}

// atAgents returns terms of a filter with these agents in place of those that they name.
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

// unwell counts the resources that match and that something is wrong with. What the terms say of a
// status was meant for before the work.
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

// maxNamed bounds how many agents of a wave are named.
const maxNamed = 5

// named names the first few agents.
func named(agents []string) string {
	text := strings.Join(agents[:min(len(agents), maxNamed)], ", ")
	if more := len(agents) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return oneLine(text)
}
