// Package workcmd has the commands that work on the released version, such as deploy, dryrun and
// release.
package workcmd

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/work"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// WorkCommands groups deploy and repair, which schedule work on the released version.
type WorkCommands struct {
	*output.Console
	*home.Location
	*home.Session
	Waiter  *work.Waiter
	Waves   *batch.Waves
	Results *work.Results
}

// Commands returns deploy and repair.
func (c *WorkCommands) Commands() []*cobra.Command {
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
	waves         batch.Flags
}

// workCommand makes the command deploy or repair.
func (c *WorkCommands) workCommand(name, short, example string) *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{
		Use: name + " [FILTER]", Short: short, Example: example,
		Long: short + ". It waits until that is done, unless --no-wait. " + usage.FilterHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := state.ParseFilter(args); err != nil {
				return err
			}
			if err := usage.NotNegative(name, "timeout", f.timeout); err != nil {
				return err
			}
			if f.noWait && f.waves.Set() {
				return fault.New(fault.Usage, name, "waves are waited for").
					WithHint("leave out --no-wait, or --batch and --max-parallel")
			}
			if err := f.waves.Checked(); err != nil {
				return err
			}
			return c.work(cmd.Context(), api.Work{Filter: args, Repair: name == "repair",
				RetryFailed: f.retry}, f)
		},
	}
	f.waves.Add(cmd.Flags())
	f.waves.AddGate(cmd.Flags())
	output.FoldFlag(c.Console, cmd)
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "schedule the work and return")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop waiting after this time with exit code 4")
	if name == "deploy" {
		cmd.Flags().BoolVar(&f.retry, "retry-failed", false,
			"retry failed resources now")
	}
	return usage.MessageFlag(cmd)
}

// work schedules work on the released version. Unless the flags disable waiting, work waits for it.
func (c *WorkCommands) work(ctx context.Context, work api.Work, f workFlags) error {
	return c.Within(ctx, f.timeout, func(ctx context.Context) error {
		return c.workNow(ctx, work, f)
	})
}

func (c *WorkCommands) workNow(ctx context.Context, task api.Work, f workFlags) error {
	began := time.Now()
	if err := c.OpenExisting(ctx); err != nil {
		return err
	}
	of, err := c.Waiter.Mark(ctx)
	if err != nil {
		return c.Waiter.Interrupted(err, nil)
	}
	of.Filter = work.Matching(task.Filter)
	if f.waves.Set() {
		return c.inWaves(ctx, task, f, of, began)
	}
	n, err := c.Home.Schedule(ctx, c.Env, task)
	if err != nil {
		return c.Waiter.Interrupted(err, nil)
	}
	if n == 0 && len(task.Filter) > 0 {
		if err := c.somethingMatches(ctx, task.Filter); err != nil {
			return err
		}
		c.Say("no matching resource has work")
	}
	if f.noWait {
		if c.JSON {
			c.Line(map[string]any{"environment": c.Env, "scheduled": n})
		} else {
			c.Printf("%s scheduled\n", output.Plural(n, "resource"))
		}
		return nil
	}
	done, err := c.Waiter.Wait(ctx, of)
	if err != nil {
		return c.Waiter.Interrupted(err, &of)
	}
	return c.worked(ctx, task.Filter, of, done, began)
}

// somethingMatches rejects the terms of a filter that match no existing resource.
func (c *WorkCommands) somethingMatches(ctx context.Context, terms []string) error {
	nothing := nothingMatches(terms)
	if nothing == nil {
		return nil
	}
	found := errors.New("found")
	err := c.Home.Resources(ctx, c.Env, terms, func(*api.Resource) error { return found })
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
	if err != nil || len(terms) == 0 || f.OfState() {
		return err
	}
	return fault.New(fault.Invalid, "", "nothing matches %s", strings.Join(terms, " ")).
		WithHint("`southbound resources` lists all resources")
}

// worked writes the result of deploy or repair for the resources that the terms of a filter select.
func (c *WorkCommands) worked(
	ctx context.Context, terms []string, of work.Request, done work.Result, began time.Time,
) error {
	p := done.Progress
	if p.Released == 0 && !c.JSON {
		c.Printf("environment %s: nothing is released yet; `southbound apply PATH` starts\n", c.Env)
		return nil
	}
	r := api.Report{Environment: c.Env, Version: p.Released, Resources: total(p),
		Unchanged: total(p), Repaired: done.Did.Fixed, Counts: p.ByStatus(),
		Gate: done.Gate, DurationMS: time.Since(began).Milliseconds()}
	var err error
	if r.Recovered, err = c.Waiter.Recovered(ctx, of); err != nil {
		return err
	}
	if done.Scope, err = c.Results.ScopeOf(ctx, terms); err != nil {
		return err
	}
	if s := done.Scope; s != nil {
		r.Resources, r.Unchanged, r.Counts = s.Total, s.Total, s.Counts
	}
	r.Tell(done.Did.Changes)
	return c.Results.Summary(ctx, r, done, false)
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
func (c *WorkCommands) inWaves(
	ctx context.Context, work api.Work, f workFlags, of work.Request, began time.Time,
) error {
	w, err := c.Waves.OfWork(ctx, work, f.waves)
	if err == nil && len(w.Agents) == 0 {
		err = c.somethingMatches(ctx, work.Filter)
	}
	if err != nil {
		return c.Waiter.Interrupted(err, nil)
	}
	waves, err := batch.CutWaves(c.Console, f.waves, w)
	if err == nil {
		err = c.Waves.Gated(ctx, f.waves.Gate, nil, waves)
	}
	if err != nil {
		return err
	}
	done, err := c.Waves.EachWave(ctx, batch.Round{Terms: work.Filter, Flags: f.waves, Waves: waves, Of: of,
		Do: func(wave []string, _ bool) error {
			if len(wave) == 0 {
				return nil // nothing matches, or no work is left
			}
			part := work
			part.Filter = batch.AtAgents(work.Filter, wave)
			_, err := c.Home.Schedule(ctx, c.Env, part)
			return err
		}})
	if err != nil {
		return c.Waiter.Interrupted(err, &of)
	}
	return c.worked(ctx, work.Filter, of, done, began)
}
