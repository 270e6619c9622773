// Package batch does the work of agents in waves, with gates between them.
package batch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

// Flags define the waves of agents, and the resources that must be healthy between two waves.
type Flags struct {
	Batch    string
	Parallel int
	Gate     []string // terms of a filter
}

// Add adds the flags of waves to fl.
func (f *Flags) Add(fl *pflag.FlagSet) {
	fl.StringVar(&f.Batch, "batch", "",
		"deploy to agents in waves, such as 1,10%,100% or web1,100%; stop when a wave fails")
	fl.IntVar(&f.Parallel, "max-parallel", 0, "maximum number of agents that work concurrently")
}

// AddGate adds the flag --gate to fl.
func (f *Flags) AddGate(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.Gate, "gate", nil,
		"continue after a wave only if these resources are deployed: a term of a `FILTER`; repeatable")
}

// Refused adds the flags to a command that has no waves; setting them there is an error.
func (f *Flags) Refused(fl *pflag.FlagSet) {
	f.Add(fl)
	f.AddGate(fl)
	for _, name := range []string{"batch", "max-parallel", "gate"} {
		_ = fl.MarkHidden(name)
	}
}

// Set reports whether the flags request waves.
func (f *Flags) Set() bool { return f.Batch != "" || f.Parallel != 0 }

// Checked validates the flags as far as validation does not depend on agents.
func (f *Flags) Checked() error {
	if f.Parallel < 0 {
		return fault.New(fault.Usage, "", "--max-parallel is negative").
			WithHint("write the number of agents that may work concurrently")
	}
	if _, err := f.steps(); err != nil || len(f.Gate) == 0 {
		return err
	}
	if f.Batch == "" {
		return fault.New(fault.Usage, "", "--gate stands between the waves of --batch").
			WithHint("add --batch, such as --batch 1,100%%")
	}
	filter, err := state.ParseFilter(f.Gate)
	if err == nil && filter.OfState() {
		err = fault.New(fault.Usage, "", "--gate asks for the status deployed itself").
			WithHint("leave out status=")
	}
	return err
}

// step is an item of --batch: a number of agents, a percentage of them, or the name of one.
type step struct {
	agent   string
	n       int
	percent bool
}

// steps parses --batch.
func (f *Flags) steps() ([]step, error) {
	if f.Batch == "" {
		return nil, nil
	}
	var out []step
	for _, text := range strings.Split(f.Batch, ",") {
		text = strings.TrimSpace(text)
		digits, percent := strings.CutSuffix(text, "%")
		n, err := strconv.Atoi(digits)
		switch {
		case text == "" || percent && err != nil, err == nil && (n < 1 || percent && n > 100):
			return nil, fault.New(fault.Usage, "", "%q is not the size of a wave", text).
				WithHint("write numbers of agents, percentages or names of agents, such as " +
					"web1,10%%,100%%")
		case err != nil:
			out = append(out, step{agent: text})
		default:
			out = append(out, step{n: n, percent: percent})
		}
	}
	return out, nil
}

// Workload holds the agents, or the instances of services, that have work, in order, and all names
// that --batch accepts. noun names them in messages; "": agents.
type Workload struct {
	Agents, Known []string
	Noun          string
}

// Waves divides agents with work into waves according to the flags. idle are the agents that
// --batch names and that have no work.
func (f *Flags) Waves(w Workload) (out [][]string, idle []string, err error) {
	steps, err := f.steps()
	if err != nil {
		return nil, nil, err
	}
	rest := slices.Clone(w.Agents)
	for _, s := range steps {
		i := slices.Index(rest, s.agent)
		switch {
		case s.agent == "":
		case i >= 0:
			rest = slices.Delete(rest, i, i+1)
		case slices.Contains(w.Agents, s.agent): // it is named twice
		case slices.Contains(w.Known, s.agent):
			idle = append(idle, s.agent)
		default:
			return nil, nil, w.unknown(s.agent)
		}
	}
	named := map[string]bool{}
	last := step{n: 100, percent: true}
	for i := 0; i < len(steps) || len(rest) > 0; i++ {
		if i < len(steps) && steps[i].agent != "" {
			name := steps[i].agent
			if slices.Contains(w.Agents, name) && !named[name] {
				named[name] = true
				out = append(out, []string{name})
			}
			continue
		}
		if i < len(steps) {
			last = steps[i]
		}
		n := f.size(last, len(w.Agents), len(rest))
		if n > 0 {
			out = append(out, rest[:n:n])
		}
		rest = rest[n:]
	}
	return out, idle, nil
}

// size returns how many of the remaining agents a step takes.
func (f *Flags) size(s step, all, left int) int {
	n := s.n
	if s.percent {
		n = max(1, n*all/100)
	}
	if f.Parallel > 0 {
		n = min(n, f.Parallel)
	}
	return min(n, left)
}

// unknown is the error of an unknown name in --batch.
func (w Workload) unknown(name string) error {
	what := "an agent here"
	hint := "name an agent of the documents or of the version in force, or write sizes such as 1,10%,100%"
	if w.Noun != "" {
		what = "an " + w.Noun + " of the service"
		hint = "name one that `southbound service instances NAME` lists, or write sizes such as 1,10%,100%"
	}
	if near := schema.Nearest(name, w.Known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fault.New(fault.Invalid, "", "--batch names %q, which is neither the size of a wave nor %s",
		name, what).WithHint("%s", hint)
}
