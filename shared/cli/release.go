package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
)

func (a *app) releaseCommand() *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{Use: "release N", Short: "Put an earlier version in force again, or a later one",
		Long: "release deploys what differs between the version in force and version N, and waits, unless --no-wait. No version is made and none is\n" +
			"lost: `southbound release` with the later number goes back. Until the next export, partial exports are merged into version N.",
		Example: "  southbound release 11\n  southbound release 12 --no-wait", Args: exactArgs(1, "one version"),
		RunE: func(cmd *cobra.Command, args []string) error {
			number, err := versionNumber("release", args[0])
			if err != nil {
				return err
			}
			if err := notNegative("release", "timeout", f.timeout); err != nil {
				return err
			}
			if err := a.lookAt(cmd.Context()); err != nil {
				return err
			}
			return a.release(cmd.Context(), number, f)
		}}
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "only schedule it")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop waiting after this long, with exit code 4")
	return cmd
}

func (a *app) release(ctx context.Context, number int, f workFlags) error {
	began := time.Now()
	ctx, cancel := withTimeout(ctx, f.timeout)
	defer cancel()
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
