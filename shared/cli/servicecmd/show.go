package servicecmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// ordering is a command about services of an environment.
type ordering func(ctx context.Context, o api.Orders, args []string) error

// serviceViews is shared by commands about services: how they open the home, and how they show
// lists.
type serviceViews struct {
	*output.Console
	*home.Location
	*home.Session
}

// ordered makes the run function of a command about services. open opens the home.
func (v *serviceViews) ordered(
	open func(ctx context.Context, path string) error, run ordering,
) func(*cobra.Command, []string) error {
	return usage.After(open, func(ctx context.Context, args []string) error {
		o, err := v.Home.Orders()
		if err != nil {
			return err
		}
		return run(ctx, o, args)
	})
}

// reference parses the name of an instance: its id, or NAME/identity.
func reference(text string) orders.Ref {
	if service, identity, is := strings.Cut(text, "/"); is {
		return orders.Ref{Service: service, ID: "identity=" + identity}
	}
	return orders.Ref{ID: text}
}

const referenceHelp = " ID is the id of the instance, or NAME/identity: site/www.example."

func (sv *services) serviceList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the services that can be ordered",
		Long:    "list shows the exported services, with the number of instances in each state.",
		Example: "  southbound service list\n  southbound service list --json",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE:    sv.views.ordered(sv.OpenToRead, sv.listServices),
	}
}

func (sv *services) listServices(ctx context.Context, o api.Orders, _ []string) error {
	all, err := o.Catalog(ctx, sv.Env, false, true)
	if err != nil {
		return err
	}
	rows := [][]cell{{{text: "SERVICE"}, {text: "INSTANCES"}, {text: "DESCRIPTION"}}}
	for i := range all {
		s := &all[i]
		if sv.JSON {
			sv.Line(s)
			continue
		}
		about := ""
		if s.Description != nil {
			about, _, _ = strings.Cut(strings.TrimSpace(*s.Description), "\n")
		}
		rows = append(
			rows,
			[]cell{
				{text: s.Name},
				{text: counted(s.Summary), label: worst(s.Summary)},
				{text: about},
			},
		)
	}
	if len(all) == 0 {
		if err := sv.There(ctx); err != nil {
			return err
		}
		if !sv.JSON {
			sv.Say(
				"no services were exported; `southbound service export PATH` offers those " +
					"of a model",
			)
		}
		return nil
	}
	if !sv.JSON {
		sv.views.table(rows, true)
	}
	return nil
}

// counted returns the number of instances in each state, the largest number first.
func counted(s *orders.Summary) string {
	if s == nil || s.Total == 0 {
		return "none"
	}
	states := slices.SortedFunc(maps.Keys(s.ByState), func(a, b string) int {
		if n := s.ByState[b] - s.ByState[a]; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	if len(states) == 1 {
		return fmt.Sprintf("%d %s", s.Total, states[0])
	}
	parts := make([]string, len(states))
	for i, name := range states {
		parts[i] = fmt.Sprintf("%d %s", s.ByState[name], name)
	}
	return fmt.Sprintf("%d: %s", s.Total, strings.Join(parts, ", "))
}

// worst returns the most severe label of instances.
func worst(s *orders.Summary) string {
	switch {
	case s == nil:
		return ""
	case s.ByLabel.Danger > 0:
		return "danger"
	case s.ByLabel.Warning > 0:
		return "warning"
	case s.ByLabel.Success == s.Total && s.Total > 0:
		return "success"
	}
	return ""
}

// cell is a text in a table, with the label of a state, which gives its colour.
type cell struct{ text, label string }

// table writes rows in columns. With cuts, rows that are too long for the terminal are truncated in
// the last column.
func (v *serviceViews) table(rows [][]cell, cuts bool) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(output.OneLine(c.text)))
		}
	}
	room := output.Columns(v.Out)
	for _, row := range rows {
		used, last := 0, len(row)-1
		for last > 0 && row[last].text == "" {
			last--
		}
		for i, c := range row[:last+1] {
			text := output.OneLine(c.text)
			if i == last {
				if cuts && room > 0 && last == len(row)-1 {
					text = output.Fitted(text, max(room-used, 1))
				}
				v.Printf("%s\n", v.labelled(text, c.label))
				break
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2) // a gap
			v.Printf("%s%s", v.labelled(text, c.label), pad)
			used += widths[i] + 2
		}
	}
}

