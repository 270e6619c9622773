package lsm

import (
	"errors"
	"fmt"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/service/inventory"
)

// errQuestion is the error for an unsupported request of the Python module lsm.
var errQuestion = errors.New("this cannot be asked of the inventory")

// Ask answers requests of the Python module lsm to the inventory, during a call of a plugin.
//
//	taken      a service and a path: the distinct values that its instances have there
//	instances  a service: its instances with all their attribute sets
//	value      an instance and a path: a dict with "value", or with "call", which reports whether
//	           an allocator must be called
//	give       an instance, a path, a value from an allocator, and whether the value does not
//	           depend on the inventory
func Ask(c *eval.Context, what string, args []types.Value) (types.Value, error) {
	service := func() (string, bool) {
		if len(args) == 0 {
			return "", false
		}
		s, ok := args[0].(string)
		return s, ok
	}
	switch name, ok := service(); {
	case what == "taken" && ok && len(args) == 2:
		text, _ := args[1].(string)
		path, err := inventory.ParsePath(text)
		if err != nil {
			return nil, err
		}
		return of(c).values(c, name, path.Shape())
	case what == "instances" && ok:
		return of(c).records(name)
	case what == "value" && len(args) == 2:
		return allocatedValue(c, args)
	case what == "give" && len(args) == 4:
		return types.Null{}, given(c, args)
	}
	return nil, fmt.Errorf("%w: %s", errQuestion, what)
}

// records returns the instances of a service with all their attribute sets.
func (s *Services) records(service string) (*types.List, error) {
	rest, err := s.rest(service)
	if err != nil {
		return nil, err
	}
	var all []*Instance
	for i := range rest {
		all = append(all, &rest[i])
	}
	for i := range s.all {
		if s.all[i].Service == service {
			all = append(all, &s.all[i])
		}
	}
	return recordsOf(all)
}

// attributeOf returns the attribute that an allocator is called for.
func attributeOf(c *eval.Context, args []types.Value) (types.Object, *allocation, error) {
	o, ok := args[0].(types.Object)
	text, is := args[1].(string)
	if !ok || !is {
		return nil, nil, errQuestion
	}
	i, err := record(c, o)
	if err != nil {
		return nil, nil, err
	}
	if i == nil {
		return nil, nil, errNotUnrolled
	}
	at, err := of(c).allocation(i, text)
	return o, at, err
}

// allocatedValue returns the value of an attribute. It prefers the set that the compile uses, and
// else takes the value of the same member in another set of the instance. If there is no value, it
// returns whether an allocator must be called.
func allocatedValue(c *eval.Context, args []types.Value) (types.Value, error) {
	_, at, err := attributeOf(c, args)
	if err != nil {
		return nil, err
	}
	found, kept := at.place.Value, false
	for _, set := range at.instance.Sets.all() {
		if found != nil {
			break
		}
		if places := at.path.Places(set); len(places) == 1 {
			found, kept = places[0].Value, true
		}
	}
	out := types.NewDict(1)
	if found == nil {
		out.Set("call", at.instance.Allocation == AllocateNow)
		return out, nil
	}
	if kept {
		of(c).give(gift{Update{at.instance.ID, at.text, found}, at.instance, at.path, false})
	}
	v, err := Value(found)
	out.Set("value", v)
	return out, err
}

// given stores a value from an allocator in an attribute.
func given(c *eval.Context, args []types.Value) error {
	o, at, err := attributeOf(c, args)
	if err != nil {
		return err
	}
	g, err := giftOf(o.Type(), at.instance, at.text, args[2])
	if err == nil {
		g.outside = args[3] == true
		of(c).give(g)
	}
	return err
}
