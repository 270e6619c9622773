package console

import (
	"context"
	"net/http"

	"southbound/shared/console/form"
	"southbound/shared/service/orders"
)

// editInstancePage changes an instance.
func editInstancePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	i, err := o.Instance(ctx, r.Env, orders.Ref{ID: r.PathValue("id")})
	if err != nil {
		return r.unsent(err)
	}
	offer, err := o.Offer(ctx, r.Env, i.Service, i.ServiceVersion, false)
	if err != nil {
		return r.unsent(err)
	}
	base := currentSet(&i)
	if base == nil {
		base = map[string]any{}
	}
	p := &formPage{r: r, o: o, instance: &i, form: &form.Form{Service: &offer.Service, Base: base},
		d: orderForm{
			Service: i.Service, ServiceURL: r.serviceURL(i.Service, ""), Back: r.instanceURL(i.ID, ""),
			Action: r.instanceURL(i.ID, "/edit"), ID: i.ID, Name: instanceName(&i), Seen: i.Version,
			Version: i.ServiceVersion, State: lifecycleStatus(i.State, i.Label),
		}}
	if i.Deleted {
		p.d.Wrong = deletedProblem(&i)
	}
	p.linkBack()
	switch {
	case r.Method == http.MethodPost:
		return p.answer(ctx)
	case p.d.As != "":
		return p.revert(ctx)
	}
	p.draft = p.form.Draft(base)
	return p.view(ctx)
}

// revert shows the form with the values that the instance had in a version of the model, and a preview
// of the change back to them.
func (p *formPage) revert(ctx context.Context) (view, error) {
	past, err := p.r.asOf(ctx, p.o, p.instance, p.d.As)
	if err != nil {
		p.d.Wrong = p.r.problem(err)
		p.draft = p.form.Draft(p.form.Base)
		return p.view(ctx)
	}
	p.d.Notes = append(p.d.Notes, past.note(p.r, p.d.Name, p.d.As))
	p.draft = p.form.Draft(past.values)
	if p.values, p.problems = p.form.Values(p.draft); len(p.problems) == 0 {
		p.preview(ctx)
	}
	return p.view(ctx)
}

// deletedProblem returns the problem of a form for a deleted instance.
func deletedProblem(i *orders.Instance) *problemView {
	return &problemView{Title: "Deleted", Status: http.StatusConflict,
		Text: "The instance " + instanceName(i) + " was deleted.",
		Hint: "Copy your values from this form, and order a new instance."}
}
