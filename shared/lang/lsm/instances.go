package lsm

import (
	"fmt"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// instancePlugins returns the plugins for instances and bindings.
func instancePlugins() []eval.Plugin {
	const binding = "lsm::ServiceEntityBinding | lsm::ServiceBinding"
	version := func(name string) eval.Param {
		return eval.Param{Name: name, Type: "int?", Default: types.Null{}}
	}
	return []eval.Plugin{
		{
			Name: "lsm::all", Result: "list", InContext: true, Call: all,
			Doc: "Returns the instances of a service, a dict each: id, service_entity, " +
				"service_entity_version, version, state, and attributes, which are those of the " +
				"set that the compile is for. min_version and max_version bound the version of " +
				"the service.",
			Params: []eval.Param{
				{Name: "binding", Type: binding}, version("min_version"), version("max_version"),
			},
		},
		{
			Name: "lsm::context_v2_unwrapper", Result: "list", InContext: true, Call: unwrap,
			Doc: "Returns instances of lsm::all with the values of a ContextV2Wrapper in their " +
				"place, which fallback_attribute keeps. Values of members that were taken away " +
				"are left out, with track_deletes and without.",
			Params: []eval.Param{
				{Name: "assignments", Type: "list"}, {Name: "fallback_attribute", Type: "string"},
				{Name: "track_deletes", Type: "bool", Default: false},
			},
		},
		{
			Name: "lsm::has_current_state", Result: "bool", InContext: true, Call: hasState,
			Doc: "Reports whether the instance is in the state, or in one of several.",
			Params: []eval.Param{
				{Name: "instance", Type: "lsm::ServiceBase"},
				{Name: "state", Type: "string | string[]"},
			},
		},
		{
			Name: "lsm::get_service_binding_version", Result: "lsm::ServiceBindingVersion",
			InContext: true, Call: bindingVersion,
			Doc: "Returns the version of a binding that has the number version.",
			Params: []eval.Param{
				{Name: "binding", Type: "lsm::ServiceBinding"}, {Name: "version", Type: "int"},
			},
		},
		{
			Name: "lsm::purges_resources", Result: "bool", InContext: true, Call: purges,
			Doc: "Reports whether the instance of the id is in a state that removes its " +
				"resources. ServiceBase.purge_resources has it.",
			Params: []eval.Param{{Name: "instance_id", Type: "string"}},
		},
	}
}

func all(c *eval.Context, a eval.Args) (types.Value, error) {
	binding := a.Values[0].(types.Object)
	name, err := c.Attribute(binding, "service_entity_name")
	if err != nil {
		return nil, err
	}
	by, err := offers(c, binding)
	if err != nil {
		return nil, err
	}
	out, services := &types.List{}, of(c)
	service, _ := name.(string)
	if err := (&specs{c, services, service, by}).run(); err != nil {
		return nil, err
	}
	for i := range services.all {
		one := &services.all[i]
		if one.Service != name || !a.Null(1) && int64(one.ServiceVersion) < a.Int(1) ||
			!a.Null(2) && int64(one.ServiceVersion) > a.Int(2) {
			continue
		}
		d, err := one.unrolled(c, by[one.offered(by)])
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, d)
	}
	return out, c.Work(len(services.all))
}

func hasState(c *eval.Context, a eval.Args) (types.Value, error) {
	i, err := record(c, a.Values[0])
	if err != nil || i == nil {
		return false, err
	}
	for _, state := range append([]types.Value{a.Values[1]}, a.List(1).Items...) {
		if state == i.State {
			return true, nil
		}
	}
	return false, nil
}

func purges(c *eval.Context, a eval.Args) (types.Value, error) {
	return of(c).Purges(a.Text(0)), nil
}

func bindingVersion(c *eval.Context, a eval.Args) (types.Value, error) {
	versions, err := c.Attribute(a.Values[0].(types.Object), "versions")
	if err != nil {
		return nil, err
	}
	list, _ := versions.(*types.List)
	for _, item := range list.Items {
		n, err := c.Attribute(item.(types.Object), "version")
		if err != nil {
			return nil, err
		}
		if types.Equal(n, a.Values[1]) {
			return item, nil
		}
	}
	return nil, fmt.Errorf("the binding has no version %s", types.Repr(a.Values[1]))
}
