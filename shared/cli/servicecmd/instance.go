package servicecmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// instanceFlags select the parts of an instance to show.
type instanceFlags struct{ history, events, resources, diagnose bool }

// instanceCommands show an instance, and its history.
type instanceCommands struct {
	*output.Console
	*home.Location
	*home.Session
	views *serviceViews
}

func (ic *instanceCommands) serviceInstance() *cobra.Command {
	var f instanceFlags
	cmd := &cobra.Command{
		Use: "instance ID", Short: "Show an instance",
		Long: "instance shows the state and attributes of an instance, or with a flag its " +
			"earlier states, its events, its resources, or its problems." +
			referenceHelp,
		Example: "  southbound service instance site/www.example\n" +
			"  southbound service instance site/www.example --diagnose\n" +
			"  southbound service instance 2f1c0f9e-5f0a-4a57-9d5c-0a9b1b1f8f11 --history",
		Args: usage.ExactArgs(1, "one id"),
		RunE: ic.views.ordered(ic.OpenToRead,
			func(ctx context.Context, o api.Orders, args []string) error {
				return ic.instance(ctx, o, reference(args[0]), f)
			}),
	}
	cmd.Flags().BoolVar(&f.history, "history", false,
		"its earlier states and attributes")
	cmd.Flags().BoolVar(&f.events, "events", false, "its events")
	cmd.Flags().BoolVar(&f.resources, "resources", false, "its resources, and those whose changes it follows")
	cmd.Flags().BoolVar(&f.diagnose, "diagnose", false, "its problems")
	cmd.MarkFlagsMutuallyExclusive("history", "events", "resources", "diagnose")
	return cmd
}

func (ic *instanceCommands) instance(
	ctx context.Context, o api.Orders, ref orders.Ref, f instanceFlags,
) error {
	i, err := o.Instance(ctx, ic.Env, ref)
	if err != nil {
		return hinted(err, ref)
	}
	switch {
	case f.history:
		return ic.log(ctx, o, &i)
	case f.events:
		return ic.happened(ctx, o, &i)
	case f.resources:
		return ic.instanceResources(ctx, &i)
	case f.diagnose:
		if err := ic.diagnosis(ctx, o, &i); err != nil {
			return err
		}
	case ic.JSON:
		ic.Line(&i)
	default:
		ic.showInstance(&i)
	}
	home.SayUnserved(ic.Session, i)
	return nil
}

// hinted adds a hint about the forms of a name if no instance has the given name.
func hinted(err error, ref orders.Ref) error {
	if !fault.Is(err, fault.NotFound) || fault.HintOf(err) != "" {
		return err
	}
	if ref.Service == "" {
		return fault.New(fault.NotFound, "", "there is no instance %s", ref.ID).
			WithHint("give its id, or its service and its identity: NAME/identity")
	}
	_, identity, _ := strings.Cut(ref.ID, "=")
	return fault.New(fault.NotFound, "", "there is no instance of %s with the identity %s",
		ref.Service,
		identity).
		WithHint("`southbound service instances %s` lists them", ref.Service)
}

// InstanceName names an instance for people.
func InstanceName(i *orders.Instance) string {
	if i.Identity != nil {
		return i.Service + "/" + *i.Identity
	}
	return i.Service + " " + i.ID
}

func (ic *instanceCommands) showInstance(i *orders.Instance) {
	state := i.State
	if !i.Settled {
		state += " (a transfer is under way)"
	}
	ic.Printf("%s\n  id       %s\n  state    %s\n  version  %d\n", InstanceName(i), i.ID,
		ic.views.labelled(output.OneLine(state), i.Label), i.Version)
	ic.Printf("  ordered  %s\n  updated  %s\n", i.Created.UTC().Format(time.RFC3339),
		i.Updated.UTC().Format(time.RFC3339))
	var problems []diag.Problem
	if json.Unmarshal(i.Problems, &problems) == nil { // unreadable problems are not shown
		for _, p := range problems {
			ic.Printf("  problem  %s\n", output.OneLine(p.String()))
		}
	}
	for _, one := range i.ReferredBy {
		ic.Printf("  needed by %s\n", one)
	}
	for _, k := range slices.Sorted(maps.Keys(i.Metadata)) {
		ic.Printf("  metadata %s: %s\n", k, output.OneLine(i.Metadata[k]))
	}
	ic.sets(i)
}

