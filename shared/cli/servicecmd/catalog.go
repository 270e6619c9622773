// Package servicecmd has the commands that export, order and inspect services.
package servicecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/parts"
	"southbound/shared/cli/usage"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
)

// ServiceCommand is service with all of its commands.
func ServiceCommand(a *parts.Parts) *cobra.Command {
	cmd := &cobra.Command{
		Use: "service", Aliases: []string{"services"}, Short: "Export, order and inspect services",
		Long: "service manages services: entities of a model of which customers order instances. " +
			"docs/catalog.md describes their models and orders.",
		Example: "  southbound service catalog\n  southbound service export .\n" +
			"  southbound service create site host_name=www.example --wait\n" +
			"  southbound service instances site",
		Args: usage.Subcommand, RunE: usage.Help,
	}
	c, l, s := a.Console, a.Location, a.Session
	views := &serviceViews{Console: c, Location: l, Session: s}
	services := &services{Console: c, Location: l, Session: s, docs: a.Docs, views: views}
	exporter := &serviceExporter{Console: c, Location: l, Session: s, docs: a.Docs}
	order := &orderCommands{Console: c, Location: l, Session: s, views: views, worker: a.Orders}
	cmd.AddCommand(
		services.serviceCatalog(), services.serviceList(), services.serviceShow(),
		services.serviceInstances(),
		exporter.serviceExport(), exporter.servicePlan(),
		(&instanceCommands{Console: c, Location: l, Session: s, views: views}).serviceInstance(),
		(&callbackCommands{Console: c, Location: l, Session: s, views: views}).serviceCallback(),
		order.serviceCreate(), order.serviceUpdate(), order.serviceDelete(), order.serviceState(),
		order.serviceOrder(),
		(&rollouts{Console: c, Location: l, Session: s, orders: order, waves: a.Waves}).serviceRollout(),
	)
	return cmd
}

// services lists services and their instances.
type services struct {
	*output.Console
	*home.Location
	*home.Session
	docs  *input.Documents
	views *serviceViews
}

// catalogFlags are the flags of service catalog.
type catalogFlags struct {
	service     string
	version     int
	schema, dot bool
}

func (sv *services) serviceCatalog() *cobra.Command {
	var f catalogFlags
	cmd := &cobra.Command{
		Use: "catalog [PATH]", Short: "Show the services of a model",
		Long: "catalog compiles a model without instances, and shows the definitions of its " +
			"services: attributes and who sets them, value rules, embedded entities, relations " +
			"and the lifecycle. It stores nothing. PATH is a directory with a main.cf or a .cf " +
			"file (default: the working directory).",
		Example: "  southbound service catalog\n  southbound service catalog main.cf --json\n" +
			"  southbound service catalog --service site --schema\n" +
			"  southbound service catalog --service site --lifecycle | dot -Tsvg > site.svg",
		Args: usage.AtMostOne("one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return sv.catalog(cmd.Context(), path, f)
		},
	}
	cmd.Flags().StringVar(&f.service, "service", "", "show this one alone")
	cmd.Flags().IntVar(&f.version, "version", -1, "show this version of --service")
	cmd.Flags().BoolVar(&f.schema, "schema", false, "write the JSON Schema of an order")
	cmd.Flags().BoolVar(&f.dot, "lifecycle", false, "write the lifecycle as a graph for Graphviz")
	return cmd
}

func (sv *services) catalog(ctx context.Context, path string, f catalogFlags) error {
	c, err := sv.docs.Model(ctx, path, false, true)
	if err != nil {
		return err
	}
	sv.Warn(c.Warnings)
	all, err := catalog.Of(c.Result)
	if err != nil {
		return err
	}
	shown, err := chosen(all, f)
	if err != nil {
		return err
	}
	for i := range shown {
		s := &shown[i]
		switch {
		case f.schema:
			sv.Line(s.Schema())
		case f.dot:
			sv.Printf("%s", s.Lifecycle.Dot())
		case sv.JSON:
			sv.Line(s)
		default:
			sv.showService(s, i > 0)
		}
	}
	if len(shown) == 0 {
		sv.Say("the model offers no services; docs/catalog.md shows how it would")
	}
	return nil
}