// labelled returns the name of a state, in the colour of its label on a terminal.
func (v *serviceViews) labelled(text, label string) output.Painted {
	code := map[string]string{"success": "32", "warning": "33", "danger": "31"}[label]
	if code == "" || !v.Colored() {
		return output.Painted(text)
	}
	return output.Painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

func (sv *services) serviceShow() *cobra.Command {
	var f catalogFlags
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a service that can be ordered",
		Long: "show prints the definition of a service: attributes and who sets them, value " +
			"rules, embedded entities, relations and the lifecycle.",
		Example: "  southbound service show site\n  southbound service show site --json\n" +
			"  southbound service show site --schema\n" +
			"  southbound service show site --lifecycle | dot -Tsvg > site.svg",
		Args: usage.ExactArgs(1, "the name of a service"),
	}
	cmd.RunE = sv.views.ordered(sv.OpenToRead,
		func(ctx context.Context, o api.Orders, args []string) error {
			if f.schema && f.dot {
				return fault.New(fault.Usage, "service show",
					"--schema and --lifecycle are two things").
					WithHint("use one of them")
			}
			s, err := sv.views.offer(ctx, o, args[0], f.version, f.version < 0)
			switch {
			case err != nil:
				return err
			case f.schema:
				sv.Line(s.Schema())
			case f.dot:
				sv.Printf("%s", s.Lifecycle.Dot())
			case sv.JSON:
				sv.Line(s)
			default:
				sv.showService(&s.Service, false)
				if s.Summary != nil {
					sv.Printf("  instances: %s\n", counted(s.Summary))
				}
			}
			return nil
		})
	cmd.Flags().
		IntVar(&f.version, "version", -1, "show this version, and not that of new instances")
	cmd.Flags().BoolVar(&f.schema, "schema", false, "write the JSON Schema of an order")
	cmd.Flags().BoolVar(&f.dot, "lifecycle", false, "write the lifecycle as a graph for Graphviz")
	return cmd
}

// offer returns a service; with counts, also its number of instances. If the service does not
// exist, the error suggests a similar name.
func (v *serviceViews) offer(
	ctx context.Context, o api.Orders, name string, version int, counts bool,
) (orders.Offer, error) {
	s, err := o.Offer(ctx, v.Env, name, version, counts)
	if !fault.Is(err, fault.NotFound) {
		return s, err
	}
	all, others := o.Catalog(ctx, v.Env, false, false)
	if others != nil {
		return s, err
	}
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	if slices.Contains(names, name) || len(names) == 0 {
		return s, err
	}
	hint := eval.DidYouMean(name, names)
	if hint == "" {
		hint = "there are " + strings.Join(names, ", ")
	}
	return s, fault.New(fault.NotFound, "", "there is no service %s", name).WithHint("%s", hint)
}

// listFlags are the flags of service instances.
type listFlags struct {
	sort    string
	down    bool
	deleted bool
	limit   int
}

func (sv *services) serviceInstances() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "instances NAME [FILTER]", Short: "List the instances of a service",
		Long: "instances lists the instances of a service by the time of their orders. FILTER: " +
			"state=, id=, identity=, match= (a part of an id or an identity), deleted=only, or " +
			"ATTRIBUTE=VALUE; all must match, except that any of several state= may.",
		Example: "  southbound service instances site\n" +
			"  southbound service instances site state=failed state=rejected\n" +
			"  southbound service instances site quota=5 --sort last_updated --descending --json",
		Args: usage.AtLeastOne("the name of a service"),
		RunE: sv.views.ordered(sv.OpenToRead,
			func(ctx context.Context, o api.Orders, args []string) error {
				return sv.listInstances(ctx, o, args, f)
			}),
	}
	cmd.Flags().
		StringVar(&f.sort, "sort", "created_at", "sort by "+strings.Join(orders.Sorts(), ", "))
	cmd.Flags().BoolVar(&f.down, "descending", false, "the last first")
	cmd.Flags().BoolVar(&f.deleted, "deleted", false, "list deleted instances, too")
	cmd.Flags().IntVar(&f.limit, "limit", 0, "maximum number of entries; 0: all")
	return cmd
}

