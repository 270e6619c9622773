package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/schema"
)

// knownTypes returns the types of the server, or of this program.
func (a *app) knownTypes(ctx context.Context) ([]api.Type, error) {
	if err := a.locate(""); err != nil {
		return nil, err
	}
	if a.remote() {
		if err := a.connect(); err != nil {
			return nil, err
		}
		return a.home.Types(ctx)
	}
	types, err := a.registry()
	if err != nil {
		return nil, err
	}
	return api.TypesOf(types), nil
}

func (a *app) typesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "types", Short: "List resource types", Example: "  southbound types\n  southbound types --json", Args: exactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			types, err := a.knownTypes(cmd.Context())
			if err != nil {
				return err
			}
			for _, t := range types {
				if a.json {
					a.line(t)
					continue
				}
				first, _, _ := strings.Cut(t.Description, ". ")
				a.printf("%-16s %s\n", t.Name, strings.TrimSuffix(first, "."))
			}
			a.say("`southbound type NAME` shows one with its attributes")
			return nil
		}}
}

func (a *app) typeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "type NAME", Short: "Show one resource type with its attributes", Example: "  southbound type fs::File\n  southbound type fs::File --json", Args: exactArgs(1, "one type"),
		RunE: func(cmd *cobra.Command, args []string) error {
			types, err := a.knownTypes(cmd.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(types, func(t api.Type) bool { return t.Name == args[0] })
			if i < 0 {
				var names []string
				for _, t := range types {
					names = append(names, t.Name)
				}
				return api.UnknownType(args[0], schema.Nearest(args[0], names))
			}
			t := types[i]
			if a.json {
				a.line(t)
				return nil
			}
			a.printf("%s\n%s\n", t.Name, wrapped(t.Description, ""))
			for _, at := range t.Attributes {
				a.printf("\n  %s  %s", at.Name, at.Type)
				if at.Behaviour != "property" {
					a.printf("  (%s)", at.Behaviour)
				}
				if at.Sensitive {
					a.printf("  (sensitive)")
				}
				if at.Default != nil {
					a.printf("  default %s", short(at.Default))
				}
				a.printf("\n%s\n", wrapped(at.Description, "      "))
			}
			return nil
		}}
}
