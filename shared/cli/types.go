package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

// typeLine is a type as programs see it.
type typeLine struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Attributes  []attributeLine `json:"attributes"`
	Features    []string        `json:"features"`
	Providers   []string        `json:"providers"`
}

type attributeLine struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Behaviour   string `json:"behaviour"`
	Default     any    `json:"default"`
	Description string `json:"description"`
	Sensitive   bool   `json:"sensitive"`
}

func typeLineOf(t *schema.Compiled) typeLine {
	l := typeLine{Name: t.Name, Description: t.Description, Features: t.Features, Providers: []string{"default"}, Attributes: []attributeLine{}}
	if l.Features == nil {
		l.Features = []string{}
	}
	for _, at := range t.Attributes {
		l.Attributes = append(l.Attributes, attributeLine{at.Name, at.Type, cmp.Or(string(at.Behaviour), "property"), at.Default, at.Description, at.Sensitive})
	}
	return l
}

func (a *app) typesCommand() *cobra.Command {
	return &cobra.Command{
		Use: "types", Short: "List resource types", Example: "  southbound types\n  southbound types --json", Args: exactArgs(0, "nothing more"),
		RunE: func(*cobra.Command, []string) error {
			types, err := a.registry()
			if err != nil {
				return err
			}
			for _, name := range types.Names() {
				t, _ := types.Type(name)
				if a.json {
					a.line(typeLineOf(t))
					continue
				}
				first, _, _ := strings.Cut(t.Description, ". ")
				a.printf("%-16s %s\n", name, strings.TrimSuffix(first, "."))
			}
			a.say("`southbound type NAME` shows one with its attributes")
			return nil
		}}
}

func (a *app) typeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "type NAME", Short: "Show one resource type with its attributes", Example: "  southbound type fs::File\n  southbound type fs::File --json", Args: exactArgs(1, "one type"),
		RunE: func(_ *cobra.Command, args []string) error {
			types, err := a.registry()
			if err != nil {
				return err
			}
			t, ok := types.Type(args[0])
			if !ok {
				e := fault.New(fault.NotFound, "", "unknown type %q", args[0]).WithHint("`southbound types` lists them")
				if near := types.Nearest(args[0]); near != "" {
					e = e.WithHint("did you mean %q?", near)
				}
				return e
			}
			if a.json {
				a.line(typeLineOf(t))
				return nil
			}
			a.printf("%s\n%s\n", t.Name, wrapped(t.Description, ""))
			for _, at := range t.Attributes {
				a.printf("\n  %s  %s", at.Name, at.Type)
				if at.Behaviour != schema.Property {
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
