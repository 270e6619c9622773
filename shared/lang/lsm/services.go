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

// Instance is an instance of a service in a compile.
type Instance struct {
	ID             string
	Service        string // the name of the service
	ServiceVersion int    // version of the service definition
	Version        int64
	State          string
	Purge          bool           // the state of the instance removes its resources
	Attributes     map[string]any // the set that the compile uses, as JSON
	// Sets are all attribute sets of the instance, which allocators read. Set names the set that
	// the compile uses.
	Sets Sets
	Set  lifecycle.Set
	// Allocation controls the allocators of modules for the instance.
	Allocation Allocation
	// Earlier are values that allocators of modules gave to this order in an earlier compile whose
	// results were not stored.
	Earlier []Update

	by offer // its offer by the binding; set by lsm::all
}

// Sets are the attribute sets of an instance; a set that the instance does not have is nil.
type Sets struct{ Candidate, Active, Rollback map[string]any }

// put sets a value in one of the sets.
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

// all returns the existing sets.
func (s Sets) all() []map[string]any {
	return slices.DeleteFunc([]map[string]any{s.Candidate, s.Active, s.Rollback},
		func(set map[string]any) bool { return set == nil })
}

// Update is a value that the model stores in a read-only attribute of an instance.
type Update struct {
	Instance string
	Path     string
	Value    any
}

// Suggestion are the values that the model suggests for a parameter.
type Suggestion struct {
	Parameter string
	Values    []any
}

// Services holds the service instances of a compile, and the values that the model stores. Each
// compile has its own Services.
type Services struct {
	Updates     []Update
	Suggestions []Suggestion
	// Others returns the instances of a service that are not part of the compile, for allocators.
	// Only ID, ServiceVersion, Version, State and Sets are set. It is called at most once for each
	// service, and may be nil.
	Others func(service string) ([]Instance, error)
	// Outside are the Updates that come from allocators of modules. An allocator may have recorded
	// them in a store of its own.
	Outside []Update

	all       []Instance
	byID      map[string]int
	taken     map[string]map[int64]bool   // integers that instances have, by service and path
	given     map[string]map[string]int64 // numbers allocated in this compile, by instance and place
	others    map[string][]Instance       // cached results of Others
	allocated map[string]bool             // instances whose allocation specs have run
}

// NewServices returns the Services for these instances, which are sorted by their orders.
func NewServices(all []Instance) *Services {
	all = slices.Clone(all) // a compile sets members of its instances
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

// Instances returns all instances of the compile, sorted by their orders.
func (s *Services) Instances() []Instance { return s.all }

// of returns the Services of a call; an empty one if the program has none.
func of(c *eval.Context) *Services {
	if e, ok := c.Env.(*std.Env); ok {
		if s, ok := e.Services.(*Services); ok {
			return s
		}
	}
	return NewServices(nil)
}

// rest returns the instances of a service that are not part of the compile.
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

// instance returns the instance with this id; nil if there is none.
func (s *Services) instance(id string) *Instance {
	if i, ok := s.byID[id]; ok {
		return &s.all[i]
	}
	return nil
}

// Purges reports whether the instance with this id is in a state that removes its resources.
func (s *Services) Purges(id string) bool {
	i := s.instance(id)
	return i != nil && i.Purge
}

// record returns the service instance that an object of a model represents; nil if there is none.
func record(c *eval.Context, o types.Value) (*Instance, error) {
	id, err := c.Attribute(o.(types.Object), "instance_id")
	if err != nil {
		return nil, err
	}
	text, _ := id.(string)
	return of(c).instance(text), nil
}

// update records a value for a read-only attribute. It replaces an earlier value of the same
// attribute.
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

// suggest records the values of a parameter. It replaces earlier values of the same parameter.
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

// Holder names the attribute of an instance that has a text or a part of it, for messages. It
// prefers the longest match. It returns "" if there is none.
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

// eachText calls f for each string in a JSON value.
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
