package exportcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/local"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Planner is plan and validate: it shows the effect of an export, and changes nothing.
type Planner struct {
	*output.Console
	*home.Location
	*home.Session
	Docs  *input.Documents
	Files *PlanFiles
}

// PlanCommand returns the command plan.
func (p *Planner) PlanCommand() *cobra.Command {
	var f exportFlags
	var exitCode, noRead bool
	read := true
	var out string
	cmd := &cobra.Command{
		Use: "plan PATH [FILTER]", Short: "Preview an apply",
		Long: "plan compares the documents under PATH with the last version and with the " +
			"machines. It changes and stores nothing. With --no-read it reads no machine: that " +
			"is fast, and shows neither drift nor commands that would run.\nWith --out it " +
			"writes the plan to a file. `southbound apply FILE` then does exactly that, or " +
			"nothing if the state or a machine has changed. The file contains the documents " +
			"and their files, and no value of a secret.\n" + targetHelp,
		Example: "  southbound plan .\n  southbound plan . agent=web1\n" +
			"  southbound plan . --no-read\n  southbound plan . --out site.plan\n" +
			"  southbound plan teams/a --partial\n  southbound plan . --exit-code --json",
		Args: usage.PathAndFilter,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.filter = args[1:]
			if err := f.targeted("plan"); err != nil {
				return err
			}
			if out != "" {
				if f.waves.Set() {
					return fault.New(fault.Usage, "plan",
						"a kept plan has no waves: it is carried out in one step").
						WithHint("leave out --batch and --max-parallel, or keep no plan")
				}
				if err := mayKeep(out); err != nil {
					return err
				}
			}
			if err := usage.NotNegative("plan", "timeout", f.timeout); err != nil {
				return err
			}
			return p.Within(cmd.Context(), f.timeout, func(ctx context.Context) error {
				left, err := p.planNow(ctx, args[0], out, f, read && !noRead, exitCode)
				if err == nil || !fault.Is(context.Cause(ctx), fault.Timeout) {
					return err
				}
				if cut := input.CutCompiling(err, "nothing was changed; --timeout may be longer"); cut != nil {
					return cut
				}
				return output.TooLate("the plan was made", left)
			})
		},
	}
	p.FullFlag(cmd)
	output.FoldFlag(p.Console, cmd)
	f.waves.Add(cmd.Flags())
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 5 if anything would change")
	cmd.Flags().BoolVar(&noRead, "no-read", false, "compare documents only, without reading machines")
	cmd.Flags().BoolVar(&read, "read", true, "compare with reality")
	_ = cmd.Flags().MarkHidden("read") // the default
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this time with exit code 4")
	cmd.Flags().StringVar(&out, "out", "", "write the plan to this `FILE`, for apply")
	cmd.Flags().BoolVar(&f.partial, "partial", false, "plan a partial export")
	cmd.Flags().StringSliceVar(&f.deleteSets, "delete-set", nil,
		"plan the removal of a resource set; with --partial")
	return cmd
}

// sayIfNew reports that an export would create the environment, if it was named and does not exist:
// the name may be misspelt.
func (p *Planner) sayIfNew(ctx context.Context) error {
	if !p.Named {
		return nil
	}
	err := p.There(ctx)
	if !fault.Is(err, fault.NotFound) {
		return err
	}
	names, err := p.Home.Environments(ctx)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("environment %q is new: applying this makes it", p.Location.Env)
	if similar := schema.Nearest(p.Location.Env, names); similar != "" {
		what += fmt.Sprintf("; there is %q", similar)
	}
	p.Say("%s", what)
	return nil
}

