package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// releaser is release: it puts a version in force.
type releaser struct {
	*console
	*location
	*session
	waiter  *waiter
	results *results
}

func (rl *releaser) releaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{Use: "release N",
		Short: "Release a stored version",
		Long: "release puts version N in force, deploys the differences, and waits, unless " +
			"--no-wait. It makes no version and removes none: `southbound release` with the " +
			"later number goes back. Until the next export, partial exports are merged into " +
			"version N. On a terminal it asks before it deletes or orphans resources.",
		Example: "  southbound release 11\n  southbound release 12 --no-wait\n" +
			"  southbound release 11 --allow-delete 0\n  southbound release 11 --message 'roll back'", Args: exactArgs(1, "one version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := versionNumber("release", args[0])
			if err != nil {
				return err
			}
			if err := notNegative("release", "timeout", f.timeout); err != nil {
				return err
			}
			if f.waves.set() || len(f.waves.gate) > 0 {
				return fault.New(fault.Usage, "release",
					"a version is released at once, and not in waves").
					WithHint("to go back in waves, apply its documents: `southbound show %d --out DIR`, "+
						"`southbound apply DIR --batch 1,100%%`", number)
			}
			if f.allowDelete < -1 {
				return fault.New(fault.Usage, "release", "--allow-delete is negative").
					WithHint("write how many may be deleted; -1: any number")
			}
			if err := rl.openExisting(cmd.Context()); err != nil {
				return err
			}
			if err := rl.mayRelease(cmd.Context(), number, f); err != nil {
				return err
			}
			return rl.release(cmd.Context(), number, f)
		}}
	foldFlag(rl.console, cmd)
	f.waves.refused(cmd.Flags())
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "schedule the work and return")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop waiting after this time with exit code 4")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "delete and orphan resources without asking on a terminal")
	cmd.Flags().StringVar(&f.author, "author", "",
		"author of the release (default: from CI, or the user)")
	cmd.Flags().StringVar(&f.message, "message", "", "why")
	cmd.Flags().IntVar(&f.allowDelete, "allow-delete", -1, allowDeleteHelp)
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
func (rl *releaser) mayRelease(ctx context.Context, number int, f releaseFlags) error {
	_, sits := terminal(rl.stdin)
	asks := sits && !f.yes
	if f.allowDelete < 0 && !asks {
		return nil
	}
	p, err := rl.home.Progress(ctx, rl.env)
	if err != nil || p.Released == 0 || p.Released == number {
		return err // without a version in force, no resource is deleted
	}
	d, err := rl.home.Compare(ctx, rl.env, p.Released, number, false)
	if err != nil {
		return err
	}
	if d.Refused != nil {
		return d.Refused
	}
	gone, stays := deleted(d.Planned), left(d.Planned)
	switch {
	case f.allowDelete >= 0 && len(gone) > f.allowDelete:
		return fault.New(fault.Refused, "release",
			tooManyDeleted, plural(len(gone), "resource"), f.allowDelete).
			WithHint("`southbound diff %d %d` lists them", p.Released, number)
	case asks && len(gone)+len(stays) > 0:
		return rl.confirm(ctx, gone, stays, number)
	}
	return nil
}

func (rl *releaser) release(ctx context.Context, number int, f releaseFlags) error {
	return rl.within(ctx, f.timeout, func(ctx context.Context) error {
		return rl.releaseNow(ctx, number, f)
	})
}

func (rl *releaser) releaseNow(ctx context.Context, number int, f releaseFlags) error {
	began := time.Now()
	of, err := rl.waiter.mark(ctx)
	if err != nil {
		return cutShort(ctx, err)
	}
	out, err := rl.home.Release(ctx, rl.env, number, api.Origin{
		Author:  firstBytes(cmp.Or(f.author, applier()), maxName),
		Message: firstBytes(f.message, maxMessage)})
	if err != nil {
		return cutShort(ctx, err)
	}
	r := api.Report{Environment: rl.env, Version: out.Version, Origin: api.Origin(out.Origin),
		Resources: out.Resources, Changed: out.Changed, Unchanged: out.Unchanged,
		Removed: out.Removed, Moves: api.Moves{Moved: out.Moved, Moves: out.Moves}}
	if f.noWait {
		return rl.results.stored(ctx, r, began)
	}
	of.nothing, of.idle = true, rl.remote() && out.Changed+out.Removed == 0
	done, err := rl.waiter.wait(ctx, of)
	if err != nil {
		return rl.waiter.interrupted(err, &of)
	}
	r.Tell(done.Did.changes)
	r.Counts, r.DurationMS = done.Progress.ByStatus(), time.Since(began).Milliseconds()
	return rl.results.summary(ctx, r, done, true)
}
