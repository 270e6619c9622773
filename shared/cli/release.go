package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/fault"
)

func (a *app) releaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{Use: "release N", Short: "Put an earlier version in force again, or a later one",
		Long: "release deploys what differs between the version in force and version N, and waits, unless --no-wait. No version is made and none is\n" +
			"lost: `southbound release` with the later number goes back. Until the next export, partial exports are merged into version N. On a terminal it asks before it deletes.",
		Example: "  southbound release 11\n  southbound release 12 --no-wait\n  southbound release 11 --allow-delete 0", Args: exactArgs(1, "one version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := versionNumber("release", args[0])
			if err != nil {
				return err
			}
			if err := notNegative("release", "timeout", f.timeout); err != nil {
				return err
			}
			if f.allowDelete < -1 {
				return fault.New(fault.Usage, "release", "--allow-delete is negative").WithHint("write how many may be deleted; -1: any number")
			}
			if err := a.openExisting(cmd.Context()); err != nil {
				return err
			}
			if err := a.mayRelease(cmd.Context(), number, f); err != nil {
				return err
			}
			return a.release(cmd.Context(), number, f)
		}}
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "only schedule it")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop waiting after this long, with exit code 4")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "delete without asking, on a terminal too")
	cmd.Flags().IntVar(&f.allowDelete, "allow-delete", -1, allowDeleteHelp)
	return cmd
}

// releaseFlags are the flags of release.
type releaseFlags struct {
	workFlags
	yes         bool
	allowDelete int // -1: any number
}

// mayRelease refuses a release that deletes more than it may, and asks at a terminal before one
// that deletes anything.
func (a *app) mayRelease(ctx context.Context, number int, f releaseFlags) error {
	_, sits := terminal(a.stdin)
	asks := sits && !f.yes
	if f.allowDelete < 0 && !asks {
		return nil
	}
	p, err := a.home.Progress(ctx, a.env)
	if err != nil || p.Released == 0 || p.Released == number {
		return err // without a version in force nothing is deleted
	}
	d, err := a.home.Compare(ctx, a.env, p.Released, number, false)
	if err != nil {
		return err
	}
	gone := deleted(d.Planned)
	switch {
	case f.allowDelete >= 0 && len(gone) > f.allowDelete:
		return fault.New(fault.Refused, "release", "%s would be deleted, and --allow-delete says at most %d", plural(len(gone), "resource"), f.allowDelete).
			WithHint("`southbound diff %d %d` lists them; nothing was done", p.Released, number)
	case asks && len(gone) > 0:
		return a.confirm(ctx, gone, nil)
	}
	return nil
}

func (a *app) release(ctx context.Context, number int, f releaseFlags) error {
	return a.within(ctx, f.timeout, func(ctx context.Context) error { return a.releaseNow(ctx, number, f) })
}

func (a *app) releaseNow(ctx context.Context, number int, f releaseFlags) error {
	began := time.Now()
	of, err := a.mark(ctx)
	if err != nil {
		return cutShort(ctx, err)
	}
	out, err := a.home.Release(ctx, a.env, number)
	if err != nil {
		return cutShort(ctx, err)
	}
	r := api.Report{Environment: a.env, Version: out.Version, Origin: api.Origin(out.Origin), Resources: out.Resources, Changed: out.Changed, Unchanged: out.Unchanged,
		Removed: out.Removed}
	if f.noWait {
		return a.stored(ctx, r, began)
	}
	of.nothing, of.idle = true, a.remote() && out.Changed+out.Removed == 0
	done, err := a.wait(ctx, of)
	if err != nil {
		return a.interrupted(err)
	}
	r.Tell(done.Did.changes)
	r.Counts, r.DurationMS = done.Progress.ByStatus(), time.Since(began).Milliseconds()
	return a.summary(ctx, r, done, true)
}
