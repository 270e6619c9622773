package programcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/internal/typefile"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// TypeCommands describe the types of resources.
type TypeCommands struct {
	*output.Console
	*home.Location
	*home.Session
	*home.Program
}

// knownTypes returns the types of the server, or of this program.
func (c *TypeCommands) knownTypes(ctx context.Context) ([]api.Type, error) {
	if err := c.Locate(""); err != nil {
		return nil, err
	}
	if c.Remote() {
		if err := c.Connect(); err != nil {
			return nil, err
		}
		return c.withLocked(ctx)
	}
	types, err := c.Registry(c.Project.Dir)
	if err != nil {
		return nil, err
	}
	return api.TypesOf(types), nil
}

// withLocked returns the types of the server, and those of the project's lock file.
func (c *TypeCommands) withLocked(ctx context.Context) ([]api.Type, error) {
	types, err := c.Home.Types(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Registry(c.Project.Dir); err != nil {
		return nil, err
	}
	none, err := schema.NewRegistry()
	if err != nil {
		return nil, err
	}
	for _, t := range api.TypesOf(none.With(c.Lock.Types()...)) {
		if !slices.ContainsFunc(types, func(o api.Type) bool { return o.Name == t.Name }) {
			types = append(types, t)
		}
	}
	return types, nil
}

// declared makes a registry from the declarations of a server, or of this program.
func declared(types []api.Type) (*schema.Registry, error) {
	all := make([]schema.Type, len(types))
	for i := range types {
		if len(types[i].Declaration) == 0 {
			return nil, fault.New(fault.Unsupported, "describe types",
				"the server does not return type declarations").
				WithHint("update it, or use --json")
		}
		all[i] = typefile.One(types[i].Name, types[i].Declaration)
	}
	return schema.NewRegistry(all...)
}

// TypesCommand returns the command types.
func (c *TypeCommands) TypesCommand() *cobra.Command {
	var dir string
	var check bool
	cmd := &cobra.Command{
		Use: "types [FILE...]", Short: "List resource types",
		Long: "types lists the resource types. With --check it checks type declarations in YAML " +
			"or JSON files, and prints errors and warnings. With --markdown it writes a page " +
			"for each type into a directory.",
		Example: "  southbound types\n  southbound types --json\n" +
			"  southbound types --check vlan.yaml\n  southbound types --markdown docs/types",
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return c.checkTypes(args)
			}
			if err := usage.ExactArgs(0, "nothing more")(cmd, args); err != nil {
				return err
			}
			types, err := c.knownTypes(cmd.Context())
			if err != nil {
				return err
			}
			if dir != "" {
				return c.writePages(types, dir)
			}
			for _, t := range types {
				if c.JSON {
					c.Line(t)
					continue
				}
				c.Printf("%s\n",
					output.Fitted(fmt.Sprintf("%-20s %s", t.Name, typefile.First(t.Description)),
						cmp.Or(output.Columns(c.Out), output.TextWidth)))
			}
			c.Say("`southbound type NAME` shows one with its attributes")
			return nil
		}}
	cmd.Flags().BoolVar(&check, "check", false, "check type declarations in files")
	cmd.Flags().StringVar(&dir, "markdown", "",
		"write a page for each type into this directory; remove pages of other types")
	return cmd
}

// writePages writes one page for each type, as Markdown.
func (c *TypeCommands) writePages(types []api.Type, dir string) error {
	r, err := declared(types)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // all users may read the pages
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	pages := typefile.Pages(r)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(pages[name]), 0o644); err != nil {
			// all users may read the pages
			return fault.Wrap(fault.Unavailable, "write a page", err)
		}
	}
	there, err := fs.Glob(os.DirFS(dir), "*.md")
	if err != nil {
		return fault.Wrap(fault.Unavailable, "list pages", err)
	}
	for _, name := range there {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if _, is := pages[name]; is || err != nil ||
			!strings.HasPrefix(string(text), typefile.Generated) {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(fault.Unavailable, "remove a page", err)
		}
	}
	if c.JSON {
		c.Line(struct {
			Directory string `json:"directory"`
			Pages     int    `json:"pages"`
		}{dir, len(pages)})
		return nil
	}
	c.Say("%s in %s", output.Plural(len(pages), "page"), dir)
	return nil
}

// checkTypes reads declarations together with the types of this program.
func (c *TypeCommands) checkTypes(files []string) error {
	if len(files) == 0 {
		return fault.New(fault.Usage, "types --check",
			"expected files with declarations, got none").WithHint("see `southbound types --help`")
	}
	var read []schema.Type
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return fault.Wrap(fault.Usage, "read declarations", err)
		}
		read = append(read, typefile.Parse(f, text)...)
	}
	known, err := c.Registry(".")
	if err != nil {
		return err
	}
	all := slices.Clone(read)
	for _, name := range known.Names() { // relations may lead to these
		if t, _ := known.Type(name); !slices.ContainsFunc(read,
			func(r schema.Type) bool { return r.Name == name }) {
			all = append(all, t.Type)
		}
	}
	r, err := schema.NewRegistry(all...)
	if problems, ok := err.(diag.Problems); ok { // it is the error itself
		return problems.Err()
	} else if err != nil {
		return err
	}
	for _, d := range r.Doubtful() {
		name, _, _ := strings.Cut(d, ": ")
		if slices.ContainsFunc(read, func(t schema.Type) bool { return t.Name == name }) {
			c.Say("doubtful: %s", d)
		}
	}
	if c.JSON {
		for _, t := range api.TypesOf(r) {
			if slices.ContainsFunc(read, func(r schema.Type) bool { return r.Name == t.Name }) {
				c.Line(t)
			}
		}
		return nil
	}
	c.Printf("%s, all well declared\n", output.Plural(len(read), "type"))
	return nil
}

