package console

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// Bounds of the values that a form offers.
const (
	maxSuggested = 200 // values of a parameter
	maxFound     = 50  // values and instances that a search returns
)

// foundWords are the words of a search in one control of a form.
type foundWords struct {
	service string // whose instances are searched; "": only suggested values are
	words   string
}

// sources reads the values that a form suggests. What cannot be read is not suggested: a form is
// useful without.
func (r *request) sources(
	ctx context.Context, o api.Orders, f *form.Form, from form.Sources, find foundWords,
) form.Sources {
	from.Parameters, from.Long = map[string][]form.Option{}, map[string]bool{}
	from.Instances, from.More = map[string][]form.Option{}, map[string]bool{}
	parameters, services := f.Needs(from)
	for _, name := range parameters {
		p, err := r.home(ctx).Parameter(ctx, r.Env, name)
		switch {
		case err == nil && p.Source == sourceModel:
			all := parameterOptions(p.Value)
			from.Parameters[name], from.Long[name] = narrowed(all, find.words), len(all) > maxSuggested
		case err == nil:
			from.Parameters[name] = []form.Option{{Value: p.Value, Label: p.Value}}
		case !fault.Is(err, fault.NotFound):
			from.Parameters[name] = nil
		}
	}
	for _, name := range services {
		q := orders.Query{Filter: orders.Filter{Service: name}, Place: orders.Place{Limit: maxFound + 1}}
		if find.service == name {
			q.Name = find.words
		}
		page, err := o.List(ctx, r.Env, q)
		if err != nil {
			from.More[name] = true
			continue
		}
		for n := range page.Items {
			if n < maxFound {
				from.Instances[name] = append(from.Instances[name], instanceOption(&page.Items[n]))
			}
		}
		from.More[name] = len(page.Items) > maxFound || page.Next != "" || q.Name != ""
	}
	return from
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

// narrowed returns the values with words in them, if there are more than a control can offer.
func narrowed(all []form.Option, words string) []form.Option {
	if len(all) <= maxSuggested {
		return all
	}
	if words == "" {
		return all[:maxSuggested]
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
