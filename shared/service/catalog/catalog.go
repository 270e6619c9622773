// Package catalog derives definitions of services from a compiled model: from its bindings, and
// from the entities that they name. docs/catalog.md lists the parts of a definition, and
// docs/design/services.md explains their derivation.
//
//	catalog.go      bindings
//	owners.go       relations between bindings
//	machines.go     lifecycles, with the places of their problems
//	entity.go       attributes, with modifiers, defaults and descriptions
//	relations.go    embedded entities and relations between services
//	strict.go       rules of strict modifiers for embedded entities
//	annotations.go  annotations
//	console.go      annotations for the console
//	condition.go    conditions of types, for checks without a model
package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/types"
	"southbound/shared/service/definition"
)

// CodeService is the code of problems with the services of a model.
const CodeService = "service"

// Of returns the services that a model offers, sorted by name and version. If they have problems,
// its error is diag.Problems.
func Of(r *eval.Result) ([]definition.Service, error) {
	c := &collector{
		result: r, entities: map[string]*types.Entity{}, offers: map[*types.Entity][]string{},
	}
	for _, e := range r.Entities {
		c.entities[e.FullName()] = e
	}
	for _, o := range r.Instances {
		c.binding(o)
	}
	c.names()
	for i := range c.bindings {
		c.service(&c.bindings[i])
	}
	c.owners()
	if err := c.problems.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.out, func(a, b definition.Service) int {
		if n := strings.Compare(a.Name, b.Name); n != 0 {
			return n
		}
		return a.Version - b.Version
	})
	return c.out, nil
}

type collector struct {
	result   *eval.Result
	entities map[string]*types.Entity
	bindings []binding
	offers   map[*types.Entity][]string // the names of the services that an entity is offered as
	out      []definition.Service
	problems diag.Problems
}

// binding is an offer of an entity: a binding, or one version of a binding.
type binding struct {
	name     string
	version  int
	standard bool
	at       *eval.Instance // the instance that names the entity
	named    *eval.Instance // the instance that holds the name and the owner
	entity   *types.Entity
}

// bad adds a problem. It omits the namespace from the names of entities of main.cf.
func (c *collector) bad(at diag.Pos, attribute, hint, format string, args ...any) {
	c.problems.Add(diag.Problem{
		Pos: at, Code: CodeService, Attribute: attribute, Hint: plain(hint),
		Message: plain(fmt.Sprintf(format, args...)),
	})
}

func plain(text string) string { return strings.ReplaceAll(text, eval.Main+"::", "") }

// is reports whether an entity is an entity of the module lsm, or extends it.
func is(e *types.Entity, name string) bool {
	full := lsm.Namespace + "::" + name
	return e.FullName() == full ||
		slices.ContainsFunc(
			e.Ancestors(),
			func(a *types.Entity) bool { return a.FullName() == full },
		)
}

// text, number, one and list return a value of an instance. A value of another type is empty.
func text(o *eval.Instance, name string) string {
	v, _ := o.Value(name)
	s, _ := v.(string)
	return s
}

func number(o *eval.Instance, name string) int {
	v, _ := o.Value(name)
	n, _ := v.(int64)
	return int(n)
}

func one(o *eval.Instance, name string) *eval.Instance {
	v, _ := o.Value(name)
	i, _ := v.(*eval.Instance)
	return i
}

func list(o *eval.Instance, name string) []*eval.Instance {
	v, _ := o.Value(name)
	l, ok := v.(*types.List)
	if !ok {
		return nil
	}
	var out []*eval.Instance
	for _, item := range l.Items {
		if i, ok := item.(*eval.Instance); ok {
			out = append(out, i)
		}
	}
	return out
}

// binding collects the offers of an instance, if it is a binding.
func (c *collector) binding(o *eval.Instance) {
	name := text(o, "service_entity_name")
	switch {
	case is(o.Type(), "ServiceEntityBinding"):
		c.offer(binding{name: name, standard: true, at: o, named: o})
	case is(o.Type(), "ServiceBinding"):
		standard, found := number(o, "default_version"), false
		seen := map[int]*eval.Instance{}
		for _, v := range list(o, "versions") {
			n := number(v, "version")
			if first := seen[n]; first != nil {
				c.bad(v.Place("version"), "version", "give each version a number of its own",
					"%s has two versions %d", name, n)
			}
			if n < 0 {
				c.bad(v.Place("version"), "version", "versions count from 0", "%d is not a version",
					n)
			}
			seen[n], found = v, found || n == standard
			c.offer(binding{name: name, version: n, standard: n == standard, at: v, named: o})
		}
		if !found {
			c.bad(o.Place("default_version"), "default_version", "name one of its versions",
				"%s has no version %d, which is its default_version", name, standard)
		}
	}
}

