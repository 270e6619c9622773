package console

import (
	"context"
	"slices"

	"southbound/shared/api/document"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

// paramUses asks the page of a parameter for the resources that refer to it.
const paramUses = "uses"

// usesView is who uses a parameter.
type usesView struct {
	Forms     []form.Link // of services that suggest its values
	Searched  bool        // Resources are known
	Find      string      // the address that searches resources
	Resources []usedBy
	More      string // how many resources are not listed
	Wrong     *problemView
}

// usedBy is a resource that refers to a parameter, with its attributes that do.
type usedBy struct {
	Of         resourceRef
	Attributes []string
}

// uses returns the forms that suggest the values of a parameter and, if the address asks for it, the
// resources of the version in force that refer to it: that reads the whole version.
func (r *request) uses(ctx context.Context, name string) *usesView {
	d := &usesView{Find: r.url("parameter", "name", name, paramUses, "1") + "#uses"}
	if err := r.usingForms(ctx, name, d); err != nil {
		d.Wrong = r.problem(err)
	}
	if r.URL.Query().Get(paramUses) == "" {
		return d
	}
	if err := r.usingResources(ctx, name, d); unlessNone(err) != nil {
		d.Wrong = r.problem(err)
	}
	return d
}

func (r *request) usingForms(ctx context.Context, name string, d *usesView) error {
	o, err := r.orders(ctx)
	var all []orders.Offer
	if err == nil {
		all, err = o.Catalog(ctx, r.Env, false, false)
	}
	if fault.Is(err, fault.Unsupported) || unlessNone(err) == nil && err != nil {
		return nil
	}
	for i := range all {
		f := &form.Form{Service: &all[i].Service}
		parameters, _ := f.Needs(form.Sources{})
		if slices.Contains(parameters, name) {
			d.Forms = append(d.Forms, form.Link{Name: all[i].Name, URL: r.serviceURL(all[i].Name, "")})
		}
	}
	return err
}

func (r *request) usingResources(ctx context.Context, name string, d *usesView) error {
	p, err := r.home(ctx).Progress(ctx, r.Env)
	if err != nil {
		return err
	}
	d.Searched = true
	if p.Released == 0 {
		return nil
	}
	left := 0
	err = r.home(ctx).Descriptions(ctx, r.Env, p.Released, "", func(one *document.Description) error {
		var used []string
		for _, attribute := range sortedKeys(one.Attributes) {
			if refersTo(one.Attributes[attribute], name) {
				used = append(used, line(attribute))
			}
		}
		switch {
		case len(used) == 0:
		case len(d.Resources) == pageRows:
			left++
		default:
			d.Resources = append(d.Resources, usedBy{r.ref(one.ID), used})
		}
		return nil
	})
	if left > 0 {
		d.More = "and " + plural(left, "more resource")
	}
	return err
}

// refersTo reports whether a value of a document refers to a parameter.
func refersTo(v any, name string) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["parameter"] == name && len(v) == 1 {
			return true
		}
		for _, one := range v {
			if refersTo(one, name) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return refersTo(one, name) })
	}
	return false
}