// TypeCommand returns the command type.
func (c *TypeCommands) TypeCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use: "type NAME", Short: "Show one resource type with its attributes",
		Long: "type shows a type by its name. A type of a Terraform provider is also found by the " +
			"provider's name: postgresql_role, or data.postgresql_schemas for a data source.",
		Example: "  southbound type fs::File\n  southbound type fs::File --json\n" +
			"  southbound type postgresql_role\n" +
			"  southbound type fs::File --format markdown", Args: usage.ExactArgs(1, "one type"),
		RunE: func(cmd *cobra.Command, args []string) error {
			types, err := c.knownTypes(cmd.Context())
			if err != nil {
				return err
			}
			find := func(name string) int {
				return slices.IndexFunc(types, func(t api.Type) bool { return t.Name == name })
			}
			i := find(args[0])
			if i < 0 {
				i = find(c.bridged(args[0]))
			}
			if i < 0 {
				var names []string
				for _, t := range types {
					names = append(names, t.Name)
				}
				return api.UnknownType(args[0], schema.Nearest(args[0], names))
			}
			if c.JSON && format == "text" {
				c.Line(types[i])
				return nil
			}
			r, err := declared(types)
			if err != nil {
				return err
			}
			t, _ := r.Type(types[i].Name)
			return c.showType(t, format)
		}}
	cmd.Flags().StringVar(&format, "format", "text",
		"text, markdown, json-schema, yaml or json: the last two are the declaration, as types "+
			"--check reads it")
	return cmd
}

// bridged returns the name of the type of the lock file that has a name in another ecosystem, or "".
func (c *TypeCommands) bridged(theirs string) string {
	types, err := c.Registry(c.Project.Dir)
	if err != nil {
		return ""
	}
	bridges := provider.Bridges(c.Definitions)
	for _, name := range types.Names() {
		prefix, _, _ := strings.Cut(name, "::")
		b := bridges[prefix]
		if t, ok := types.Type(name); ok && b != nil && b.Theirs != nil && b.Theirs(t.Type) == theirs {
			return name
		}
	}
	return ""
}

func (c *TypeCommands) showType(t *schema.Compiled, format string) error {
	var text []byte
	var err error
	switch formats := []string{"text", "markdown", "json-schema", "yaml", "json"}; format {
	case "text":
		c.typeText(t)
		return nil
	case "markdown":
		text = []byte(typefile.Markdown(t))
	case "json-schema":
		s := t.JSONSchema()
		s["$schema"], s["title"], s["description"] = "https://json-schema.org/draft/2020-12/schema",
			t.Name, t.Description
		text, err = json.MarshalIndent(s, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = typefile.YAML(&t.Type)
	case "json":
		text, err = typefile.JSON(&t.Type)
	default:
		hint := "there are " + strings.Join(formats, ", ")
		if similar := schema.Nearest(format, formats); similar != "" {
			hint = "did you mean " + similar + "?"
		}
		return fault.New(fault.Usage, "type", "there is no format %q", format).WithHint("%s", hint)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "describe a type", err)
	}
	c.Printf("%s", text)
	return nil
}

func (c *TypeCommands) typeText(t *schema.Compiled) {
	c.Printf("%s\n%s\n", t.Name, output.Wrapped(t.Description, ""))
	c.attributesText(t.Attributes)
	for _, s := range typefile.Sections(t) {
		c.Printf("\n%s\n", s.Title)
		for _, line := range s.Lines {
			c.Printf("  %s\n",
				strings.TrimPrefix(output.Wrapped(strings.ReplaceAll(line, "`", ""), "    "), "  "))
		}
	}
	for _, name := range t.Transports {
		if brought := c.Packs.Named(name); brought != nil {
			c.Printf("\nOptions of agents with the transport %s\n", name)
			if brought.Description != "" {
				c.Printf("%s\n", output.Wrapped(brought.Description, "  "))
			}
			c.attributesText(brought.Options)
		}
	}
}

// attributesText writes attributes of a type, or options of an agent.
func (c *TypeCommands) attributesText(all []schema.Attribute) {
	for i := range all {
		at := &all[i]
		c.Printf("\n  %s  %s", at.Name, at.Type)
		if at.Behaviour != schema.Property {
			c.Printf("  (%s)", at.Behaviour)
		}
		if at.Sensitive {
			c.Printf("  (sensitive)")
		}
		if at.OneLine {
			c.Printf("  (a secret's last line end is left out)")
		}
		if at.Default != nil {
			c.Printf("  default %s", diffview.Short(at.Default))
		}
		c.Printf("\n%s\n", output.Wrapped(at.Description, "      "))
	}
}

// SchemaCommand returns the command schema.
func (c *TypeCommands) SchemaCommand() *cobra.Command {
	return &cobra.Command{Use: "schema", Short: "Print the JSON Schema of resource documents",
		Example: "  southbound schema > southbound.schema.json",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
			if err := c.Settle(""); err != nil {
				return err
			}
			types, err := c.Registry(c.Project.Dir)
			if err != nil {
				return err
			}
			b, err := source.JSONSchema(types)
			c.Printf("%s", b)
			return err
		}}
}
