// Package providercmd has the commands of providers: packages of other ecosystems whose types a project
// uses.
package providercmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/internal/locked"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Commands change and show the lock file of a project, and adopt objects by its providers.
type Commands struct {
	*output.Console
	*home.Location
	*home.Program
	Session *home.Session // of adopt
}

// ProviderCommand returns the command provider with its subcommands.
func (c *Commands) ProviderCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "provider", Short: "Manage providers of other ecosystems",
		Args: usage.Subcommand, RunE: usage.Help,
		Long: "A provider is a program of another ecosystem, such as a Terraform provider, whose types " +
			"a project uses. southbound.lock, beside southbound.yaml, lists the providers with their " +
			"versions and hashes; the folder southbound.lock.d has the declarations of their types. " +
			"Commit both.",
		Example: "  southbound provider add cyrilgdn/postgresql --version '~> 1.22'\n" +
			"  southbound provider list\n  southbound provider verify"}
	cmd.AddCommand(c.addCommand(), c.listCommand(), c.installCommand(), c.updateCommand(),
		c.removeCommand(), c.verifyCommand(), c.adoptCommand())
	return cmd
}

// project returns the project of the working directory, or of --project.
func (c *Commands) project() (*locked.Project, error) {
	if err := c.Locate(""); err != nil {
		return nil, err
	}
	types, err := c.OwnTypes()
	if err != nil {
		return nil, err
	}
	return &locked.Project{Dir: c.Project.Dir, Program: types,
		Bridges: provider.Bridges(c.Definitions)}, nil
}

// bridge returns the name of a bridge of the program: the named one, or the only one with packages.
func bridge(p *locked.Project, name string) (string, error) {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(p.Bridges)) {
		if p.Bridges[n].Packages != nil {
			names = append(names, n)
		}
	}
	switch {
	case len(names) == 0:
		return "", fault.New(fault.Unsupported, "provider", "this program has no bridge to another ecosystem")
	case name == "" && len(names) == 1:
		return names[0], nil
	case slices.Contains(names, name):
		return name, nil
	case name == "":
		return "", fault.New(fault.Usage, "provider", "the program has the bridges %s",
			strings.Join(names, ", ")).WithHint("name one with --bridge")
	}
	return "", fault.New(fault.Usage, "provider", "the program has no bridge %.100q", name).
		WithHint("it has %s", strings.Join(names, ", "))
}

func (c *Commands) addCommand() *cobra.Command {
	var q provider.PackageQuery
	var name string
	cmd := &cobra.Command{Use: "add ADDRESS", Short: "Add a provider to the project",
		Long: "add finds the newest version of a provider, installs it for this user, and writes it " +
			"into southbound.lock with its hashes. The types of the provider can be used then. The " +
			"provider is started once to read its types, without a configuration.",
		Example: "  southbound provider add hashicorp/random\n" +
			"  southbound provider add cyrilgdn/postgresql --version '~> 1.22'\n" +
			"  southbound provider add acme/internal --from /srv/mirror",
		Args: usage.ExactArgs(1, "the address of a provider"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			of, err := bridge(p, name)
			if err != nil {
				return err
			}
			q.Address = args[0]
			done, err := p.AddPackage(cmd.Context(), of, q)
			if err == nil {
				c.added(done)
			}
			return err
		}}
	f := cmd.Flags()
	f.StringVar(&q.Constraint, "version", "", "constraint on the version (default: the newest release)")
	f.StringVar(&q.Name, "name", "", "name of the provider here (default: the end of ADDRESS)")
	f.StringVar(&q.From, "from", "", "directory or https address of a mirror (default: the registry)")
	f.StringVar(&name, "bridge", "", "bridge of the provider (default: the only one)")
	return cmd
}

// change is the result of an add in JSON.
type change struct {
	entry
	Former   string   `json:"former,omitempty"`
	Changed  bool     `json:"changed"`
	Signer   string   `json:"signer,omitempty"`
	Problems []string `json:"problems,omitempty"`
}

// added prints the result of an add.
func (c *Commands) added(a locked.Added) {
	var unusable []string
	for _, p := range a.Problems {
		unusable = append(unusable, p.Resource+": "+p.Message)
	}
	e := entryOf(declared.Provider{Name: a.Name, Bridge: a.Bridge, Address: a.Address, Version: a.Version,
		Constraint: a.Constraint, Hashes: a.Hashes})
	for i := range a.Types {
		e.Types = append(e.Types, a.Types[i].Name)
	}
	if c.JSON {
		c.Line(change{entry: e, Former: a.Former, Changed: a.Changed, Signer: a.Signer,
			Problems: unusable})
		return
	}
	what := "added"
	switch {
	case !a.Changed:
		what = "unchanged:"
	case a.Former != "" && a.Former != a.Version:
		what = "replaced " + a.Former + " by"
	case a.Former != "":
		what = "wrote again"
	}
	signed := "unsigned"
	if a.Signer != "" {
		signed = "signed by " + a.Signer
	}
	c.Printf("%s %s %s (%s, %s)\n", what, a.Name, a.Version, a.Address, signed)
	for _, name := range e.Types {
		c.Printf("  %s\n", name)
	}
	for _, text := range unusable {
		c.Complain("not usable: %s", text)
	}
	c.Say("`southbound type NAME` shows a type with its attributes")
}