// chosen returns the services that the flags select.
func chosen(all []definition.Service, f catalogFlags) ([]definition.Service, error) {
	if (f.schema || f.dot) && f.service == "" {
		return nil, fault.New(fault.Usage, "service catalog",
			"--schema and --lifecycle are of one service").WithHint("name it with --service")
	}
	if f.version >= 0 && f.service == "" {
		return nil, fault.New(fault.Usage, "service catalog", "--version is that of one service").
			WithHint("name it with --service")
	}
	if f.schema && f.dot {
		return nil, fault.New(fault.Usage, "service catalog",
			"--schema and --lifecycle are two things").
			WithHint("use one of them")
	}
	var names []string
	var out []definition.Service
	for _, s := range all {
		names = append(names, s.Name)
		one := f.version == s.Version || f.version < 0 && (s.Default || !f.schema && !f.dot)
		if f.service == "" || f.service == s.Name && one {
			out = append(out, s)
		}
	}
	if f.service != "" && len(out) == 0 {
		hint := eval.DidYouMean(f.service, names)
		if slices.Contains(names, f.service) {
			hint = "the model has other versions of it"
		}
		return nil, fault.New(fault.NotFound, "service catalog", "the model offers no service %s",
			f.service).WithHint("%s", hint)
	}
	return out, nil
}

// showService shows a definition to people.
func (sv *services) showService(s *definition.Service, more bool) {
	if more {
		sv.Printf("\n")
	}
	head := s.Name
	if s.Version > 0 || !s.Default {
		head += fmt.Sprintf(" version %d", s.Version)
	}
	sv.Printf("%s\n", described(head, s.Description))
	facts := []string{"lifecycle " + s.Lifecycle.Name}
	if s.Identity != nil {
		facts = append(facts, "identity "+*s.Identity)
	}
	if s.Owner != nil {
		facts = append(facts, "owned by "+*s.Owner)
	}
	if s.Strict {
		facts = append(facts, "strict modifiers")
	}
	sv.Printf("  %s\n", strings.Join(facts, ", "))
	w := tabwriter.NewWriter(sv.Output(), 0, 0, 2, ' ', 0) // two blanks
	showPart(w, &s.Part, "  ")
	_ = w.Flush() // output keeps errors
}

func described(name string, description *string) string {
	if description == nil {
		return name
	}
	return name + ": " + diffview.Visible(strings.Join(strings.Fields(*description), " "), "")
}

// showPart shows the members of a part, a line each.
func showPart(w *tabwriter.Writer, p *definition.Part, indent string) {
	line := func(name, kind string, m definition.Modifier, description *string) {
		text := ""
		if description != nil {
			text = strings.Join(strings.Fields(*description), " ")
		}
		row := fmt.Sprintf("%s%s\t%s\t%s", indent, name, m, diffview.Visible(kind, ""))
		if text != "" {
			row += "\t" + diffview.Visible(text, "")
		}
		fmt.Fprintln(w, row)
	}
	for i := range p.Attributes {
		at := &p.Attributes[i]
		kind := at.Type + checked(at)
		if at.DefaultSet {
			kind += " = " + shortJSON(at.Default)
		}
		line(at.Name, kind, at.Modifier, at.Description)
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		line(r.Name, "service "+r.Service+" "+bounds(r.Limits), r.Modifier, r.Description)
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		kind := "embedded " + bounds(e.Limits)
		if len(e.KeyAttributes) > 0 && e.Many() {
			kind += " by " + strings.Join(e.KeyAttributes, ", ")
		}
		line(e.Name, kind, e.Modifier, e.Description)
		showPart(w, &e.Part, indent+"  ")
	}
}

func bounds(l definition.Limits) string {
	if l.Upper == nil {
		return fmt.Sprintf("[%d:]", l.Lower)
	}
	if *l.Upper == l.Lower {
		return fmt.Sprintf("[%d]", l.Lower)
	}
	return fmt.Sprintf("[%d:%d]", l.Lower, *l.Upper)
}

// shortJSON returns a value as JSON, shortened for a line.
func shortJSON(v any) string {
	const limit = 60
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if r := []rune(string(b)); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(b)
}

// checked describes the validation of an attribute's values besides their type.
func checked(a *definition.Attribute) string {
	if a.ValidationType == nil {
		return ""
	}
	if values, ok := a.ValidationParam["values"].([]any); ok {
		var all []string
		for _, v := range values {
			all = append(all, fmt.Sprint(v))
		}
		return " " + strings.Join(all, "|")
	}
	if regex, ok := a.ValidationParam["regex"]; ok && len(a.ValidationParam) == 1 {
		return fmt.Sprintf(" /%s/", regex)
	}
	if len(a.ValidationParam) == 0 {
		return " " + *a.ValidationType
	}
	return " " + shortJSON(a.ValidationParam)
}
