package lsm

import (
	"errors"
	"fmt"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// allocators are plugins that choose the value of a read-only attribute once, and keep it.
func allocators() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "lsm::allocators::get_first_free_integer", Result: "int", InContext: true,
			Call: firstFree,
			Doc: "Returns the whole number that the attribute of the instance has, or the first " +
				"one from range_start to range_end, that included, which is not in used_values " +
				"and was not given to another instance of the service, and stores it as the " +
				"attribute.",
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
			Doc: "Returns the values that the attribute has at instances of a service, without " +
				"those at which it has none.",
			Params: []eval.Param{
				{Name: "binding", Type: "lsm::ServiceEntityBinding | lsm::ServiceBinding"},
				{Name: "attribute_path", Type: "string"},
			},
		},
	}
}

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
		return nil, errors.New("the instance is not one of lsm::all, so nothing can be kept for it")
	}
	if n, ok := whole(i.Attributes[path]); ok {
		return n, nil
	}
	services := of(c)
	n, ok, err := services.free(i, path, from, to, a.List(4).Items)
	if err != nil {
		return nil, err
	}
	if err := c.Work(int(n - from)); err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("all values from %d to %d are used", from, to)
	}
	return n, services.take(i, path, n)
}

// whole returns a value of JSON as a whole number.
func whole(v any) (int64, bool) {
	value, err := Value(v)
	if err != nil {
		return 0, false
	}
	n, ok := value.(int64)
	return n, ok
}

// free returns the first number of a range that nobody has.
func (s *Services) free(
	i *Instance, path string, from, to int64, more []types.Value,
) (int64, bool, error) {
	given := map[int64]bool{}
	for _, v := range more {
		if n, ok := v.(int64); ok {
			given[n] = true
		}
	}
	taken, err := s.numbers(i.Service, path)
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

// numbers returns the whole numbers that the instances of a service have, those that were given in
// this compile among them.
func (s *Services) numbers(service, path string) (map[int64]bool, error) {
	key := service + "\x00" + path
	if s.taken[key] != nil {
		return s.taken[key], nil
	}
	rest, err := s.rest(service)
	if err != nil {
		return nil, err
	}
	for i := range s.all {
		if s.all[i].Service == service {
			rest = append(rest[:len(rest):len(rest)], s.all[i].Attributes)
		}
	}
	s.taken[key] = map[int64]bool{}
	for _, set := range rest {
		if n, ok := whole(set[path]); ok {
			s.taken[key][n] = true
		}
	}
	return s.taken[key], nil
}

// take keeps a number for an instance.
func (s *Services) take(i *Instance, path string, n int64) error {
	taken, err := s.numbers(i.Service, path)
	if err != nil {
		return err
	}
	taken[n] = true
	s.update(Update{Instance: i.ID, Path: path, Value: n})
	return nil
}

func used(c *eval.Context, a eval.Args) (types.Value, error) {
	name, err := c.Attribute(a.Values[0].(types.Object), "service_entity_name")
	if err != nil {
		return nil, err
	}
	services := of(c)
	service, _ := name.(string)
	sets, err := services.rest(service)
	if err != nil {
		return nil, err
	}
	for i := range services.all {
		if services.all[i].Service == name {
			sets = append(sets[:len(sets):len(sets)], services.all[i].Attributes)
		}
	}
	out := &types.List{}
	for _, set := range sets {
		v, ok := set[a.Text(1)]
		if !ok || v == nil {
			continue
		}
		value, err := Value(v)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, value)
	}
	return out, c.Work(len(sets))
}