// offer resolves the entity that a binding names.
func (c *collector) offer(b binding) {
	name := text(b.at, "service_entity")
	b.entity = c.entities[name]
	if b.entity == nil && !strings.Contains(name, "::") {
		b.entity = c.entities[eval.Main+"::"+name]
	}
	switch {
	case b.entity == nil:
		var names []string
		for _, e := range c.result.Entities {
			if is(e, "ServiceBase") {
				names = append(names, e.FullName())
			}
		}
		c.bad(b.at.Place("service_entity"), "service_entity", eval.DidYouMean(name, names),
			"there is no entity %s", name)
		return
	case !is(b.entity, "ServiceBase"):
		c.bad(b.at.Place("service_entity"), "service_entity", "extend lsm::ServiceEntity",
			"%s is not a service", b.entity.FullName())
		return
	}
	c.bindings = append(c.bindings, b)
	if !slices.Contains(c.offers[b.entity], b.name) {
		c.offers[b.entity] = append(c.offers[b.entity], b.name)
	}
}

// names rejects names that cannot be part of a path, and names that two bindings use.
func (c *collector) names() {
	valid := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	first := map[string]*eval.Instance{}
	for i := range c.bindings {
		b := &c.bindings[i]
		at := b.named.Place("service_entity_name")
		if first[b.name] == b.named {
			continue
		}
		if !valid.MatchString(b.name) {
			c.bad(at, "service_entity_name", "use letters, digits, ., _ and -, at most 128",
				"%q cannot be the name of a service", b.name)
		}
		if other := first[b.name]; other != nil {
			c.problems.Add(diag.Problem{
				Pos: at, Code: CodeService, Attribute: "service_entity_name",
				Message: "there are two services " + b.name,
				Hint: "give one of them another name, or make them versions of one " +
					"lsm::ServiceBinding",
				Related: diag.At(other.Place("service_entity_name")),
			})
		}
		first[b.name] = b.named
	}
}

// service derives the definition of a binding.
func (c *collector) service(b *binding) {
	strict, _ := b.at.Value("strict_modifier_enforcement")
	s := definition.Service{
		Name: b.name, Version: b.version, Default: b.standard, Config: map[string]bool{},
		OwnedEntities: []string{}, Strict: strict == true,
	}
	e := &entity{collector: c, of: b.entity, strict: s.Strict}
	s.Part, s.Description = e.part(nil)
	if m := c.machine(b.at); m != nil {
		s.Lifecycle = *m
	}
	s.Identity = optional(text(b.at, "service_identity"))
	s.IdentityDisplayName = optional(text(b.at, "service_identity_display_name"))
	c.identity(b, &s)
	c.out = append(c.out, s)
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// identity checks the identity attribute.
func (c *collector) identity(b *binding, s *definition.Service) {
	at := b.at.Place("service_identity")
	if s.Identity == nil {
		if s.IdentityDisplayName != nil {
			c.bad(b.at.Place("service_identity_display_name"), "service_identity_display_name",
				"set service_identity", "%s has a name for its identity, and none", b.name)
		}
		return
	}
	name := *s.Identity
	a := s.Attribute(name)
	const what = "the identity of %s is %s, which "
	switch {
	case a == nil:
		var names []string
		for _, a := range s.Attributes {
			names = append(names, a.Name)
		}
		c.bad(at, "service_identity", eval.DidYouMean(name, names),
			what+"is not one of its attributes", b.name, name)
	case a.Optional() || a.List() || a.Base() != "string" && a.Base() != "int":
		c.bad(at, "service_identity", "use an attribute that is a string or an int",
			what+"has the type %s", b.name, name, a.Type)
	case a.Modifier != definition.Once:
		c.bad(at, "service_identity", "give the attribute the modifier rw",
			what+"has the modifier %s: an identity is given once and never changes", b.name, name,
			a.Modifier)
	}
}
