package workcmd

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/work"
	"southbound/shared/fault"
)

// Releaser is release: it puts a version in force.
type Releaser struct {
	*output.Console
	*home.Location
	*home.Session
	Waiter  *work.Waiter
	Results *work.Results
}

// ReleaseCommand returns the command release.
func (rl *Releaser) ReleaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{Use: "release N",
		Short: "Release a stored version",
		Long: "release puts version N in force, deploys the differences, and waits, unless " +
			"--no-wait. It makes no version and removes none: `southbound release` with the " +
			"later number goes back. Until the next export, partial exports are merged into " +
			"version N. On a terminal it asks before it deletes or orphans resources.",
		Example: "  southbound release 11\n  southbound release 12 --no-wait\n" +
			"  southbound release 11 --allow-delete 0\n  southbound release 11 --message 'roll back'", Args: usage.ExactArgs(1, "one version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := usage.VersionNumber("release", args[0])
			if err != nil {
				return err
			}
			if err := usage.NotNegative("release", "timeout", f.timeout); err != nil {
				return err
			}
			if f.waves.Set() || len(f.waves.Gate) > 0 {
				return fault.New(fault.Usage, "release",
					"a version is released in one step, and not in waves").
					WithHint("to go back in waves, apply its documents: `southbound show %d --out DIR`, "+
						"`southbound apply DIR --batch 1,100%%`", number)
			}
			if f.allowDelete < -1 {
				return fault.New(fault.Usage, "release", "--allow-delete is negative").
					WithHint("write how many may be deleted; -1: any number")
			}
			if err := rl.OpenExisting(cmd.Context()); err != nil {
				return err
			}
			if err := rl.mayRelease(cmd.Context(), number, f); err != nil {
				return err
			}
			return rl.release(cmd.Context(), number, f)
		}}
	output.FoldFlag(rl.Console, cmd)
	f.waves.Refused(cmd.Flags())
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "schedule the work and return")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop waiting after this time with exit code 4")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "delete and orphan resources without asking on a terminal")
	cmd.Flags().StringVar(&f.author, "author", "",
		"author of the release (default: from CI, or the user)")
	cmd.Flags().StringVar(&f.message, "message", "", "why")
	cmd.Flags().IntVar(&f.allowDelete, "allow-delete", -1, output.AllowDeleteHelp)
	return cmd
}

// releaseFlags are the flags of release.
type releaseFlags struct {
	workFlags
	author      string
	message     string
	yes         bool
	allowDelete int // -1: any number
}

// mayRelease rejects a release that deletes more resources than permitted. At a terminal, it asks
// before a release that deletes resources or leaves them behind.
func (rl *Releaser) mayRelease(ctx context.Context, number int, f releaseFlags) error {
	_, interactive := output.Terminal(rl.Stdin)
	asks := interactive && !f.yes
	if f.allowDelete < 0 && !asks {
		return nil
	}
	p, err := rl.Home.Progress(ctx, rl.Env)
	if err != nil || p.Released == 0 || p.Released == number {
		return err // without a version in force, no resource is deleted
	}
	d, err := rl.Home.Compare(ctx, rl.Env, p.Released, number, false)
	if err != nil {
		return err
	}
	if d.Refused != nil {
		return d.Refused
	}
	gone, stays := output.Deleted(d.Planned), output.Left(d.Planned)
	switch {
	case f.allowDelete >= 0 && len(gone) > f.allowDelete:
		return fault.New(fault.Refused, "release",
			output.TooManyDeleted, output.Plural(len(gone), "resource"), f.allowDelete).
			WithHint("`southbound diff %d %d` lists them", p.Released, number)
	case asks && len(gone)+len(stays) > 0:
		return rl.Confirm(ctx, gone, stays, number)
	}
	return nil
}

func (rl *Releaser) release(ctx context.Context, number int, f releaseFlags) error {
	return rl.Within(ctx, f.timeout, func(ctx context.Context) error {
		return rl.releaseNow(ctx, number, f)
	})
}

func (rl *Releaser) releaseNow(ctx context.Context, number int, f releaseFlags) error {
	began := time.Now()
	of, err := rl.Waiter.Mark(ctx)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	out, err := rl.Home.Release(ctx, rl.Env, number, api.Origin{
		Author:  input.FirstBytes(cmp.Or(f.author, input.Applier()), input.MaxName),
		Message: input.FirstBytes(f.message, input.MaxMessage)})
	if err != nil {
		return input.CutShort(ctx, err)
	}
	r := api.Report{Environment: rl.Env, Version: out.Version, Origin: api.Origin(out.Origin),
		Resources: out.Resources, Changed: out.Changed, Unchanged: out.Unchanged,
		Removed: out.Removed, Moves: api.Moves{Moved: out.Moved, Moves: out.Moves}}
	if f.noWait {
		return rl.Results.Stored(ctx, r, began)
	}
	of.Nothing, of.Idle = true, rl.Remote() && out.Changed+out.Removed == 0
	done, err := rl.Waiter.Wait(ctx, of)
	if err != nil {
		return rl.Waiter.Interrupted(err, &of)
	}
	r.Tell(done.Did.Changes)
	r.Counts, r.DurationMS = done.Progress.ByStatus(), time.Since(began).Milliseconds()
	return rl.Results.Summary(ctx, r, done, true)
}
