package http

import (
	"maps"
	"net/http"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Objects is a handler for an API that has a JSON object at each path: GET reads it, PUT writes it
// whole, DELETE removes it. It handles missing objects, preserves unmanaged members, and retries
// requests that may be repeated.
type Objects struct {
	// Path returns the path of a resource's object; see the function Path.
	Path func(attributes map[string]any) string
	// Members maps the attributes that the object has as members to the names of the members, "" if
	// the names are the same. Other attributes are not sent.
	Members map[string]string
	// Write, if not nil, changes an object before it is written, for values that the API needs in
	// another form.
	Write func(object, attributes map[string]any)
	// Show, if not nil, changes the attributes that are reported of an object.
	Show func(observed, object map[string]any)
}

func (o Objects) member(attribute string) string {
	if m := o.Members[attribute]; m != "" {
		return m
	}
	return attribute
}

// get returns the object of a resource, nil if there is none.
func (o Objects) get(
	ctx *provider.Context, r provider.Resource,
) (object map[string]any, err error) {
	found, err := Call(ctx, http.MethodGet, o.Path(r.Attributes), nil, &object)
	if err != nil || !found {
		return nil, err
	}
	if object == nil {
		object = map[string]any{}
	}
	return object, nil
}

// Read implements provider.Handler.
func (o Objects) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	object, err := o.get(ctx, req.Resource)
	if err != nil || object == nil {
		return provider.Observation{}, err
	}
	out := make(map[string]any, len(o.Members))
	for name := range o.Members {
		if v, has := object[o.member(name)]; has { // write_only attributes have no member
			out[name] = v
		}
	}
	if o.Show != nil {
		o.Show(out, object)
	}
	return provider.Observation{Exists: true, Attributes: out}, nil
}

// Create implements provider.Handler. PUT has the same effect if the object exists, so it may be
// repeated.
func (o Objects) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.Result{}, o.put(ctx, req.Resource, nil, nil)
}

// Update implements provider.Handler. It sets only attributes that differ: a change of other
// attributes does not write write_only ones again.
func (o Objects) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	object, err := o.get(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, o.put(ctx, req.Resource, object, req.Changes)
}

// put merges the desired attributes into the existing object; if there is one, only those that
// differ.
func (o Objects) put(
	ctx *provider.Context, r provider.Resource, object map[string]any,
	changes map[string]diff.Diff,
) error {
	body := maps.Clone(object)
	if body == nil {
		body = map[string]any{}
	}
	for name := range o.Members {
		_, differs := changes[name]
		if v := r.Attributes[name]; v != nil && (object == nil || differs) {
			body[o.member(name)] = v
		}
	}
	if o.Write != nil {
		o.Write(body, r.Attributes)
	}
	_, err := Call(ctx, http.MethodPut, o.Path(r.Attributes), body, nil)
	return err
}

// Delete implements provider.Handler.
func (o Objects) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	_, err := Call(ctx, http.MethodDelete, o.Path(req.Resource.Attributes), nil, nil)
	return provider.Result{}, err
}