// planNow makes a plan and shows it, and keeps it in a file if one is named. left names the agents
// that an error has prevented from being compared with reality.
func (p *Planner) planNow(ctx context.Context, path, out string, f exportFlags,
	read, exitCode bool) (left []string, err error) {
	if err := p.OpenToRead(ctx, path); err != nil {
		return nil, err
	}
	if err := p.sayIfNew(ctx); err != nil {
		return nil, err
	}
	in, err := p.Docs.Load(ctx, path, f.partial)
	if err != nil {
		return nil, err
	}
	if p.Remote() {
		if err := in.Check(in.Model).Err(); err != nil {
			return nil, err
		}
	}
	if err := withPackages(ctx, p.Session, p.Docs, path, in.Model); err != nil {
		return nil, err
	}
	if err := emptySets(ctx, p.Session, f.deleteSets); err != nil {
		return nil, err
	}
	target, _ := state.ParseFilter(f.filter)
	x := deploy.Export{Model: in.Model, Target: target, Partial: f.partial,
		DeleteSets: f.deleteSets, Settings: p.Project.Settings}
	opts := deploy.CompareOptions{Read: read, Whole: p.Full}
	if out != "" {
		if err := p.Keyed(in.Model); err != nil {
			return nil, err
		}
		return nil, p.Files.showKept(ctx, path, out, x, opts, exitCode)
	}
	d, err := p.Home.Plan(ctx, p.Env, x, opts)
	if err == nil {
		err = context.Cause(ctx) // a read that was cut off may look failed
	}
	if err == nil {
		err = p.inOrder(ctx, d.Planned, x, f.waves, read)
	}
	if err != nil {
		return d.Unread, err
	}
	exit := output.PlanExit{Changes: exitCode, Read: read, Agents: d.Agents}
	if err := p.ShowPlan(d.Planned, exit); err != nil {
		return nil, err
	}
	if !read {
		output.SayUnread(p.Console)
	}
	p.sayHeld(ctx, d.Planned)
	return nil, nil
}

// sayHeld reports which actions of a plan would wait, since the agent is paused or the environment
// halted.
func (p *Planner) sayHeld(ctx context.Context, planned []deploy.PlannedChange) {
	agents := map[string]bool{}
	for i := range planned {
		if w := &planned[i]; w.Action != "none" && w.Action != "orphan" && !w.Failed {
			agents[w.ID.Agent()] = true
		}
	}
	if len(agents) == 0 {
		return
	}
	now, err := p.Home.Progress(ctx, p.Env)
	if err != nil {
		return // the plan is valid without it
	}
	if now.Halted {
		p.Say("the environment is halted: all of that would wait for `southbound unhalt`")
	}
	for _, a := range now.Paused {
		if agents[a] {
			p.Say("agent %s is paused: its changes would wait for `southbound resume %s`", a,
				a)
		}
	}
}

// ValidateCommand returns the command validate.
func (p *Planner) ValidateCommand() *cobra.Command {
	var f exportFlags
	var secrets bool
	cmd := &cobra.Command{
		Use: "validate PATH", Short: "Check documents offline",
		Long: "validate checks the documents under PATH as an export does. It needs no data " +
			"directory and no secrets. With --secrets it also checks that secrets of this " +
			"machine (env:, file:, sops:, vault:, command:) can be read. With --partial, requirements may name resources " +
			"outside of the documents. Agents of providers in southbound.lock are checked as far as the " +
			"providers are installed here.",
		Example: "  southbound validate .\n  southbound validate teams/a --partial\n" +
			"  southbound validate . --secrets\n  southbound validate . --json",
		Args: usage.ExactArgs(1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			project, err := source.FindProject(args[0])
			if err != nil {
				return err
			}
			in, err := p.Docs.Load(cmd.Context(), args[0], f.partial)
			if err != nil {
				return err
			}
			problems := in.Check(in.Model)
			if secrets && home.Pick(p.API, "SOUTHBOUND_API", project.API, "") == "" { // else the server knows
				problems = append(problems, in.Model.UnsetSecrets(func(ref resource.Secret) error {
					return local.CheckSecret(cmd.Context(), ref)
				})...)
			}
			more, err := p.bridged(cmd.Context(), in.Model, project.Dir)
			if err != nil {
				return err
			}
			if err := append(problems, more...).Err(); err != nil {
				return err
			}
			if p.JSON {
				p.Line(api.ValidLine{Valid: true, Resources: len(in.Model.Resources)})
			} else {
				p.Printf("%s, no problems\n", output.Plural(len(in.Model.Resources), "resource"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.partial, "partial", false, "check for a partial export")
	cmd.Flags().BoolVar(&secrets, "secrets", false,
		"also check that secrets of this machine are set; with an API, use plan")
	return cmd
}
