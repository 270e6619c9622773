package servicecmd

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/diffview"
	"southbound/shared/service/orders"
)

// preview shows the effect of an order.
func (oc *orderCommands) preview(ctx context.Context, d orders.Draft) error {
	p, err := oc.Home.PreviewOrder(ctx, oc.Env, d)
	if err != nil {
		return err
	}
	var is *orders.Instance
	if d.Create == nil {
		o, err := oc.Home.Orders()
		if err != nil {
			return err
		}
		one, err := o.Instance(ctx, oc.Env, d.Update.Ref)
		if err != nil {
			return err
		}
		is = &one
	}
	wrong := p.Wrong()
	if len(wrong) > 0 {
		oc.Code = output.Unhealthy
	}
	if oc.JSON {
		oc.Line(p)
		return nil
	}
	name := InstanceName(&p.Instance)
	if p.Instance.Identity == nil && d.Create != nil {
		name = "an instance of " + p.Instance.Service // the actual id will be another one
	}
	oc.Printf("%s: %s\n", name, strings.Join(p.Path, " → "))
	showAttributes(oc.Console, before(is), now(&p.Instance))
	showLines(oc.Console, p.Resources)
	if len(wrong) > 0 && !oc.Quiet {
		oc.Problems(wrong, 0)
	}
	return nil
}

// before returns the attributes that an instance has; nil: there is no instance.
func before(i *orders.Instance) orders.Attributes {
	if i == nil {
		return nil
	}
	return now(i)
}

// now returns the candidate attributes, which are not accepted yet, or else the active ones.
func now(i *orders.Instance) orders.Attributes {
	if i.Candidate != nil {
		return i.Candidate
	}
	return i.Active
}

// showAttributes shows the changes of attributes, a line each.
func showAttributes(c *output.Console, was, is orders.Attributes) {
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, had := was[name]
		v, has := is[name]
		switch {
		case !had:
			c.Printf("  %s = %s\n", name, diffview.Visible(shortJSON(v), ""))
		case !has:
			c.Printf("  %s is dropped, and was %s\n", name, diffview.Visible(shortJSON(old), ""))
		case !sameJSON(old, v):
			c.Printf("  %s = %s, and was %s\n", name, diffview.Visible(shortJSON(v), ""),
				diffview.Visible(shortJSON(old), ""))
		}
	}
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, other := json.Marshal(b)
	return err == nil && other == nil && string(x) == string(y)
}

// showLines shows steps of a plan, and summarizes them.
func showLines(c *output.Console, lines []api.PlanLine) {
	var planned []deploy.PlannedChange
	for i := range lines {
		planned = append(planned, lines[i].Planned())
	}
	if len(planned) == 0 {
		c.Printf("no resource changes\n")
		return
	}
	output.ShowSteps(c, planned)
	c.Printf("%s\n", output.PlanText(api.SummaryOf(planned)))
}
