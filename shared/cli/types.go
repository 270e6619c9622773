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
	"southbound/shared/schema"
	"southbound/shared/typefile"
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

// declared makes a registry from the declarations of a server, or of this program.
func declared(types []api.Type) (*schema.Registry, error) {
	all := make([]schema.Type, len(types))
	for i := range types {
		if len(types[i].Declaration) == 0 {
			return nil, fault.New(fault.Unsupported, "describe types", "the server does not say how its types are declared").WithHint("update it, or use --json")
		}
		all[i] = typefile.One(types[i].Name, types[i].Declaration)
	}
	return schema.NewRegistry(all...)
}

func (a *app) typesCommand() *cobra.Command {
	var dir string
	var check bool
	cmd := &cobra.Command{
		Use: "types [FILE...]", Short: "List resource types",
		Long: "types lists the types that there are. With --check it reads declarations of types instead, YAML or JSON, and says all that is wrong with them\n" +
			"and what is doubtful; with --markdown it writes a page for each type into a directory.",
		Example: "  southbound types\n  southbound types --json\n  southbound types --check vlan.yaml\n  southbound types --markdown docs/types",
		RunE: func(cmd *cobra.Command, args []string) error {
			if check {
				return a.checkTypes(args)
			}
			if err := exactArgs(0, "nothing more")(cmd, args); err != nil {
				return err
			}
			types, err := a.knownTypes(cmd.Context())
			if err != nil {
				return err
			}
			if dir != "" {
				return a.writePages(types, dir)
			}
			for _, t := range types {
				if a.json {
					a.line(t)
					continue
				}
				a.printf("%s\n", fitted(fmt.Sprintf("%-20s %s", t.Name, typefile.First(t.Description)), cmp.Or(columns(a.out), textWidth)))
			}
			a.say("`southbound type NAME` shows one with its attributes")
			return nil
		}}
	cmd.Flags().BoolVar(&check, "check", false, "check declarations of types in files")
	cmd.Flags().StringVar(&dir, "markdown", "", "write pages into this directory, and remove those of types that are gone")
	return cmd
}

// writePages writes one page for each type, as Markdown.
func (a *app) writePages(types []api.Type, dir string) error {
	r, err := declared(types)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // pages are for all
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	pages := typefile.Pages(r)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(pages[name]), 0o644); err != nil { // pages are for all
			return fault.Wrap(fault.Unavailable, "write a page", err)
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return fault.Wrap(fault.Unavailable, "look for pages", err)
	}
	for _, file := range there {
		text, err := os.ReadFile(file)
		if _, is := pages[filepath.Base(file)]; is || err != nil || !strings.HasPrefix(string(text), typefile.Generated) {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Wrap(fault.Unavailable, "remove a page", err)
		}
	}
	a.say("%s in %s", plural(len(pages), "page"), dir)
	return nil
}

// checkTypes reads declarations together with the types of this program.
func (a *app) checkTypes(files []string) error {
	if len(files) == 0 {
		return fault.New(fault.Usage, "types --check", "expected files with declarations, got none").WithHint("see `southbound types --help`")
	}
	var read []schema.Type
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return fault.Wrap(fault.Usage, "read declarations", err)
		}
		read = append(read, typefile.Parse(f, text)...)
	}
	known, err := a.registry()
	if err != nil {
		return err
	}
	all := slices.Clone(read)
	for _, name := range known.Names() { // relations may lead to these
		if t, _ := known.Type(name); !slices.ContainsFunc(read, func(r schema.Type) bool { return r.Name == name }) {
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
			a.say("doubtful: %s", d)
		}
	}
	if a.json {
		for _, t := range api.TypesOf(r) {
			if slices.ContainsFunc(read, func(r schema.Type) bool { return r.Name == t.Name }) {
				a.line(t)
			}
		}
		return nil
	}
	a.printf("%s, all well declared\n", plural(len(read), "type"))
	return nil
}

func (a *app) typeCommand() *cobra.Command {
	format := ""
	cmd := &cobra.Command{
		Use: "type NAME", Short: "Show one resource type with its attributes",
		Example: "  southbound type fs::File\n  southbound type fs::File --json\n  southbound type fs::File --format markdown", Args: exactArgs(1, "one type"),
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
			if a.json && format == "text" {
				a.line(types[i])
				return nil
			}
			r, err := declared(types)
			if err != nil {
				return err
			}
			t, _ := r.Type(args[0])
			return a.showType(t, format)
		}}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, json-schema, yaml or json: the last two are the declaration, as `types --check` reads it")
	return cmd
}

func (a *app) showType(t *schema.Compiled, format string) error {
	var text []byte
	var err error
	switch formats := []string{"text", "markdown", "json-schema", "yaml", "json"}; format {
	case "text":
		a.typeText(t)
		return nil
	case "markdown":
		text = []byte(typefile.Markdown(t))
	case "json-schema":
		s := t.JSONSchema()
		s["$schema"], s["title"], s["description"] = "https://json-schema.org/draft/2020-12/schema", t.Name, t.Description
		text, err = json.MarshalIndent(s, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = typefile.YAML(&t.Type)
	case "json":
		text, err = typefile.JSON(&t.Type)
	default:
		hint := "there are " + strings.Join(formats, ", ")
		if near := schema.Nearest(format, formats); near != "" {
			hint = "did you mean " + near + "?"
		}
		return fault.New(fault.Usage, "type", "there is no format %q", format).WithHint("%s", hint)
	}
	if err != nil {
		return fault.Wrap(fault.Internal, "describe a type", err)
	}
	a.printf("%s", text)
	return nil
}

func (a *app) typeText(t *schema.Compiled) {
	a.printf("%s\n%s\n", t.Name, wrapped(t.Description, ""))
	a.attributesText(t.Attributes)
	for _, s := range typefile.Sections(t) {
		a.printf("\n%s\n", s.Title)
		for _, line := range s.Lines {
			a.printf("  %s\n", strings.TrimPrefix(wrapped(strings.ReplaceAll(line, "`", ""), "    "), "  "))
		}
	}
	for _, name := range t.Transports {
		if brought := a.packs.Named(name); brought != nil {
			a.printf("\nOptions of agents with the transport %s\n", name)
			if brought.Description != "" {
				a.printf("%s\n", wrapped(brought.Description, "  "))
			}
			a.attributesText(brought.Options)
		}
	}
}

// attributesText writes attributes of a type, or options of an agent.
func (a *app) attributesText(all []schema.Attribute) {
	for i := range all {
		at := &all[i]
		a.printf("\n  %s  %s", at.Name, at.Type)
		if at.Behaviour != schema.Property {
			a.printf("  (%s)", at.Behaviour)
		}
		if at.Sensitive {
			a.printf("  (sensitive)")
		}
		if at.Default != nil {
			a.printf("  default %s", diffview.Short(at.Default))
		}
		a.printf("\n%s\n", wrapped(at.Description, "      "))
	}
}