// entry is a provider of the lock file in JSON.
type entry struct {
	Name       string   `json:"name"`
	Bridge     string   `json:"bridge"`
	Address    string   `json:"address"`
	Version    string   `json:"version"`
	Constraint string   `json:"constraint,omitempty"`
	Hashes     []string `json:"hashes"`
	Types      []string `json:"types,omitempty"`
	Error      string   `json:"error,omitempty"` // of verify
}

func entryOf(p declared.Provider) entry {
	e := entry{Name: p.Name, Bridge: p.Bridge, Address: p.Address, Version: p.Version,
		Constraint: p.Constraint, Hashes: p.Hashes}
	if p.Declaration != nil {
		e.Types = namesOf(p.Declaration.Types())
	}
	return e
}

func namesOf(types []*schema.Compiled) []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = t.Name
	}
	return out
}

func (c *Commands) listCommand() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the providers of the project",
		Long:    "list prints the providers in southbound.lock with their versions and numbers of types.",
		Example: "  southbound provider list\n  southbound provider list --json",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			all, err := p.List()
			if err != nil {
				return err
			}
			for _, one := range all {
				e := entryOf(one)
				if c.JSON {
					c.Line(e)
					continue
				}
				c.Printf("%-16s %-12s %s (%s)\n", e.Name, e.Version, e.Address,
					output.Plural(len(e.Types), "type"))
			}
			if len(all) == 0 && !c.JSON {
				c.Say("no providers; `southbound provider add ADDRESS` adds one")
			}
			return nil
		}}
}

func (c *Commands) updateCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{Use: "update [NAME]", Short: "Update providers within their constraints",
		Long: "update installs the newest version of a provider that its constraint in southbound.lock " +
			"allows, or of all providers. Another version of a provider is another declaration of its " +
			"types, so the next export deploys the resources of these types again.",
		Example: "  southbound provider update\n  southbound provider update postgresql",
		Args:    usage.AtMostOne("one provider"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			return c.update(cmd.Context(), p, args, from)
		}}
	cmd.Flags().StringVar(&from, "from", "",
		"directory or https address of a mirror (default: the registry)")
	return cmd
}

func (c *Commands) update(ctx context.Context, p *locked.Project, names []string, from string) error {
	all, err := p.Entries()
	if err != nil {
		return err
	}
	found := false
	for _, e := range all {
		if len(names) > 0 && e.Name != names[0] {
			continue
		}
		found = true
		done, err := p.AddPackage(ctx, e.Bridge, provider.PackageQuery{Address: e.Address, Name: e.Name,
			Constraint: e.Constraint, From: from})
		if err != nil {
			return err
		}
		c.added(done)
	}
	if !found && len(names) > 0 {
		return locked.Missing("update provider", names[0], all)
	}
	return nil
}

func (c *Commands) installCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{Use: "install [NAME]", Short: "Install the locked providers",
		Long: "install installs the versions in southbound.lock for this user. A program whose hash is not " +
			"in southbound.lock is refused. It changes no file of the project.",
		Example: "  southbound provider install\n  southbound provider install --from /srv/mirror",
		Args:    usage.AtMostOne("one provider"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			done, err := p.Install(cmd.Context(), from, args...)
			for _, one := range done {
				if c.JSON {
					c.Line(entryOf(one))
					continue
				}
				c.Printf("%-16s %s\n", one.Name, one.Version)
			}
			return err
		}}
	cmd.Flags().StringVar(&from, "from", "",
		"directory or https address of a mirror (default: the registry)")
	return cmd
}

func (c *Commands) removeCommand() *cobra.Command {
	return &cobra.Command{Use: "remove NAME", Short: "Remove a provider from the project",
		Long: "remove takes a provider out of southbound.lock. Its program stays installed, and managed " +
			"things stay as they are. Documents that use its types are invalid then.",
		Example: "  southbound provider remove postgresql",
		Args:    usage.ExactArgs(1, "the name of a provider"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			removed, err := p.Remove(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case c.JSON:
				c.Line(entryOf(removed))
			default:
				c.Printf("removed %s %s\n", removed.Name, removed.Version)
			}
			return nil
		}}
}

func (c *Commands) verifyCommand() *cobra.Command {
	return &cobra.Command{Use: "verify", Short: "Compare installed providers with the lock file",
		Long: "verify compares the declarations and the installed program of each provider with the " +
			"hashes in southbound.lock. It ends with an error if one differs or is missing.",
		Example: "  southbound provider verify",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.project()
			if err != nil {
				return err
			}
			all, err := p.Verify(cmd.Context())
			if err != nil {
				return err
			}
			return c.verified(all)
		}}
}

// verified prints the result of a verification, and returns an error if a provider cannot be used.
func (c *Commands) verified(all []locked.Status) error {
	bad := 0
	for _, s := range all {
		e, result := entryOf(s.Provider), "as locked"
		if s.Err != nil {
			bad++
			e.Error = s.Err.Error()
			if result = e.Error; fault.HintOf(s.Err) != "" {
				result = fmt.Sprintf("%s; %s", result, fault.HintOf(s.Err))
			}
		}
		if c.JSON {
			c.Line(e)
			continue
		}
		c.Printf("%-16s %-12s %s\n", e.Name, e.Version, result)
	}
	if bad == 0 {
		return nil
	}
	return fault.New(fault.Refused, "verify providers", "%d of %s cannot be used", bad,
		output.Plural(len(all), "provider")).
		WithHint("`southbound provider install` installs the locked versions")
}
