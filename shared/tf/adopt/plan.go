package adopt

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// Provider is a provider of the lock file.
type Provider struct {
	Name    string // by which documents use it, such as postgresql
	Address string // complete
	Schemas *wire.Schemas
	Types   map[string]Type // of resources, by the provider's names
}

// Type is the type of a resource here.
type Type struct {
	Name string // such as tf::postgresql::Role
	// Attributes are the names in documents of all attributes and blocks that documents may set, by
	// their names in the schema.
	Attributes map[string]string
	// Outputs are the names here of sensitive attributes, by their names in the schema.
	Outputs map[string]string
	// Ordered states that the type has the attribute create_before_destroy.
	Ordered bool
}

// Options select how objects are adopted.
type Options struct {
	Providers []Provider
	// Agents are the names of agents by the names of their providers, and alias if there is one:
	// "aws" or "aws.west". The name of the agent of "" is used if only one is needed.
	Agents map[string]string
	// Upgrade returns an object in the present schema. It is called for objects of an older version
	// of the schema, or which do not have its form. nil: they are left.
	Upgrade func(p *Provider, o *Object) (json.RawMessage, error)
}

// Plan states which objects become resources.
type Plan struct {
	Agents    []Agent
	Resources []Resource
	Left      []Left     // objects that do not become resources
	Variables []Variable // environment variables that the resources use
}

// Agent is the agent of a configuration of a provider.
type Agent struct {
	Name     string
	Provider string // the address of the provider
	Of       string // the configuration, as the state file has it
	// Required are the options without which the provider cannot be configured.
	Required []string
	// Optional means that the provider has options, and requires none.
	Optional bool `json:",omitempty"`
}

// Resource is the adoption of one object.
type Resource struct {
	Address    string // in the state file
	ID         resource.ID
	Type       string
	Agent      string
	Label      string
	Attributes map[string]any // by their names here, without label
	Requires   []resource.ID
	// Optional are attributes that may be left out: their values may come from the provider alone.
	Optional []string
	Notes    []string // what the first apply does, or has to be completed

	Object *Object
	// Outputs are the secret outputs by their names here. They are in clear.
	Outputs map[string]any
}

// Left is an object that is not adopted.
type Left struct {
	Address string
	Reason  string
	Hint    string
	Data    bool `json:",omitempty"` // it is the result of a data source
}

// Variable is an environment variable that has to have the value of a sensitive attribute.
type Variable struct {
	Name      string
	ID        resource.ID
	Attribute string // and the path within it
}

// Plan plans the adoption of all objects. It returns Usage if an option names an agent that is not
// needed, or is not valid.
func (s *State) Plan(o Options) (*Plan, error) {
	p := &planner{options: o, plan: new(Plan), agents: map[Configuration]string{},
		at: map[string][]*adopted{}, keyed: map[string][]*adopted{}, variables: map[string]bool{}}
	for i := range s.Objects {
		p.object(&s.Objects[i])
	}
	if err := p.assign(); err != nil {
		return nil, err
	}
	p.name()
	for _, a := range p.all {
		p.resource(a)
	}
	return p.plan, nil
}

type planner struct {
	options   Options
	plan      *Plan
	all       []*adopted
	at        map[string][]*adopted // by the address of the resource
	keyed     map[string][]*adopted // by the same and the key of the instance
	agents    map[Configuration]string
	variables map[string]bool
}

// adopted is an object that becomes a resource.
type adopted struct {
	object   *Object
	provider *Provider
	schema   wire.Schema
	compiled *value.Type
	ty       Type
	state    cty.Value
	agent    string
	label    string
	id       resource.ID
	key      string          // the provider's identifier, if it has one
	reaches  map[string]bool // resources that it depends on, by their addresses
	outputs  map[string]any  // by the names of the schema
}

func (p *planner) leave(o *Object, hint, format string, args ...any) {
	p.plan.Left = append(p.plan.Left, Left{Address: o.Name(), Reason: fmt.Sprintf(format, args...),
		Hint: hint, Data: o.Data})
}

