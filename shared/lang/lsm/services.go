package lsm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Instance is an instance of a service as a compile sees it.
type Instance struct {
	ID             string
	Service        string // the name of the service
	ServiceVersion int    // of its definition
	Version        int64
	State          string
	Purge          bool           // whether its resources are removed
	Attributes     map[string]any // the set that the compile is for, as JSON has them
	// Sets are all sets of attributes of the instance, for allocators, and Set is the one that the
	// compile is for.
	Sets Sets
	Set  lifecycle.Set
	// Allocation says whether allocators of modules are called for the instance.
	Allocation Allocation
	// Earlier are values that allocators of modules have given to this order in a compile of which
	// nothing was stored.
	Earlier []Update

	by offer // how its binding offers it, once lsm::all was called
}

// Sets are the sets of attributes of an instance; nil: it does not have that set.
type Sets struct{ Candidate, Active, Rollback map[string]any }

// put puts a value into one of the sets.
func (s *Sets) put(set lifecycle.Set, path inventory.Path, value any) {
	switch set {
	case lifecycle.Candidate:
		s.Candidate = path.Put(s.Candidate, value)
	case lifecycle.Active:
		s.Active = path.Put(s.Active, value)
	case lifecycle.Rollback:
		s.Rollback = path.Put(s.Rollback, value)
	case lifecycle.NoSet:
	}
}

// all returns the sets that there are.
func (s Sets) all() []map[string]any {
	return slices.DeleteFunc([]map[string]any{s.Candidate, s.Active, s.Rollback},
		func(set map[string]any) bool { return set == nil })
}

// Update is a value that the model has for a read-only attribute of an instance.
type Update struct {
	Instance string
	Path     string
	Value    any
}

// Suggestion are values that the model suggests: Values of the parameter Parameter.
type Suggestion struct {
	Parameter string
	Values    []any
}

// Services is what plugins know of instances, and what a model has told of them. A compile has one
// of its own.
type Services struct {
	Updates     []Update
	Suggestions []Suggestion
	// Others returns the instances of a service that are not among these, for allocators: ID,
	// ServiceVersion, Version, State and Sets. It is asked once for a service, if at all; it may be
	// nil.
	Others func(service string) ([]Instance, error)
	// Outside are the Updates that allocators of modules have made: they may be noted in a store of
	// the allocator, too.
	Outside []Update

	all       []Instance
	byID      map[string]int
	taken     map[string]map[int64]bool   // whole numbers that instances have, by service and path
	given     map[string]map[string]int64 // numbers given in this compile, by instance and place
	others    map[string][]Instance       // what Others has returned
	allocated map[string]bool             // instances whose allocation specs were run
}

// NewServices returns what plugins know when these are all instances, in the order of their orders.
func NewServices(all []Instance) *Services {
	s := &Services{
		all:   all,
		byID:  make(map[string]int, len(all)),
		taken: map[string]map[int64]bool{},
		given: map[string]map[string]int64{}, allocated: map[string]bool{},
	}
	for i := range all {
		s.byID[all[i].ID] = i
		s.giveEarlier(&all[i])
	}
	return s
}

// Instances returns all instances, in the order of their orders.
func (s *Services) Instances() []Instance { return s.all }

// of returns the services of a call; none if the program was given none.
func of(c *eval.Context) *Services {
	if e, ok := c.Env.(*std.Env); ok {
		if s, ok := e.Services.(*Services); ok {
			return s
		}
	}
	return NewServices(nil)
}

// rest returns the instances of a service that are not among all.
func (s *Services) rest(service string) ([]Instance, error) {
	if s.Others == nil {
		return nil, nil
	}
	if rest, ok := s.others[service]; ok {
		return rest, nil
	}
	rest, err := s.Others(service)
	if err != nil {
		return nil, err
	}
	if s.others == nil {
		s.others = map[string][]Instance{}
	}
	s.others[service] = rest
	return rest, nil
}

// instance returns the instance of an id; nil if there is none.
func (s *Services) instance(id string) *Instance {
	if i, ok := s.byID[id]; ok {
		return &s.all[i]
	}
	return nil
}

// Purges reports whether the instance of an id is in a state that removes its resources.
func (s *Services) Purges(id string) bool {
	i := s.instance(id)
	return i != nil && i.Purge
}

// record returns what is known of the instance that an object of a model stands for; nil if nothing
// is.
func record(c *eval.Context, o types.Value) (*Instance, error) {
	id, err := c.Attribute(o.(types.Object), "instance_id")
	if err != nil {
		return nil, err
	}
	text, _ := id.(string)
	return of(c).instance(text), nil
}

// update notes a value for a read-only attribute, the last one of each.
func (s *Services) update(u Update) {
	i := slices.IndexFunc(s.Updates, func(o Update) bool {
		return o.Instance == u.Instance && o.Path == u.Path
	})
	if i < 0 {
		s.Updates = append(s.Updates, u)
		return
	}
	s.Updates[i] = u
}

// suggest notes the values of a parameter, the last ones of each.
func (s *Services) suggest(v Suggestion) {
	i := slices.IndexFunc(s.Suggestions, func(o Suggestion) bool {
		return o.Parameter == v.Parameter
	})
	if i < 0 {
		s.Suggestions = append(s.Suggestions, v)
		return
	}
	s.Suggestions[i] = v
}

// Holder returns the attribute of an instance that holds a text, for messages: one that equals it,
// else one that is a part of it. It returns "" if there is none.
func (s *Services) Holder(text string) string {
	best, length := "", 0
	for i := range s.all {
		one := &s.all[i]
		for _, name := range slices.Sorted(maps.Keys(one.Attributes)) {
			eachText(one.Attributes[name], func(part string) {
				if len(part) > length && strings.Contains(text, part) {
					best = fmt.Sprintf("the attribute %s of %s %s", name, one.Service, one.ID)
					length = len(part)
				}
			})
		}
	}
	return best
}

// eachText calls f for each text in a value of JSON.
func eachText(v any, f func(string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, item := range v {
			eachText(item, f)
		}
	case map[string]any:
		for _, item := range v {
			eachText(item, f)
		}
	}
}
