package console

import (
	"context"
	"strings"

	"southbound/shared/console/form"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// previewRow is a value that an order sets.
type previewRow struct{ Operation, Target, From, To string }

// effectView is the predicted effect of an order.
type effectView struct {
	Path     string       // the states that the instance would pass through
	Rejected *problemView // why it would be rejected; nil: it would not
	Wrong    *problemView // why the effect is not known
	Planned  []plannedRow
	More     string // how many resources are not listed
}

// named returns a text with the identities of instances in place of their ids.
func named(text string, links map[string]form.Link) string {
	for id, link := range links {
		text = strings.ReplaceAll(text, id, link.Name)
	}
	return text
}

// edits returns the edits of the form.
func (p *formPage) edits() ([]form.Edit, []inventory.Edit, error) {
	edits, err := p.form.Edits(p.values)
	plain := make([]inventory.Edit, len(edits))
	for n := range edits {
		plain[n] = edits[n].Edit
	}
	return edits, plain, err
}

// creation returns the order of a new instance.
func (p *formPage) creation() orders.Creation {
	version := p.d.Version
	return orders.Creation{Service: p.d.Service, Version: &version, ID: p.d.ID,
		State: p.r.PostForm.Get(fieldInitial), Attributes: p.values}
}

// wish returns the instance to change, as the form shows it.
func (p *formPage) wish() orders.Wish {
	seen := p.d.Seen
	return orders.Wish{Ref: orders.Ref{Service: p.d.Service, ID: p.d.ID}, Version: &seen,
		Message: p.d.Message}
}

// preview shows the values that an order sets, and its effect.
func (p *formPage) preview(ctx context.Context) {
	flat := flatten(&p.form.Service.Part, p.values)
	links := p.r.instanceLinks(ctx, p.o, inventory.References(p.form.Service, p.values, p.form.Base))
	show := func(row previewRow) {
		if flat.relations[row.Target] {
			row.From, row.To = named(row.From, links), named(row.To, links)
		}
		p.d.Preview = append(p.d.Preview, row)
	}
	if p.instance == nil {
		for _, path := range flat.paths {
			show(previewRow{Target: path, To: attributeValue(flat.values[path]).Text})
		}
		order := p.creation()
		p.effect(ctx, orders.Draft{Create: &order})
		return
	}
	edits, plain, err := p.edits()
	if err != nil {
		p.fail(err)
		return
	}
	for _, e := range edits {
		show(previewRow{string(e.Operation), e.Target, e.From, e.To})
	}
	if p.d.Previewed = true; len(edits) > 0 {
		p.effect(ctx, orders.Draft{Update: p.wish(), Edits: plain})
	}
}

// effect adds the predicted effect of an order. A home without previews shows the values only.
func (p *formPage) effect(ctx context.Context, d orders.Draft) {
	got, err := p.r.home(ctx).PreviewOrder(ctx, p.r.Env, d)
	if problems, _ := diag.Of(err); len(problems) > 0 {
		p.fail(err)
		return
	}
	p.d.Previewed = true
	switch {
	case fault.Is(err, fault.Unsupported):
		return
	case err != nil:
		p.d.Effect = &effectView{Wrong: p.r.problem(err)}
		return
	}
	e := &effectView{Path: statePath(got.Path)}
	if err := got.Wrong().Err(); err != nil {
		e.Rejected = p.r.problem(err)
	}
	for i := range got.Resources {
		if i == pageRows {
			e.More = "and " + plural(len(got.Resources)-i, "more resource")
			break
		}
		planned := got.Resources[i].Planned()
		e.Planned = append(e.Planned, p.r.plannedRow(&planned, false))
	}
	p.d.Effect = e
}

// statePath returns states in the order in which they are passed.
func statePath(states []string) string { return strings.Join(states, " → ") }

// create orders the instance. The same form sent again finds it.
func (p *formPage) create(ctx context.Context) (view, error) {
	i, err := p.o.Create(ctx, p.r.Env, p.creation())
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	p.r.flash("%s ordered: it is in the state %s", instanceName(&i), i.State)
	return p.sent(&i), nil
}

// sent goes to the instance, or back to the comparison of versions.
func (p *formPage) sent(i *orders.Instance) view {
	if p.d.As != "" {
		return view{Redirect: p.d.Back}
	}
	return view{Redirect: p.r.instanceURL(i.ID, "")}
}

// change sends the edits of the instance.
func (p *formPage) change(ctx context.Context) (view, error) {
	edits, plain, err := p.edits()
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	if len(edits) == 0 {
		p.r.flash("Nothing was changed: all values are those that %s has", p.d.Name)
		return view{Redirect: p.d.Back}, nil
	}
	i, err := p.o.Edit(ctx, p.r.Env, p.wish(), plain)
	if err != nil {
		p.fail(err)
		return p.view(ctx)
	}
	p.r.flash("%s of %s sent: it is in the state %s", plural(len(edits), "change"), p.d.Name, i.State)
	return p.sent(&i), nil
}

// fail records an error of the API: problems with values at their fields, others at the top.
func (p *formPage) fail(err error) {
	problems, more := diag.Of(err)
	if len(problems) == 0 {
		p.d.Wrong = p.r.problem(err)
		return
	}
	p.problems = append(p.problems, p.form.Placed(p.values, problems)...)
	if more > 0 {
		p.problems.Add(diag.Problem{Message: "there are " + plural(more, "further problem")})
	}
}
