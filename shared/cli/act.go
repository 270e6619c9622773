package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// workCommands groups deploy and repair, which schedule work on the released version.
type workCommands struct {
	*console
	*location
	*session
	waiter  *waiter
	waves   *waves
	results *results
}

// commands returns deploy and repair.
func (c *workCommands) commands() []*cobra.Command {
	return []*cobra.Command{
		c.workCommand("deploy", "Deploy unfinished resources of the released version",
			"  southbound deploy\n  southbound deploy --retry-failed\n"+
				"  southbound deploy 'fs::File[web1,*'\n  southbound deploy agent=web1 --no-wait"),
		c.workCommand("repair", "Check all resources and correct drift",
			"  southbound repair\n  southbound repair agent=web1"),
	}
}

// workFlags are the flags of deploy and repair.
type workFlags struct {
	noWait, retry bool
	timeout       time.Duration
	waves         waveFlags
}

// workCommand makes the command deploy or repair.
func (c *workCommands) workCommand(name, short, example string) *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{
		Use: name + " [FILTER]", Short: short, Example: example,
		Long: short + ". It waits until that is done, unless --no-wait. " + filterHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := state.ParseFilter(args); err != nil {
				return err
			}
			if err := notNegative(name, "timeout", f.timeout); err != nil {
				return err
			}
			if f.noWait && f.waves.set() {
				return fault.New(fault.Usage, name, "waves are waited for").
					WithHint("leave out --no-wait, or --batch and --max-parallel")
			}
			if err := f.waves.checked(); err != nil {
				return err
			}
			return c.work(cmd.Context(), api.Work{Filter: args, Repair: name == "repair",
				RetryFailed: f.retry}, f)
		},
	}
	f.waves.add(cmd.Flags())
	f.waves.addGate(cmd.Flags())
	foldFlag(c.console, cmd)
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "schedule the work and return")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop waiting after this time with exit code 4")
	if name == "deploy" {
		cmd.Flags().BoolVar(&f.retry, "retry-failed", false,
			"retry failed resources now")
	}
	return cmd
}

// work schedules work on the released version. Unless the flags disable waiting, work waits for it.
func (c *workCommands) work(ctx context.Context, work api.Work, f workFlags) error {
	return c.within(ctx, f.timeout, func(ctx context.Context) error {
		return c.workNow(ctx, work, f)
	})
}

func (c *workCommands) workNow(ctx context.Context, work api.Work, f workFlags) error {
	began := time.Now()
	if err := c.openExisting(ctx); err != nil {
		return err
	}
	of, err := c.waiter.mark(ctx)
	if err != nil {
		return c.waiter.interrupted(err, nil)
	}
	of.filter = matching(work.Filter)
	if f.waves.set() {
		return c.inWaves(ctx, work, f, of, began)
	}
	n, err := c.home.Schedule(ctx, c.env, work)
	if err != nil {
		return c.waiter.interrupted(err, nil)
	}
	if n == 0 && len(work.Filter) > 0 {
		if err := c.somethingMatches(ctx, work.Filter); err != nil {
			return err
		}
		c.say("nothing that matches is to be done")
	}
	if f.noWait {
		if c.json {
			c.line(map[string]any{"environment": c.env, "scheduled": n})
		} else {
			c.printf("%s scheduled\n", plural(n, "resource"))
		}
		return nil
	}
	done, err := c.waiter.wait(ctx, of)
	if err != nil {
		return c.waiter.interrupted(err, &of)
	}
	return c.worked(ctx, work.Filter, of, done, began)
}

// somethingMatches rejects the terms of a filter that match no existing resource.
func (c *workCommands) somethingMatches(ctx context.Context, terms []string) error {
	nothing := nothingMatches(terms)
	if nothing == nil {
		return nil
	}
	found := errors.New("found")
	err := c.home.Resources(ctx, c.env, terms, func(*api.Resource) error { return found })
	switch {
	case errors.Is(err, found):
		return nil
	case err != nil:
		return err
	}
	return nothing
}

// nothingMatches is the error for the terms of a filter that match nothing, for example because a
// name is misspelt. It is nil without terms, and for terms about a status, which no resource may
// have now.
func nothingMatches(terms []string) error {
	f, err := state.ParseFilter(terms)
	if err != nil || len(terms) == 0 || f.Status != "" {
		return err
	}
	return fault.New(fault.Invalid, "", "nothing matches %s", strings.Join(terms, " ")).
		WithHint("`southbound resources` lists all resources")
}

// worked writes the result of deploy or repair for the resources that the terms of a filter select.
func (c *workCommands) worked(
	ctx context.Context, terms []string, of asked, done waited, began time.Time,
) error {
	p := done.Progress
	if p.Released == 0 && !c.json {
		c.printf("environment %s: nothing is released yet; `southbound apply PATH` starts\n", c.env)
		return nil
	}
	r := api.Report{Environment: c.env, Version: p.Released, Resources: total(p),
		Unchanged: total(p), Repaired: done.Did.fixed, Counts: p.ByStatus(),
		Gate: done.Gate, DurationMS: time.Since(began).Milliseconds()}
	var err error
	if r.Recovered, err = c.waiter.recovered(ctx, of); err != nil {
		return err
	}
	if done.Scope, err = c.results.scopeOf(ctx, terms); err != nil {
		return err
	}
	if s := done.Scope; s != nil {
		r.Resources, r.Unchanged, r.Counts = s.total, s.total, s.counts
	}
	r.Tell(done.Did.changes)
	return c.results.summary(ctx, r, done, false)
}

// total counts the resources of the released version.
func total(p api.Progress) int {
	n := 0
	for s, c := range p.Counts {
		if s != state.StatusOrphaned {
			n += c
		}
	}
	return n
}

// inWaves does the work of agents in waves.
func (c *workCommands) inWaves(
	ctx context.Context, work api.Work, f workFlags, of asked, began time.Time,
) error {
	w, err := c.waves.ofWork(ctx, work, f.waves)
	if err == nil && len(w.agents) == 0 {
		err = c.somethingMatches(ctx, work.Filter)
	}
	if err != nil {
		return c.waiter.interrupted(err, nil)
	}
	waves, err := cutWaves(c.console, f.waves, w)
	if err == nil {
		err = c.waves.gated(ctx, f.waves.gate, nil, waves)
	}
	if err != nil {
		return err
	}
	done, err := c.waves.eachWave(ctx, round{terms: work.Filter, flags: f.waves, waves: waves, of: of,
		do: func(wave []string, _ bool) error {
			if len(wave) == 0 {
				return nil // nothing matches, or no work is left
			}
			part := work
			part.Filter = atAgents(work.Filter, wave)
			_, err := c.home.Schedule(ctx, c.env, part)
			return err
		}})
	if err != nil {
		return c.waiter.interrupted(err, &of)
	}
	return c.worked(ctx, work.Filter, of, done, began)
}
