package cli

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
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/internal/typefile"
	"southbound/shared/schema"
)

// typeCommands describe the types of resources.
type typeCommands struct {
	*console
	*location
	*session
	*program
}

// knownTypes returns the types of the server, or of this program.
func (c *typeCommands) knownTypes(ctx context.Context) ([]api.Type, error) {
	if err := c.locate(""); err != nil {
		return nil, err
	}
	if c.remote() {
		if err := c.connect(); err != nil {
			return nil, err
		}
		return c.home.Types(ctx)
	}
	types, err := c.registry()
	if err != nil {
		return nil, err
	}
	return api.TypesOf(types), nil
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

func (c *typeCommands) typesCommand() *cobra.Command {
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
			if err := exactArgs(0, "nothing more")(cmd, args); err != nil {
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
				if c.json {
					c.line(t)
					continue
				}
				c.printf("%s\n",
					fitted(fmt.Sprintf("%-20s %s", t.Name, typefile.First(t.Description)),
						cmp.Or(columns(c.out), textWidth)))
			}
			c.say("`southbound type NAME` shows one with its attributes")
			return nil
		}}
	cmd.Flags().BoolVar(&check, "check", false, "check type declarations in files")
	cmd.Flags().StringVar(&dir, "markdown", "",
		"write a page for each type into this directory; remove pages of other types")
	return cmd
}

// writePages writes one page for each type, as Markdown.
func (c *typeCommands) writePages(types []api.Type, dir string) error {
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
	if c.json {
		c.line(struct {
			Directory string `json:"directory"`
			Pages     int    `json:"pages"`
		}{dir, len(pages)})
		return nil
	}
	c.say("%s in %s", plural(len(pages), "page"), dir)
	return nil
}

// checkTypes reads declarations together with the types of this program.
func (c *typeCommands) checkTypes(files []string) error {
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
	known, err := c.registry()
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
			c.say("doubtful: %s", d)
		}
	}
	if c.json {
		for _, t := range api.TypesOf(r) {
			if slices.ContainsFunc(read, func(r schema.Type) bool { return r.Name == t.Name }) {
				c.line(t)
			}
		}
		return nil
	}
	c.printf("%s, all well declared\n", plural(len(read), "type"))
	return nil
}

func (c *typeCommands) typeCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use: "type NAME", Short: "Show one resource type with its attributes",
		Example: "  southbound type fs::File\n  southbound type fs::File --json\n" +
			"  southbound type fs::File --format markdown", Args: exactArgs(1, "one type"),
		RunE: func(cmd *cobra.Command, args []string) error {
			types, err := c.knownTypes(cmd.Context())
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
			if c.json && format == "text" {
				c.line(types[i])
				return nil
			}
			r, err := declared(types)
			if err != nil {
				return err
			}
			t, _ := r.Type(args[0])
			return c.showType(t, format)
		}}
	cmd.Flags().StringVar(&format, "format", "text",
		"text, markdown, json-schema, yaml or json: the last two are the declaration, as types "+
			"--check reads it")
	return cmd
}

func (c *typeCommands) showType(t *schema.Compiled, format string) error {
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
	c.printf("%s", text)
	return nil
}

func (c *typeCommands) typeText(t *schema.Compiled) {
	c.printf("%s\n%s\n", t.Name, wrapped(t.Description, ""))
	c.attributesText(t.Attributes)
	for _, s := range typefile.Sections(t) {
		c.printf("\n%s\n", s.Title)
		for _, line := range s.Lines {
			c.printf("  %s\n",
				strings.TrimPrefix(wrapped(strings.ReplaceAll(line, "`", ""), "    "), "  "))
		}
	}
	for _, name := range t.Transports {
		if brought := c.packs.Named(name); brought != nil {
			c.printf("\nOptions of agents with the transport %s\n", name)
			if brought.Description != "" {
				c.printf("%s\n", wrapped(brought.Description, "  "))
			}
			c.attributesText(brought.Options)
		}
	}
}

// attributesText writes attributes of a type, or options of an agent.
func (c *typeCommands) attributesText(all []schema.Attribute) {
	for i := range all {
		at := &all[i]
		c.printf("\n  %s  %s", at.Name, at.Type)
		if at.Behaviour != schema.Property {
			c.printf("  (%s)", at.Behaviour)
		}
		if at.Sensitive {
			c.printf("  (sensitive)")
		}
		if at.OneLine {
			c.printf("  (a secret's last line end is left out)")
		}
		if at.Default != nil {
			c.printf("  default %s", diffview.Short(at.Default))
		}
		c.printf("\n%s\n", wrapped(at.Description, "      "))
	}
}

func (c *typeCommands) schemaCommand() *cobra.Command {
	return &cobra.Command{Use: "schema", Short: "Print the JSON Schema of resource documents",
		Example: "  southbound schema > southbound.schema.json",
		Args:    exactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
			types, err := c.registry()
			if err != nil {
				return err
			}
			b, err := source.JSONSchema(types)
			c.printf("%s", b)
			return err
		}}
}
