package lsm

import (
	"errors"
	"fmt"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/service/inventory"
)

// allocators returns the plugins that read or choose values of read-only attributes. A chosen value
// is stored, so that later compiles return it again.
func allocators() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "lsm::allocators::get_first_free_integer", Result: "int", InContext: true,
			Call: firstFree,
			Doc: "Returns the whole number that the attribute of the instance has, or else the " +
				"first one from range_start to range_end, that included, which is not in " +
				"used_values and which no instance of the service has, and stores it as the " +
				"attribute. attribute_path is the name of the attribute, or a path into embedded " +
				"entities, sites[name=a].vlan: then no other member of any instance has the " +
				"number either. A number counts as long as it is in the candidate, active or " +
				"rollback attributes of an instance, and a member keeps its number as long.",
			Params: []eval.Param{
				{Name: "service", Type: "lsm::ServiceBase"},
				{Name: "attribute_path", Type: "string"},
				{Name: "range_start", Type: "int"},
				{Name: "range_end", Type: "int"},
				{Name: "used_values", Type: "int[]", Default: &types.List{}},
			},
		},
		{
			Name: "lsm::allocators::get_used_values", Result: "list", InContext: true, Call: used,
			Doc: "Returns the values that the attribute has at instances of a service, each once, " +
				"in any of their sets of attributes. A path into embedded entities, sites.vlan, " +
				"stands for all members; keys in it count for nothing.",
			Params: []eval.Param{
				{Name: "binding", Type: "lsm::ServiceEntityBinding | lsm::ServiceBinding"},
				{Name: "attribute_path", Type: "string"},
			},
		},
	}
}

// errNotUnrolled is the error for an instance that is not in the inventory.
var errNotUnrolled = errors.New(
	"the instance is not one of lsm::all, so nothing can be kept for it")

func firstFree(c *eval.Context, a eval.Args) (types.Value, error) {
	o, path := a.Values[0].(types.Object), a.Text(1)
	i, err := record(c, o)
	if err != nil {
		return nil, err
	}
	if !a.Number(2).IsInt64() || !a.Number(3).IsInt64() {
		return nil, fmt.Errorf("values are allocated from numbers of 64 bits, not from %d to %d",
			a.Number(2), a.Number(3))
	}
	from, to := a.Int(2), a.Int(3)
	if from > to {
		return nil, fmt.Errorf("range_start is %d, and range_end is %d: there is nothing between",
			from, to)
	}
	if err := readOnly(o.Type(), path, from); err != nil {
		return nil, err
	}
	if i == nil {
		return nil, errNotUnrolled
	}
	services := of(c)
	at, err := services.allocation(i, path)
	if err != nil {
		return nil, err
	}
	if n, ok, stored := services.kept(at); ok {
		if !stored {
			services.update(Update{Instance: i.ID, Path: path, Value: n})
		}
		return n, nil
	}
	n, ok, err := services.free(at, from, to, a.List(4).Items)
	if err != nil {
		return nil, err
	}
	if err := c.Work(int(n - from)); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("all values from %d to %d are used", from, to)
	}
	return n, services.take(at, n)
}

// allocation is an attribute of an instance or of one of its members that needs a number.
type allocation struct {
	instance *Instance
	text     string // the path in the notation of the model
	path     inventory.Path
	place    inventory.Place // the place of the path in the set that the compile uses
}

// allocation resolves a path in an instance.
func (s *Services) allocation(i *Instance, text string) (*allocation, error) {
	path, err := inventory.ParsePath(text)
	if err != nil {
		return nil, err
	}
	places := path.Places(i.Attributes)
	switch {
	case len(places) == 0:
		return nil, fmt.Errorf("the path %s leads to no member of the instance %s", text, i.ID)
	case len(places) > 1:
		return nil, &eval.PluginError{
			Message: fmt.Sprintf("the path %s leads to %d members of the instance %s",
				text, len(places), i.ID),
			Hint: "name one by its keys: sites[name=a].vlan",
		}
	}
	return &allocation{i, text, path, places[0]}, nil
}

// whole returns a JSON value as an integer.
func whole(v any) (int64, bool) {
	value, err := Value(v)
	if err != nil {
		return 0, false
	}
	n, ok := value.(int64)
	return n, ok
}

