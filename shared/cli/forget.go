package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func (a *app) forgetCommand() *cobra.Command {
	return &cobra.Command{Use: "forget ID|agent=NAME", Short: "Let go of orphans, or of a machine that is gone",
		Long: "forget removes what is known of a resource that left the model, or of an agent that no resource is managed on any more and of all\n" +
			"that was left behind there, and waits for its removal no longer. What exists is not touched, and `southbound logs` keeps what was\n" +
			"done. What the version in force wants cannot be forgotten.",
		Example: "  southbound forget 'fs::File[web1,path=/etc/motd]'\n  southbound forget agent=web1",
		Args:    exactArgs(1, "one id or agent=NAME"), RunE: a.reading(a.forget)}
}

func (a *app) forget(ctx context.Context, args []string) error {
	var f api.Forgetting
	if name, is := strings.CutPrefix(args[0], "agent="); is {
		f.Agent = name
	} else if _, err := resource.ParseID(args[0]); err != nil {
		return fault.New(fault.Usage, "forget", "%v", err).WithHint("name the id of a resource, or agent=NAME")
	} else {
		f.ID = resource.ID(args[0])
	}
	out, err := a.home.Forget(ctx, a.env, f)
	if err != nil {
		return err
	}
	if a.json {
		a.line(out)
		return nil
	}
	a.printf("forgot %s\n", plural(out.Forgotten, "resource"))
	return nil
}
