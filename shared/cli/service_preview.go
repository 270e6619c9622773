package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/diffview"
	"southbound/shared/service/orders"
)

// preview shows the effect of an order.
func (oc *orderCommands) preview(ctx context.Context, d orders.Draft) error {
	p, err := oc.home.PreviewOrder(ctx, oc.env, d)
	if err != nil {
		return err
	}
	var is *orders.Instance
	if d.Create == nil {
		o, err := oc.home.Orders()
		if err != nil {
			return err
		}
		one, err := o.Instance(ctx, oc.env, d.Update.Ref)
		if err != nil {
			return err
		}
		is = &one
	}
	wrong := p.Wrong()
	if len(wrong) > 0 {
		oc.code = exitUnhealthy
	}
	if oc.json {
		oc.line(p)
		return nil
	}
	name := called(&p.Instance)
	if p.Instance.Identity == nil && d.Create != nil {
		name = "an instance of " + p.Instance.Service // the actual id will be another one
	}
	oc.printf("%s: %s\n", name, strings.Join(p.Path, " → "))
	showAttributes(oc.console, before(is), now(&p.Instance))
	showLines(oc.console, p.Resources)
	if len(wrong) > 0 && !oc.quiet {
		oc.problems(wrong, 0)
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
func showAttributes(c *console, was, is orders.Attributes) {
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
			c.printf("  %s = %s\n", name, diffview.Visible(shortJSON(v), ""))
		case !has:
			c.printf("  %s is dropped, and was %s\n", name, diffview.Visible(shortJSON(old), ""))
		case !sameJSON(old, v):
			c.printf("  %s = %s, and was %s\n", name, diffview.Visible(shortJSON(v), ""),
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
func showLines(c *console, lines []api.PlanLine) {
	var planned []deploy.PlannedChange
	for i := range lines {
		planned = append(planned, changeOf(&lines[i]))
	}
	if len(planned) == 0 {
		c.printf("no resource changes\n")
		return
	}
	showSteps(c, planned)
	c.printf("%s\n", planText(api.SummaryOf(planned)))
}

// changeOf returns the step of a line.
func changeOf(l *api.PlanLine) deploy.PlannedChange {
	return deploy.PlannedChange{
		ID: l.ID, Action: l.Action, Changes: l.Changes, Replace: l.Replace, Deletes: l.Deletes,
		Reason: l.Reason, Failed: l.Failed, ReloadFor: l.ReloadFor, MovedFrom: l.MovedFrom,
		Rechecked: l.Rechecked, After: l.After,
	}
}