// object decides whether an object can be adopted.
func (p *planner) object(o *Object) {
	switch {
	case o.Damage != "":
		p.leave(o, "use an unchanged state file", "%s", o.Damage)
		return
	case o.Data:
		p.leave(o, "describe it with the type tf::PROVIDER::data::NAME if a resource refers to it",
			"a data source has no object")
		return
	case o.Deposed != "":
		p.leave(o, "delete it with `terraform apply` first", "the object was replaced, and is to be deleted")
		return
	}
	a := &adopted{object: o}
	if a.provider = p.provider(o.Provider.Provider); a.provider == nil {
		p.leave(o, "add it with `southbound provider add "+shortAddress(o.Provider.Provider)+"`",
			"southbound.lock has no provider %s", o.Provider.Provider)
		return
	}
	var known bool
	if a.schema, known = a.provider.Schemas.Resources[o.Address.Type]; known {
		a.ty, known = a.provider.Types[o.Address.Type]
	}
	if !known {
		p.leave(o, "use the version of the provider that has made it", "the provider %s has no usable type %s",
			a.provider.Address, o.Address.Type)
		return
	}
	if hint, err := p.read(a); err != nil {
		p.leave(o, hint, "%v", err)
		return
	}
	p.all = append(p.all, a)
	key := o.Address.resource()
	p.at[key] = append(p.at[key], a)
	p.keyed[key+o.Address.Key.String()] = append(p.keyed[key+o.Address.Key.String()], a)
}

// provider returns the provider with an address. The registries of Terraform and of OpenTofu have the
// same providers.
func (p *planner) provider(address string) *Provider {
	for _, same := range []func(string) string{func(s string) string { return s }, shortAddress} {
		for i := range p.options.Providers {
			if q := &p.options.Providers[i]; same(q.Address) == same(address) {
				return q
			}
		}
	}
	return nil
}

// shortAddress removes the host of a public registry from an address.
func shortAddress(address string) string {
	for _, host := range []string{"registry.terraform.io/", "registry.opentofu.org/"} {
		if rest, is := strings.CutPrefix(address, host); is {
			return rest
		}
	}
	return address
}

// read reads the state of an object in the present schema, and returns a hint with an error.
func (p *planner) read(a *adopted) (hint string, err error) {
	a.compiled, err = value.Compile(&a.schema)
	if err != nil {
		return fault.HintOf(err), err
	}
	o := a.object
	if o.Version > a.schema.Version {
		return "use a newer version of the provider: `southbound provider update`",
			fmt.Errorf("its state has version %d of the schema, and the provider has version %d", o.Version,
				a.schema.Version)
	}
	text := o.Attributes
	if o.Version == a.schema.Version {
		if a.state, err = a.compiled.FromJSON(text); err == nil {
			return a.complete()
		}
	}
	if p.options.Upgrade == nil {
		return "use the version of the provider that has written the state",
			fmt.Errorf("the provider has to upgrade its state")
	}
	if text, err = p.options.Upgrade(a.provider, o); err != nil {
		return "use the version of the provider that has written the state",
			fmt.Errorf("the provider cannot upgrade its state: %w", err)
	}
	if a.state, err = a.compiled.FromJSON(text); err != nil {
		return "use the version of the provider that has written the state", err
	}
	return a.complete()
}

// complete completes an adopted object by parts of its state.
func (a *adopted) complete() (hint string, err error) {
	if a.state.IsNull() || !a.state.IsWhollyKnown() {
		return "use an unchanged state file", fmt.Errorf("its state has no object")
	}
	a.state = a.compiled.Normalize(a.state)
	a.outputs = outputs(a.compiled, a.state)
	if ty := a.state.Type(); ty.HasAttribute("id") && ty.AttributeType("id") == cty.String {
		if id := a.state.GetAttr("id"); !id.IsNull() {
			a.key = id.AsString()
		}
	}
	x := a.extractor(func(string, string) any { return nil })
	if x.configuration(&a.schema.Block, a.state, a.configurable); x.failed != nil {
		return "describe it by hand, with its attribute import if the provider supports it", x.failed
	}
	a.reaches = map[string]bool{}
	for _, d := range a.object.Dependencies {
		a.reaches[d.resource()] = true
	}
	return "", nil
}