// kept returns the number that an attribute already has. It searches the set that the compile uses,
// earlier calls in this compile, and the other sets of the instance. stored is false if only
// another set has the number. The caller must then record an update.
func (s *Services) kept(a *allocation) (n int64, ok, stored bool) {
	if n, ok := whole(a.place.Value); ok {
		return n, true, true
	}
	if n, ok := s.given[a.instance.ID][a.place.At]; ok {
		return n, true, true
	}
	for _, set := range a.instance.Sets.all() {
		if places := a.path.Places(set); len(places) == 1 {
			if n, ok := whole(places[0].Value); ok {
				return n, true, false
			}
		}
	}
	return 0, false, false
}

// free returns the first number of a range that is not in use.
func (s *Services) free(
	a *allocation, from, to int64, more []types.Value,
) (int64, bool, error) {
	given := map[int64]bool{}
	for _, v := range more {
		if n, ok := v.(int64); ok {
			given[n] = true
		}
	}
	taken, err := s.numbers(a)
	if err != nil {
		return 0, false, err
	}
	for n := from; ; n++ {
		if !taken[n] && !given[n] {
			return n, true, nil
		}
		if n == to {
			return to, false, nil
		}
	}
}

// numbers returns the integers that instances of a service have at a path, for all members. They
// include numbers that were allocated in this compile.
func (s *Services) numbers(a *allocation) (map[int64]bool, error) {
	shape := a.path.Shape()
	key := a.instance.Service + "\x00" + shape.String()
	if s.taken[key] != nil {
		return s.taken[key], nil
	}
	sets, err := s.sets(a.instance.Service)
	if err != nil {
		return nil, err
	}
	s.taken[key] = map[int64]bool{}
	for _, set := range sets {
		for _, p := range shape.Places(set) {
			if n, ok := whole(p.Value); ok {
				s.taken[key][n] = true
			}
		}
	}
	for _, v := range s.chosen(a.instance.Service, shape) {
		if n, ok := whole(v); ok {
			s.taken[key][n] = true
		}
	}
	return s.taken[key], nil
}

// sets returns all attribute sets of the instances of a service.
func (s *Services) sets(service string) ([]map[string]any, error) {
	rest, err := s.rest(service)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for i := range rest {
		out = append(out, rest[i].Sets.all()...)
	}
	for i := range s.all {
		if s.all[i].Service == service {
			out = append(append(out, s.all[i].Attributes), s.all[i].Sets.all()...)
		}
	}
	return out, nil
}

// take allocates a number to an attribute.
func (s *Services) take(a *allocation, n int64) error {
	taken, err := s.numbers(a)
	if err != nil {
		return err
	}
	taken[n] = true
	id := a.instance.ID
	if s.given[id] == nil {
		s.given[id] = map[string]int64{}
	}
	s.given[id][a.place.At] = n
	s.update(Update{Instance: id, Path: a.text, Value: n})
	return nil
}

func used(c *eval.Context, a eval.Args) (types.Value, error) {
	name, err := c.Attribute(a.Values[0].(types.Object), "service_entity_name")
	if err != nil {
		return nil, err
	}
	path, err := inventory.ParsePath(a.Text(1))
	if err != nil {
		return nil, err
	}
	services := of(c)
	service, _ := name.(string)
	return services.values(c, service, path.Shape())
}

// values returns the distinct values that instances of a service have at the places of a shape.
func (s *Services) values(
	c *eval.Context, service string, shape inventory.Path,
) (*types.List, error) {
	sets, err := s.sets(service)
	if err != nil {
		return nil, err
	}
	values := s.chosen(service, shape)
	for _, set := range sets {
		for _, p := range shape.Places(set) {
			values = append(values, p.Value)
		}
	}
	out, seen := &types.List{}, map[string]bool{}
	for _, v := range values {
		value, err := Value(v)
		if err != nil {
			return nil, err
		}
		if text := types.Repr(value); v != nil && !seen[text] {
			seen[text] = true
			out.Items = append(out.Items, value)
		}
	}
	return out, c.Work(len(values))
}

// chosen returns the values that the model has stored in this compile at a path.
func (s *Services) chosen(service string, shape inventory.Path) []any {
	var out []any
	for _, u := range s.Updates {
		i := s.instance(u.Instance)
		path, err := inventory.ParsePath(u.Path)
		if i != nil && i.Service == service && err == nil &&
			path.Shape().String() == shape.String() {
			out = append(out, u.Value)
		}
	}
	return out
}
