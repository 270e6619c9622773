package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// Bounds of the values that a form offers.
const (
	maxSuggested = 200 // values of a parameter
	maxFound     = 50  // values and instances that a search returns
)

// formSearch is a search for a value of one control of a form.
type formSearch struct{ at, words string }

// sources reads the values that a form suggests, and those that a search finds for its control. What
// cannot be read is not suggested: a form is useful without.
func (p *formPage) sources(ctx context.Context, d *form.Draft) form.Sources {
	from := form.Sources{
		Parameters: map[string][]form.Option{}, Long: map[string]bool{},
		Instances: map[string][]form.Option{}, More: map[string]bool{},
		Identity: identityValue(p.form, p.form.Base), URL: p.r.optionsURL,
	}
	if p.instance != nil {
		from.Instance = p.instance.ID
	}
	from.Links = p.r.instanceLinks(ctx, p.o, p.named())
	parameters, services := p.form.Needs(from)
	for _, name := range parameters {
		all, missing := p.r.parameterValues(ctx, name)
		if !missing {
			from.Parameters[name], from.Long[name] = firstOf(all), len(all) > maxSuggested
		}
	}
	for _, name := range services {
		from.Instances[name], from.More[name] = p.r.instancesLike(ctx, p.o, name, "")
	}
	if p.search.at != "" {
		v := p.form.View(d, nil, from)
		if c := v.Control(p.search.at); c != nil {
			from.Found = map[string][]form.Option{c.Name: p.r.found(ctx, p.o, c, p.search.words)}
		}
	}
	return from
}

// named returns the ids of the instances that the form may name: those of its base, and all that were
// posted or filled in.
func (p *formPage) named() []string {
	out := append(p.form.References(), inventory.References(p.form.Service, p.values)...)
	for _, values := range p.posted {
		for _, v := range values {
			if uuid.Validate(v) == nil {
				out = append(out, v)
			}
		}
	}
	return out
}

// found returns the values for a control that have words in them.
func (r *request) found(ctx context.Context, o api.Orders, c *form.Control, words string) []form.Option {
	if c.Service != "" {
		out, _ := r.instancesLike(ctx, o, c.Service, words)
		return out
	}
	all, _ := r.parameterValues(ctx, c.Parameter)
	return narrowed(all, words)
}

// parameterValues returns the values that a parameter suggests; missing reports that there is none.
func (r *request) parameterValues(ctx context.Context, name string) (all []form.Option, missing bool) {
	p, err := r.home(ctx).Parameter(ctx, r.Env, name)
	switch {
	case err == nil && p.Source == sourceModel:
		return parameterOptions(p.Value), false
	case err == nil:
		return []form.Option{{Value: p.Value, Label: p.Value}}, false
	}
	return nil, fault.Is(err, fault.NotFound)
}

// instancesLike returns instances of a service whose names begin with words, and whether there may be
// others.
func (r *request) instancesLike(
	ctx context.Context, o api.Orders, service, words string,
) (out []form.Option, more bool) {
	page, err := o.List(ctx, r.Env, orders.Query{
		Filter: orders.Filter{Service: service, Name: words}, Place: orders.Place{Limit: maxFound + 1},
	})
	if err != nil {
		return nil, true
	}
	for n := range page.Items[:min(len(page.Items), maxFound)] {
		out = append(out, instanceOption(&page.Items[n]))
	}
	return out, len(page.Items) > maxFound || page.Next != ""
}

// optionsPattern answers searches of comboboxes.
const optionsPattern = "GET /console/{env}/options"

// optionsURL returns the URL at which a combobox searches the instances of a service, or the values
// of a parameter.
func (r *request) optionsURL(service, parameter string) string {
	return r.url("options", "service", service, "parameter", parameter)
}

// optionsFile answers with values as JSON, for the words of a combobox.
func optionsFile(w http.ResponseWriter, r *request) {
	type option struct {
		Value string `json:"value"`
		Label string `json:"label"`
	}
	out := []option{}
	q := r.URL.Query()
	c := &form.Control{Service: q.Get("service"), Parameter: q.Get("parameter")}
	var o api.Orders
	var err error
	if c.Service != "" {
		o, err = r.orders(r.Context())
	}
	if err == nil {
		for _, one := range r.found(r.Context(), o, c, strings.TrimSpace(q.Get("q"))) {
			out = append(out, option{one.Value, one.Label})
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // a failure means that the browser has gone
}

func instanceOption(i *orders.Instance) form.Option {
	return form.Option{Value: i.ID, Label: instanceName(i) + " (" + i.State + ")"}
}

// parameterOptions returns the suggested values that a parameter holds.
func parameterOptions(text string) []form.Option {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return form.Options(v)
}

// firstOf returns as many values as a control offers.
func firstOf(all []form.Option) []form.Option { return all[:min(len(all), maxSuggested)] }

// narrowed returns the values with words in them, at most maxFound; without words the first ones.
func narrowed(all []form.Option, words string) []form.Option {
	if words == "" {
		return firstOf(all)
	}
	var out []form.Option
	for _, o := range all {
		text := strings.ToLower(o.Label + " " + o.Value)
		if strings.Contains(text, strings.ToLower(words)) && len(out) < maxFound {
			out = append(out, o)
		}
	}
	return out
}

// identityValue returns the value of the identity in attributes; "" if it is not set.
func identityValue(f *form.Form, values map[string]any) string {
	if f.Service.Identity == nil || values[*f.Service.Identity] == nil {
		return ""
	}
	return cmp.Or(form.Shown(values[*f.Service.Identity]))
}
