package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// upkeep removes data that is no longer needed: gc and forget.
type upkeep struct {
	*console
	*location
	*session
}

func (u *upkeep) forgetCommand() *cobra.Command {
	return &cobra.Command{Use: "forget ID|agent=NAME|FILTER",
		Short: "Forget orphaned resources or a retired agent",
		Long: "forget removes the record of a resource that left the model, or of an agent that " +
			"manages no resource any longer with all its orphaned resources. With a FILTER it " +
			"removes the records of all matching resources that left the model. The real " +
			"things stay as they are, and `southbound logs` keeps their actions. A resource of " +
			"the version in force cannot be forgotten.\n" + filterHelp,
		Example: "  southbound forget 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound forget agent=web1\n  southbound forget status=orphaned",
		Args: atLeastOne("an id, agent=NAME or a FILTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := forgetting(args)
			if err == nil {
				err = u.openExisting(cmd.Context())
			}
			if err != nil {
				return err
			}
			return u.forget(cmd.Context(), f)
		}}
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
		case !strings.ContainsAny(args[0], filterSigns):
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

func (u *upkeep) forget(ctx context.Context, f api.Forgetting) error {
	out, err := u.home.Forget(ctx, u.env, f)
	if err != nil {
		return err
	}
	if u.json {
		u.line(out)
		return nil
	}
	u.printf("forgot %s\n", plural(out.Forgotten, "resource"))
	return nil
}

func (u *upkeep) gcCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{Use: "gc", Short: "Remove old versions, actions and unused files",
		Example: "  southbound gc\n  southbound gc --grace 1h",
		Args:    exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notNegative("gc", "grace", grace); err != nil {
				return err
			}
			if err := u.openExisting(cmd.Context()); err != nil {
				return err
			}
			// Zero stands for the default grace period; the shortest period stands for none.
			out, err := u.home.Collect(cmd.Context(), u.env, max(grace, time.Millisecond))
			if err != nil {
				return err
			}
			if u.json {
				u.line(out)
			} else {
				u.printf("removed %s, %s, %s\n", plural(out.Versions, "version"),
					plural(out.Actions, "action"), plural(out.Files, "file"))
			}
			return nil
		}}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "age up to which unused files are kept")
	return cmd
}