// instanceFilter reads the terms of a filter.
func instanceFilter(s *orders.Offer, terms []string) (orders.Filter, error) {
	f := orders.Filter{Service: s.Name, Attributes: map[string]string{}}
	for _, t := range terms {
		key, value, is := strings.Cut(t, "=")
		if !is || value == "" {
			return f, fault.New(fault.Usage, "service instances", "%q is not a term of a filter",
				t).
				WithHint("write state=up, or ATTRIBUTE=VALUE")
		}
		switch key {
		case "state":
			f.States = append(f.States, value)
		case "id":
			f.ID = value
		case "identity":
			f.Identity = value
		case "match":
			f.Name = value
		case "deleted":
			if f.Deleted = orders.Deleted(value); f.Deleted != orders.OnlyDeleted {
				return f, fault.New(fault.Usage, "service instances", "deleted=%s means nothing",
					value).
					WithHint("write deleted=only, or give the flag --deleted")
			}
		default:
			if s.Attribute(key) == nil && relationOf(&s.Part, key) == nil {
				return f, fault.New(fault.Usage, "service instances", "%s has no attribute %s",
					s.Name, key).
					WithHint(
						"`southbound service show %s` shows them; others are state, id, identity, "+
							"match and deleted", s.Name)
			}
			f.Attributes[key] = value
		}
	}
	return f, nil
}

func (sv *services) listInstances(
	ctx context.Context, o api.Orders, args []string, f listFlags,
) error {
	s, err := sv.views.offer(ctx, o, args[0], -1, false)
	if err != nil {
		return err
	}
	q := orders.Query{Sort: f.sort, Descending: f.down}
	if q.Filter, err = instanceFilter(&s, args[1:]); err != nil {
		return err
	}
	if err := q.Check(); err != nil {
		return err
	}
	if f.deleted && q.Deleted == orders.NotDeleted {
		q.Deleted = orders.WithDeleted
	}
	rows := [][]cell{heads(s.Identity != nil)}
	listed := 0
	for {
		if q.Limit = 0; f.limit > 0 {
			q.Limit = f.limit - listed
		}
		page, err := o.List(ctx, sv.Env, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if sv.JSON {
				sv.Line(&page.Items[i])
				continue
			}
			rows = append(rows, row(&page.Items[i], s.Identity != nil))
		}
		listed += len(page.Items)
		if q.After = page.Next; q.After == "" || f.limit > 0 && listed >= f.limit {
			break
		}
	}
	switch {
	case sv.JSON:
	case listed == 0 && len(args) > 1:
		sv.Say("no instance matches%s", strangers(&s.Service, q.States))
	case listed == 0:
		sv.Say("there are no instances; `southbound service create %s …` orders one", s.Name)
	default:
		sv.views.table(rows, true)
	}
	return nil
}

// heads returns the first row of a table of instances.
func heads(identity bool) []cell {
	out := []cell{
		{text: "STATE"}, {text: "VERSION"}, {text: "UPDATED"}, {text: "ID"}, {text: "PROBLEM"},
	}
	if identity {
		return append([]cell{{text: "IDENTITY"}}, out...)
	}
	return out
}

// row returns an instance as a row of a table.
func row(i *orders.Instance, identity bool) []cell {
	out := []cell{
		{text: stateOf(i), label: i.Label}, {text: fmt.Sprint(i.Version)},
		{text: i.Updated.UTC().Format(time.DateTime)}, {text: i.ID}, {text: i.Problem()},
	}
	if !identity {
		return out
	}
	name := "-"
	if i.Identity != nil {
		name = *i.Identity
	}
	return append([]cell{{text: name}}, out...)
}

// stateOf returns the state of an instance, marked if the instance continues automatically.
func stateOf(i *orders.Instance) string {
	if i.Settled {
		return i.State
	}
	return i.State + " …"
}

// strangers reports the requested states that the lifecycle of a service does not have. This is no
// error: instances may have a lifecycle of an earlier version.
func strangers(s *definition.Service, states []string) string {
	for _, state := range states {
		if _, has := s.Lifecycle.State(state); has {
			continue
		}
		var names []string
		for i := range s.Lifecycle.States {
			names = append(names, s.Lifecycle.States[i].Name)
		}
		return fmt.Sprintf("; the lifecycle of %s has no state %s, it has %s", s.Name, state,
			strings.Join(names, ", "))
	}
	return ""
}
