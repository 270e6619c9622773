package lsm

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/service/inventory"
)

// Allocation controls whether allocators of modules are called for an instance.
type Allocation int

// AllocateNever leaves the values of an instance unchanged. AllocateNow calls the allocators.
// AllocateLater leaves the values unchanged, and the model gets an unknown value for each read-only
// attribute without a value. Previews and trials use AllocateLater.
const (
	AllocateNever Allocation = iota
	AllocateNow
	AllocateLater
)

// specPlugin is the plugin of the Python module lsm that runs an allocation spec.
const specPlugin = "lsm::run_allocation_spec"

// offer describes how a binding offers a version of a service.
type offer struct {
	entity *types.Entity
	spec   string // the allocation spec; "" if there is none
}

// offers returns the offers of a binding by version. A binding without versions has a single offer
// with the key 0.
func offers(c *eval.Context, binding types.Object) (map[int]offer, error) {
	out := map[int]offer{}
	if binding.Type().Attribute("versions") == nil {
		one, err := offerOf(c, binding)
		out[0] = one
		return out, err
	}
	versions, err := c.Attribute(binding, "versions")
	if err != nil {
		return nil, err
	}
	list, _ := versions.(*types.List)
	for _, item := range list.Items {
		n, err := c.Attribute(item.(types.Object), "version")
		if err != nil {
			return nil, err
		}
		version, _ := n.(int64)
		if out[int(version)], err = offerOf(c, item.(types.Object)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func offerOf(c *eval.Context, binding types.Object) (offer, error) {
	spec, err := c.Attribute(binding, "allocation_spec")
	if _, set := spec.(string); err != nil || !set {
		return offer{}, err
	}
	entity, err := c.Attribute(binding, "service_entity")
	if err != nil {
		return offer{}, err
	}
	out := offer{}
	out.spec, _ = spec.(string)
	name, _ := entity.(string)
	out.entity, _ = c.Type(name).(*types.Entity)
	if out.entity == nil {
		return out, fmt.Errorf("there is no entity %s", name)
	}
	return out, nil
}

// specs are the allocation specs of a service.
type specs struct {
	*eval.Context
	services *Services
	service  string
	by       map[int]offer
}

// run runs the specs for the instances that need allocators. A spec runs once in a compile, for all
// its instances together.
func (s *specs) run() error {
	ran := map[string]bool{}
	for _, n := range slices.Sorted(maps.Keys(s.by)) {
		version := s.by[n]
		if version.spec == "" || ran[version.spec] {
			continue
		}
		ran[version.spec] = true
		if err := s.runOne(version, s.waiting(version.spec)); err != nil {
			return err
		}
	}
	return nil
}

// waiting returns the instances that a spec has to run for.
func (s *specs) waiting(spec string) []*Instance {
	var out []*Instance
	for i := range s.services.all {
		one := &s.services.all[i]
		if one.Service == s.service && one.Allocation == AllocateNow &&
			!s.services.allocated[one.ID] && s.by[one.offered(s.by)].spec == spec {
			out = append(out, one)
		}
	}
	return out
}

// offered returns the key of the offer for an instance: its version, or 0.
func (i *Instance) offered(by map[int]offer) int {
	if _, ok := by[i.ServiceVersion]; ok {
		return i.ServiceVersion
	}
	return 0
}

// runOne runs one spec. If an allocator fails, runOne keeps no value of the spec.
func (s *specs) runOne(by offer, of []*Instance) error {
	if !s.HasPlugin(specPlugin) {
		return &eval.PluginError{
			Message: fmt.Sprintf("no module defines the allocation spec %q", by.spec),
			Hint: "define it in the Python code of a module, AllocationSpec(\"" + by.spec +
				"\", …), or leave allocation_spec out",
		}
	}
	instances, err := recordsOf(of)
	if err != nil {
		return err
	}
	environment := ""
	if e, ok := s.Env.(*std.Env); ok {
		environment = e.Environment
	}
	result, err := s.Apply(specPlugin,
		[]types.Value{by.spec, environment, s.service, instances})
	if err != nil {
		return err
	}
	gifts, err := s.gifts(by.entity, result)
	if err != nil {
		return fmt.Errorf("the allocation spec %s: %w", by.spec, err)
	}
	for i := range gifts {
		s.services.give(gifts[i])
	}
	for _, one := range of {
		s.services.allocated[one.ID] = true
	}
	return nil
}

// gift is a value from an allocator for an attribute.
type gift struct {
	Update
	to      *Instance
	path    inventory.Path
	outside bool // the allocator may have recorded it in a store of its own
}

// gifts decodes the result of the plugin: dicts of id, path, value and outside.
func (s *specs) gifts(e *types.Entity, v types.Value) ([]gift, error) {
	list, _ := v.(*types.List)
	if list == nil {
		return nil, errors.New("it returned no list")
	}
	out := make([]gift, 0, len(list.Items))
	for _, item := range list.Items {
		d, ok := item.(*types.Dict)
		if !ok {
			return nil, fmt.Errorf("%s is not a value for an attribute", types.Kind(item))
		}
		id, _ := d.Get("id")
		path, _ := d.Get("path")
		value, _ := d.Get("value")
		outside, _ := d.Get("outside")
		text, _ := path.(string)
		name, _ := id.(string)
		one := s.services.instance(name)
		if one == nil {
			return nil, fmt.Errorf("there is no instance %s", name)
		}
		g, err := giftOf(e, one, text, value)
		if err != nil {
			return nil, err
		}
		g.outside = outside == true
		out = append(out, g)
	}
	return out, nil
}

// giftOf returns a value for an attribute of an instance, if the attribute accepts it.
func giftOf(e *types.Entity, to *Instance, path string, v types.Value) (gift, error) {
	if err := readOnly(e, path, v); err != nil {
		return gift{}, err
	}
	plain, err := Plain(v)
	if err != nil {
		return gift{}, fmt.Errorf("%s: %w", path, err)
	}
	g := gift{Update: Update{Instance: to.ID, Path: path, Value: plain}, to: to}
	if g.path, err = inventory.ParsePath(path); err != nil {
		return g, err
	}
	if len(g.path.Places(to.Attributes)) == 0 {
		return g, fmt.Errorf("the path %s leads to no member of the instance %s", path, to.ID)
	}
	return g, nil
}

// give stores a value in an attribute of an instance. The rest of the compile sees the value.
func (s *Services) give(g gift) {
	s.update(g.Update)
	if g.outside {
		s.Outside = append(s.Outside, g.Update)
	}
	g.to.Attributes = g.path.Put(g.to.Attributes, g.Value)
	g.to.Sets.put(g.to.Set, g.path, g.Value)
}

// giveEarlier sets the values that the order of an instance got in an earlier compile.
func (s *Services) giveEarlier(to *Instance) {
	if to.Allocation != AllocateNow {
		return
	}
	for _, u := range to.Earlier {
		if path, err := inventory.ParsePath(u.Path); err == nil {
			s.give(gift{u, to, path, true})
		}
	}
}

// unrolled returns an instance in the form of lsm::all.
func (i *Instance) unrolled(c *eval.Context, by offer) (*types.Dict, error) {
	i.by = by
	attributes, err := i.seen(c, i.Attributes)
	if err != nil {
		return nil, fmt.Errorf("the instance %s: %w", i.ID, err)
	}
	d := i.described()
	d.Set("attributes", attributes)
	return d, nil
}

// seen returns attributes of an instance in the form that the model sees.
func (i *Instance) seen(c *eval.Context, set map[string]any) (types.Value, error) {
	attributes, err := Value(set)
	if d, ok := attributes.(*types.Dict); ok && i.by.spec != "" && i.Allocation == AllocateLater {
		foresee(c, i.by.entity, d)
	}
	return attributes, err
}

// foresee makes read-only attributes without a value unknown, including those of members.
func foresee(c *eval.Context, e *types.Entity, d *types.Dict) {
	for _, a := range e.All() {
		v, has := d.Get(a.Name)
		if _, null := v.(types.Null); a.Relation == nil {
			if has && null && Modifier(e, a.Name) == "r" {
				d.Set(a.Name, unallocated())
			}
			continue
		}
		switch v := v.(type) {
		case *types.Dict:
			foresee(c, a.Relation.Target, v)
		case *types.List:
			for _, item := range v.Items {
				if member, ok := item.(*types.Dict); ok {
					foresee(c, a.Relation.Target, member)
				}
			}
		}
	}
}

// unallocated returns the placeholder of a value that an allocator will set later.
func unallocated() *types.Unknown {
	return &types.Unknown{Why: "an allocator gives it when the order is carried out"}
}

// unwrap implements lsm::context_v2_unwrapper.
func unwrap(c *eval.Context, a eval.Args) (types.Value, error) {
	out, services := &types.List{}, of(c)
	for _, item := range a.List(0).Items {
		d, ok := item.(*types.Dict)
		if !ok {
			return nil, fmt.Errorf("%s is not an instance of lsm::all", types.Kind(item))
		}
		id, _ := d.Get("id")
		name, _ := id.(string)
		one := services.instance(name)
		if one == nil {
			return nil, errNotUnrolled
		}
		attributes, err := one.unwrapped(c, a.Text(1))
		if err != nil {
			return nil, fmt.Errorf("the instance %s: %w", one.ID, err)
		}
		whole := one.described()
		whole.Set("attributes", attributes)
		out.Items = append(out.Items, whole)
	}
	return out, nil
}

// unwrapped returns the attributes of an instance, merged with the values that the attribute
// fallback stores by path. Values of members that no longer exist are omitted.
func (i *Instance) unwrapped(c *eval.Context, fallback string) (types.Value, error) {
	attributes := i.Attributes
	kept, _ := attributes[fallback].(map[string]any)
	for _, text := range slices.Sorted(maps.Keys(kept)) {
		path, err := inventory.ParsePath(text)
		if err != nil {
			return nil, err
		}
		attributes = path.Put(attributes, kept[text])
	}
	return i.seen(c, attributes)
}

// recordsOf returns instances in the form that Python allocators expect.
func recordsOf(all []*Instance) (*types.List, error) {
	out := &types.List{}
	for _, one := range all {
		d, err := one.recorded()
		if err != nil {
			return nil, fmt.Errorf("the instance %s: %w", one.ID, err)
		}
		out.Items = append(out.Items, d)
	}
	return out, nil
}

// recorded returns an instance with all its attribute sets.
func (i *Instance) recorded() (*types.Dict, error) {
	d := i.described()
	for _, set := range []struct {
		name string
		held map[string]any
	}{
		{"attributes", i.Attributes}, {"candidate_attributes", i.Sets.Candidate},
		{"active_attributes", i.Sets.Active}, {"rollback_attributes", i.Sets.Rollback},
	} {
		var v types.Value = types.Null{}
		if set.held != nil {
			var err error
			if v, err = Value(set.held); err != nil {
				return nil, err
			}
		}
		d.Set(set.name, v)
	}
	return d, nil
}

// described returns an instance without attributes.
func (i *Instance) described() *types.Dict {
	const members = 9
	d := types.NewDict(members)
	d.Set("id", i.ID)
	d.Set("service_entity", i.Service)
	d.Set("service_entity_version", int64(i.ServiceVersion))
	d.Set("version", i.Version)
	d.Set("state", i.State)
	return d
}
