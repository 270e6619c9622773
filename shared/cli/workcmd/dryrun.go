package workcmd

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// DryRunner is dryrun: it compares the released version with reality.
type DryRunner struct {
	*output.Console
	*home.Location
	*home.Session
	Waves *batch.Waves
}

// DryRunCommand returns the command dryrun.
func (dr *DryRunner) DryRunCommand() *cobra.Command {
	var exitCode bool
	var waves batch.Flags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "dryrun [VERSION] [FILTER]",
		Short: "Compare a version with reality and change nothing",
		Long: "dryrun compares the released version, or version VERSION, with the machines, and " +
			"shows the changes that a repair would make.\n" +
			usage.FilterHelp,
		Example: "  southbound dryrun\n  southbound dryrun agent=web1\n" +
			"  southbound dryrun 12 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			number, terms, err := versionAndFilter(args)
			if err != nil {
				return err
			}
			if err := waves.Checked(); err != nil {
				return err
			}
			if err := usage.NotNegative("dryrun", "timeout", timeout); err != nil {
				return err
			}
			return dr.Within(cmd.Context(), timeout, func(ctx context.Context) error {
				return dr.dryRunNow(ctx, number, terms, waves, exitCode)
			})
		},
	}
	dr.FullFlag(cmd)
	output.FoldFlag(dr.Console, cmd)
	waves.Add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop after this time with exit code 4")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 5 if anything differs")
	return cmd
}

func (dr *DryRunner) dryRunNow(
	ctx context.Context, number int, terms []string, waves batch.Flags, exitCode bool,
) error {
	if err := dr.OpenExisting(ctx); err != nil {
		return err
	}
	if p, err := dr.Home.Progress(ctx, dr.Env); err != nil {
		return err
	} else if number == 0 && p.Released == 0 {
		return fault.New(fault.NotFound, "dryrun", "nothing is released yet").
			WithHint("`southbound apply PATH` stores the first version; `southbound plan PATH` compares " +
				"documents that are not stored")
	}
	d, err := dr.dryRun(ctx, number, terms, waves)
	if fault.Is(context.Cause(ctx), fault.Timeout) {
		return output.TooLate("everything was compared with reality", d.Unread)
	}
	if err != nil {
		return err
	}
	if len(d.Planned) == 0 {
		if err := nothingMatches(terms); err != nil {
			return err
		}
	}
	dr.Say("dry run of version %d: %d of %d compared with reality", d.Version, d.Covered,
		len(d.Planned))
	err = dr.ShowPlan(d.Planned,
		output.PlanExit{Changes: exitCode, Differences: exitCode, Refused: d.Refused, Read: true})
	if err == nil {
		output.WouldBeRefused(dr.Console, d.Version, d.Refused)
	}
	return err
}

// dryRun compares the matching resources of a version with reality, in waves if f sets waves.
func (dr *DryRunner) dryRun(
	ctx context.Context, number int, terms []string, f batch.Flags,
) (deploy.DryRun, error) {
	if !f.Set() {
		return dr.Home.DryRun(ctx, dr.Env, number, terms, dr.Full)
	}
	agents, err := dr.agentsOfVersion(ctx, number, terms)
	if err != nil {
		return deploy.DryRun{}, err
	}
	waves, err := batch.CutWaves(dr.Console, f, batch.Workload{Agents: agents, Known: agents})
	if err != nil {
		return deploy.DryRun{}, err
	}
	all := deploy.DryRun{Version: number}
	for i, wave := range waves {
		dr.Say("wave %d of %d: %s", i+1, len(waves), output.Named(wave))
		d, err := dr.Home.DryRun(ctx, dr.Env, number, batch.AtAgents(terms, wave), dr.Full)
		if err != nil {
			all.Unread = slices.Concat(append([][]string{d.Unread}, waves[i+1:]...)...)
			return all, err
		}
		all.Version, all.Covered = d.Version, all.Covered+d.Covered
		all.Refused = d.Refused
		all.Planned = append(all.Planned, d.Planned...)
		failed := slices.ContainsFunc(d.Planned,
			func(w deploy.PlannedChange) bool { return w.Failed })
		if rest := slices.Concat(waves[i+1:]...); failed && f.Batch != "" && len(rest) > 0 {
			dr.Say("wave %d failed; not compared: %s", i+1, output.Named(rest))
			break
		}
	}
	return all, nil
}

// agentsOfVersion returns the agents of the matching resources of a version; 0 is the released
// version.
func (dr *DryRunner) agentsOfVersion(
	ctx context.Context, number int, terms []string,
) ([]string, error) {
	if number == 0 {
		return dr.Waves.AgentsOf(ctx, terms)
	}
	f, err := state.ParseFilter(terms)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	err = dr.Home.Descriptions(ctx, dr.Env, number, "", func(d *api.Description) error {
		if len(f.Agents) == 0 || slices.Contains(f.Agents, d.Agent) {
			names[d.Agent] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// versionAndFilter parses the arguments of dryrun: the number of a version, 0 if there is none, and
// the terms of a filter.
func versionAndFilter(args []string) (number int, terms []string, err error) {
	if len(args) > 0 && !strings.ContainsAny(args[0], usage.FilterSigns) {
		if number, err = strconv.Atoi(args[0]); err != nil || number < 1 {
			return 0, nil, fault.New(fault.Usage, "dryrun", "%q is not a version, and not a filter",
				args[0]).
				WithHint("`southbound versions` lists versions; %s", usage.FilterHelp)
		}
		args = args[1:]
	}
	if len(args) > 0 && !strings.ContainsAny(args[0], usage.FilterSigns) {
		return 0, nil, fault.New(fault.Usage, "dryrun",
			"expected at most one version, and %q is not a filter", args[0]).WithHint("%s",
			usage.FilterHelp)
	}
	_, err = state.ParseFilter(args)
	return number, args, err
}
