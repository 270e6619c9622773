// Package trial generates instances of services, so that the implementations of a model can be
// compiled before the first order.
//
//	trial.go   instances, and services without one
//	values.go  values of attributes
package trial

import (
	"fmt"
	"slices"

	"southbound/shared/lang/lsm"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Instance is a generated instance.
type Instance struct {
	lsm.Instance
	// Needs are the ids of the instances that it refers to, and that take part in its compile.
	Needs []string
}

// Skipped is a service for which no instance can be generated.
type Skipped struct {
	Service   string
	Attribute string // the path; "" if the reason concerns the service
	Reason    string
}

// maker generates instances.
type maker struct {
	services []definition.Service
	made     map[string]*Instance // by service; nil: generation is in progress or has failed
	skipped  []Skipped
}

// Of returns an instance of the default version of each service, in the first state that deploys
// its resources. It also returns the services for which no instance can be generated.
func Of(services []definition.Service) ([]Instance, []Skipped) {
	m := &maker{services: services, made: map[string]*Instance{}}
	var out []Instance
	for i := range services {
		if !services[i].Default {
			continue
		}
		if one := m.of(services[i].Name); one != nil {
			out = append(out, *one)
		}
	}
	return out, m.skipped
}

// With returns an instance and all instances that it refers to.
func With(one Instance, all []Instance) []lsm.Instance {
	open, seen := []string{one.ID}, map[string]bool{}
	for len(open) > 0 {
		id := open[0]
		open = open[1:]
		at := slices.IndexFunc(all, func(i Instance) bool { return i.ID == id })
		if seen[id] || at < 0 {
			continue
		}
		seen[id] = true
		open = append(open, all[at].Needs...)
	}
	var out []lsm.Instance
	for i := range all {
		if seen[all[i].ID] {
			out = append(out, all[i].Instance)
		}
	}
	return out
}

// of returns the instance of a service; nil: none can be generated.
func (m *maker) of(name string) *Instance {
	if one, known := m.made[name]; known {
		return one
	}
	m.made[name] = nil
	at := slices.IndexFunc(m.services, func(s definition.Service) bool {
		return s.Name == name && s.Default
	})
	if at < 0 {
		return nil
	}
	s := &m.services[at]
	p := &part{maker: m}
	given, why := p.attributes(&s.Part, "")
	if why != nil {
		why.Service = name
		m.skipped = append(m.skipped, *why)
		return nil
	}
	attributes, err := inventory.Ordered(s, given)
	if err != nil {
		m.skipped = append(m.skipped, Skipped{name, "", err.Error()})
		return nil
	}
	state := s.Lifecycle.Initial
	for i := range s.Lifecycle.States {
		if one := &s.Lifecycle.States[i]; one.ExportResources && !one.PurgeResources {
			state = one.Name
			break
		}
	}
	m.made[name] = &Instance{lsm.Instance{
		ID: idOf(at), Service: name, ServiceVersion: s.Version, Version: 1, State: state,
		Attributes: attributes, Allocation: lsm.AllocateLater,
	}, p.needs}
	return m.made[name]
}

func idOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n+1) }

// part generates the attributes of one instance.
type part struct {
	*maker
	needs []string
}

// attributes returns the attributes of a part that an order has to give: those without defaults.
func (p *part) attributes(of *definition.Part, path string) (map[string]any, *Skipped) {
	out := map[string]any{}
	for i := range of.Attributes {
		a := &of.Attributes[i]
		_, has := a.Annotations[exampleAnnotation]
		if a.Modifier == definition.ReadOnly || !has && (a.DefaultSet || a.Optional()) {
			continue
		}
		v, ok := value(a, 0)
		if !ok {
			return nil, &Skipped{"", path + a.Name, "no value can be made up that its type allows"}
		}
		out[a.Name] = v
	}
	for i := range of.Relations {
		r := &of.Relations[i]
		if r.Lower == 0 || r.Modifier == definition.ReadOnly {
			continue
		}
		other := p.of(r.Service)
		if other == nil || r.Lower > 1 {
			return nil, &Skipped{"", path + r.Name,
				"it leads to instances of " + r.Service + ", which cannot be made up"}
		}
		p.needs = append(p.needs, other.ID)
		if out[r.Name] = any(other.ID); r.Many() {
			out[r.Name] = []any{other.ID}
		}
	}
	for i := range of.Embedded {
		e := &of.Embedded[i]
		if e.Modifier == definition.ReadOnly {
			continue
		}
		v, why := p.members(e, path+e.Name)
		if why != nil {
			return nil, why
		}
		out[e.Name] = v
	}
	return out, nil
}

// members returns as few members of a relation as allowed, but at least one.
func (p *part) members(e *definition.Embedded, path string) (any, *Skipped) {
	n := max(e.Lower, 1)
	var list []any
	for i := range n {
		one, why := p.attributes(&e.Part, path+".")
		if why != nil {
			return nil, why
		}
		for _, k := range e.KeyAttributes {
			a := e.Attribute(k)
			if a == nil || a.Modifier == definition.ReadOnly || i == 0 {
				continue
			}
			v, ok := value(a, i)
			if !ok {
				return nil, &Skipped{"", path + "." + k,
					fmt.Sprintf("%d different values cannot be made up", n)}
			}
			one[k] = v
		}
		list = append(list, one)
	}
	if e.Many() {
		return list, nil
	}
	return list[0], nil
}
