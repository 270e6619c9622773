package workcmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Upkeep removes data that is no longer needed: gc and forget.
type Upkeep struct {
	*output.Console
	*home.Location
	*home.Session
}

// ForgetCommand returns the command forget.
func (u *Upkeep) ForgetCommand() *cobra.Command {
	return usage.MessageFlag(&cobra.Command{Use: "forget ID|agent=NAME|FILTER",
		Short: "Forget orphaned resources or a retired agent",
		Long: "forget removes the record of a resource that left the model, or of an agent that " +
			"manages no resource any longer with all its orphaned resources. With a FILTER it " +
			"removes the records of all matching resources that left the model. The real " +
			"things stay as they are, and `southbound logs` keeps their actions. A resource of " +
			"the version in force cannot be forgotten.\n" + usage.FilterHelp,
		Example: "  southbound forget 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound forget agent=web1\n  southbound forget status=orphaned",
		Args: usage.AtLeastOne("an id, agent=NAME or a FILTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := forgetting(args)
			if err == nil {
				err = u.OpenExisting(cmd.Context())
			}
			if err != nil {
				return err
			}
			return u.forget(cmd.Context(), f)
		}})
}

// forgetting parses the arguments of forget.
func forgetting(args []string) (api.Forgetting, error) {
	if len(args) == 1 {
		name, is := strings.CutPrefix(args[0], "agent=")
		switch {
		case is && name == "":
			return api.Forgetting{}, fault.New(fault.Usage, "forget", "agent= names no agent").
				WithHint("name the id of a resource, or agent=NAME")
		case is:
			return api.Forgetting{Agent: name}, nil
		case !strings.ContainsAny(args[0], usage.FilterSigns):
			_, err := resource.ParseID(args[0])
			return api.Forgetting{}, fault.New(fault.Usage, "forget", "%v", err).
				WithHint("name the id of a resource, agent=NAME or a FILTER")
		}
		if _, err := resource.ParseID(args[0]); err == nil && !strings.ContainsAny(args[0], "*?") {
			return api.Forgetting{ID: resource.ID(args[0])}, nil
		}
	}
	_, err := state.ParseFilter(args)
	return api.Forgetting{Filter: args}, err
}

func (u *Upkeep) forget(ctx context.Context, f api.Forgetting) error {
	out, err := u.Home.Forget(ctx, u.Env, f)
	if err != nil {
		return err
	}
	if u.JSON {
		u.Line(out)
		return nil
	}
	u.Printf("forgot %s\n", output.Plural(out.Forgotten, "resource"))
	return nil
}

// GCCommand returns the command gc.
func (u *Upkeep) GCCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{Use: "gc", Short: "Remove old versions, actions and unused files",
		Example: "  southbound gc\n  southbound gc --grace 1h",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.NotNegative("gc", "grace", grace); err != nil {
				return err
			}
			if err := u.OpenExisting(cmd.Context()); err != nil {
				return err
			}
			// Zero stands for the default grace period; the shortest period stands for none.
			out, err := u.Home.Collect(cmd.Context(), u.Env, max(grace, time.Millisecond))
			if err != nil {
				return err
			}
			if u.JSON {
				u.Line(out)
			} else {
				u.Printf("removed %s, %s, %s\n", output.Plural(out.Versions, "version"),
					output.Plural(out.Actions, "action"), output.Plural(out.Files, "file"))
			}
			return nil
		}}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "age up to which unused files are kept")
	return cmd
}
