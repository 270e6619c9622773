package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// newInstancePage orders an instance.
func newInstancePage(ctx context.Context, r *request) (view, error) {
	version, err := r.definitionVersion()
	if err != nil {
		return view{}, err
	}
	o, err := r.orders(ctx)
	if err != nil {
		return r.unsent(err)
	}
	name := r.PathValue("service")
	offer, err := o.Offer(ctx, r.Env, name, version, false)
	if err != nil {
		return r.unsent(err)
	}
	p := &formPage{r: r, o: o, form: &form.Form{Service: &offer.Service}, d: orderForm{
		Service: name, ServiceURL: r.serviceURL(name, ""), Back: r.serviceURL(name, "/instances"),
		Action: r.serviceURL(name, "/new"), New: true, Version: offer.Version,
		ID: cmp.Or(r.PostForm.Get(fieldID), uuid.NewString()),
	}}
	p.linkBack()
	p.d.Initial = stateOptions(offer.Lifecycle.Alternatives, r.PostForm.Get(fieldInitial))
	if r.Method == http.MethodPost {
		return p.answer(ctx)
	}
	if p.values, err = p.valuesOf(ctx, r.URL.Query().Get("from")); err != nil {
		return view{}, err
	}
	return p.view(ctx)
}

// definitionVersion returns the version of the definition that a request names; -1 for the default.
func (r *request) definitionVersion() (int, error) {
	text := cmp.Or(r.PostForm.Get(fieldVersion), r.URL.Query().Get(fieldVersion))
	if text == "" {
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fault.New(fault.Usage, "", "the version %.40q is not a number", text)
	}
	return n, nil
}

// stateOptions returns the options of the initial state.
func stateOptions(states []string, selected string) []form.Option {
	var out []form.Option
	for _, s := range states {
		out = append(out, form.Option{Value: s, Label: s, Selected: s == selected})
	}
	return out
}

// valuesOf returns the values of another instance as defaults of a new one; nil without its id.
func (p *formPage) valuesOf(ctx context.Context, id string) (map[string]any, error) {
	if id == "" {
		return nil, nil
	}
	other, err := p.o.Instance(ctx, p.r.Env, orders.Ref{Service: p.d.Service, ID: id})
	if err != nil {
		return nil, err
	}
	set := currentSet(&other)
	note := "The values are those of " + instanceName(&other) + ". Change the attributes that must be unique."
	if p.d.As != "" {
		past, err := p.r.asOf(ctx, p.o, &other, p.d.As)
		if err != nil {
			return nil, err
		}
		set, note = past.values, past.note(p.r, instanceName(&other), p.d.As)
	}
	p.d.Notes = append(p.d.Notes, note)
	return inventory.Writable(p.form.Service, set), nil
}