// sets shows the sets of attributes in columns, a row for each attribute.
func (ic *instanceCommands) sets(i *orders.Instance) {
	var names []string
	var all []orders.Attributes
	seen := map[string]bool{}
	for _, s := range []struct {
		name string
		set  orders.Attributes
	}{{"candidate", i.Candidate}, {"active", i.Active}, {"rollback", i.Rollback}} {
		if s.set == nil {
			continue
		}
		names, all = append(names, s.name), append(all, s.set)
		for k := range s.set {
			seen[k] = true
		}
	}
	if len(all) == 0 {
		return
	}
	ic.Printf("\n")
	w := tabwriter.NewWriter(ic.Output(), 0, 0, 2, ' ', 0) // two blanks
	line(w, append([]string{"attribute"}, names...))
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		cells := []string{k}
		for _, set := range all {
			v, has := set[k]
			switch s, text := v.(string); {
			case !has:
				cells = append(cells, "-")
			case text:
				cells = append(cells, output.Cut(output.OneLine(s), output.TextWidth))
			default:
				cells = append(cells, output.OneLine(shortJSON(v)))
			}
		}
		line(w, cells)
	}
	_ = w.Flush() // output keeps errors
}

func line(w io.Writer, cells []string) {
	_, _ = fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
}

// happened shows the events of an instance.
func (ic *instanceCommands) happened(ctx context.Context, o api.Orders, i *orders.Instance) error {
	ref := orders.Ref{Service: i.Service, ID: i.ID}
	return api.AllEvents(ctx, o, ic.Env, ref, func(e *orders.Event) {
		if ic.JSON {
			ic.Line(e)
			return
		}
		ic.event(e)
	})
}

func (ic *instanceCommands) event(e *orders.Event) {
	what := ""
	switch {
	case e.To != nil && e.From != nil:
		what = *e.From + " → " + *e.To
	case e.To != nil:
		what = *e.To
	case e.From != nil:
		what = *e.From
	}
	if e.Error {
		what += " (failed)"
	}
	ic.Printf(
		"%s  %3d  %-14s  %s\n",
		e.At.UTC().Format(time.RFC3339),
		e.Version,
		e.Trigger,
		output.OneLine(what),
	)
	if e.Message != "" {
		ic.Printf("%s%s\n", strings.Repeat(" ", 27), output.OneLine(e.Message)) // below the event
	}
}

func (ic *instanceCommands) instanceResources(ctx context.Context, i *orders.Instance) error {
	all, err := api.InstanceResources(ctx, ic.Home, ic.Env, i)
	if err != nil {
		return err
	}
	for n := range all {
		if ic.JSON {
			ic.Line(&all[n])
			continue
		}
		ic.instanceResource(&all[n])
	}
	if len(all) == 0 && !ic.JSON {
		ic.Say("it has no resources")
	}
	return nil
}

func (ic *instanceCommands) instanceResource(r *api.InstanceResource) {
	ic.Printf("%s  %s\n", ic.Paint(r.State, 13), output.OneLine(r.ID)) // the longest status
	reason := output.OneLine(r.Reason)
	if at := r.Pos.String(); at != "" {
		reason = output.OneLine(at) + ": " + reason
	}
	if r.Reason != "" && r.State != state.StatusDeployed {
		ic.Printf("%15s%s\n", "", reason)
	}
}

func (ic *instanceCommands) diagnosis(ctx context.Context, o api.Orders, i *orders.Instance) error {
	d, err := api.Diagnose(ctx, ic.Home, o, ic.Env, i)
	if err != nil {
		return err
	}
	if ic.JSON {
		ic.Line(d)
		return nil
	}
	switch nothing := len(d.Failures)+len(d.Rejections) == 0; {
	case nothing && i.Failed:
		ic.Printf("the instance has no known problem now; if its lifecycle has a transfer from "+
			"%s, `southbound run` does it\n", i.State)
	case nothing:
		ic.Printf("the instance has no known problem\n")
	}
	ic.why(&d)
	return nil
}

// why shows a diagnosis.
func (ic *instanceCommands) why(d *api.Diagnosis) {
	for n := range d.Failures {
		ic.instanceResource(&d.Failures[n].InstanceResource)
	}
	for _, r := range d.Rejections {
		ic.Printf("%s  %s → %s failed", r.At.UTC().Format(time.RFC3339), r.From, r.To)
		if r.Message != "" {
			ic.Printf(": %s", output.OneLine(r.Message))
		}
		ic.Printf("\n")
		for _, hint := range r.Hints() {
			ic.Printf("  %s\n", output.OneLine(hint))
		}
	}
}
