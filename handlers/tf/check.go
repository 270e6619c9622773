package tf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/value"
)

// check implements provider.Bridge.Check. The configurations are compared with the schemas of the
// provider if it is installed, so they are not where it is not.
func (b *bridge) check(
	ctx context.Context, a provider.BridgedAgent,
) (problems, warnings diag.Problems) {
	var first *meta
	problems = importedTwice(a.Resources)
	address, err := addressOf(a.Options)
	if err != nil {
		problems.Add(diag.Problem{Message: "the option provider: " + err.Error(), Hint: fault.HintOf(err)})
	}
	for _, r := range a.Resources {
		m, invalid := metaOf(&r.Type)
		warnings = append(warnings, deprecated(r)...)
		switch {
		case invalid != nil || err != nil:
		case m.provider != address:
			problems.Add(diag.Problem{Resource: r.ID, Attribute: "agent", Message: fmt.Sprintf(
				"the agent has the provider %s, and %s is a type of %s", address, m.name, m.provider),
				Hint: "use an agent with this provider"})
		case first == nil:
			first = &m
		}
	}
	if first == nil {
		return problems, warnings
	}
	p := b.installed(ctx, first)
	if p == nil {
		return problems, warnings
	}
	problems = append(problems, p.checkConfig(a.Options)...)
	for _, r := range a.Resources {
		if m, err := metaOf(&r.Type); err == nil && m.provider == address && m.version == first.version {
			problems = append(problems, p.checkResource(&m, r)...)
		}
	}
	return problems, warnings
}

// importedTwice returns a problem for each resource that imports the object of another one.
func importedTwice(resources []provider.BridgedResource) (out diag.Problems) {
	type object struct{ typ, id string }
	by := map[object]string{}
	for _, r := range resources {
		id, _ := r.Attributes[attrImport].(string)
		o := object{r.Type.Name, id}
		switch first, is := by[o]; {
		case id == "":
		case is:
			out.Add(diag.Problem{Resource: r.ID, Attribute: attrImport, Message: fmt.Sprintf(
				"%s imports the object %q, too", first, id), Hint: "describe an object by one resource"})
		default:
			by[o] = r.ID
		}
	}
	return out
}

// deprecated returns the deprecated attributes that a resource sets.
func deprecated(r provider.BridgedResource) diag.Problems {
	var out diag.Problems
	messages, _ := r.Type.Metadata[MetaDeprecated].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		switch {
		case name == "":
			out.Add(diag.Problem{Resource: r.ID, Attribute: "type",
				Message: fmt.Sprintf("%s is deprecated: %v", r.Type.Name, messages[name])})
		case r.Attributes[name] != nil:
			out.Add(diag.Problem{Resource: r.ID, Attribute: name,
				Message: fmt.Sprintf("the attribute is deprecated: %v", messages[name])})
		}
	}
	return out
}

// installed returns the installed provider of a type with its cached schemas, nil if one of them is
// missing or is another one. It starts no process.
func (b *bridge) installed(ctx context.Context, m *meta) *program {
	i, err := b.Store.Find(ctx, m.provider, m.version, b.Platform)
	if err != nil || packages.Check("check", i.Hashes, m.hashes) != nil {
		return nil
	}
	s, err := b.Store.Schemas(i.Digest)
	if err != nil {
		return nil
	}
	return &program{installed: i, schemas: s, types: map[string]*value.Type{}}
}

// checkConfig compares the configuration of an agent with the schema of the provider.
func (p *program) checkConfig(options map[string]any) diag.Problems {
	ty, err := p.compiled("provider", "")
	if err != nil {
		return nil // each run reports it
	}
	config, _ := options["config"].(map[string]any)
	_, err = ty.FromAttributes(config)
	var problems, out diag.Problems
	if errors.As(err, &problems) {
		for _, w := range problems {
			out.Add(diag.Problem{Message: "the option config: " + w.Attribute + ": " + w.Message, Hint: w.Hint})
		}
		return out
	}
	return out
}

// checkResource compares the attributes of a resource with the schema of its type.
func (p *program) checkResource(m *meta, r provider.BridgedResource) diag.Problems {
	kind := "resource"
	if m.data {
		kind = "data source"
	}
	ty, err := p.compiled(kind, m.theirs)
	if err != nil {
		return nil // each run reports it
	}
	_, err = ty.FromAttributes(m.configured(r.Attributes))
	var problems, out diag.Problems
	if errors.As(err, &problems) {
		for _, w := range problems {
			name := m.here(w.Attribute)
			out.Add(diag.Problem{Resource: r.ID, Attribute: name, Message: w.Message, Hint: w.Hint})
		}
	}
	return out
}
