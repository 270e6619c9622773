package resources

import (
	"encoding/json"
	"fmt"
	"strings"

	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
	"southbound/shared/schema"
)

// Namespace is the namespace of agents and resources. The types are in namespaces below it.
const Namespace = "southbound"

// The entities of agents, resources and sets.
const (
	agentEntity    = Namespace + "::Agent"
	resourceEntity = Namespace + "::Resource"
	setEntity      = "std::ResourceSet"
)

// base is the model file of Namespace.
const base = `"""
Agents, and the attributes that all resources share. The types of resources are in namespaces of
their own, such as southbound::fs.
"""
import std

entity Agent:
    """
    A target of resources, and the transport that reaches it.

    :attr name: its name, one in a model
    :attr transport: how it is reached: local, ssh, ...
    :attr lanes: how many of its resources are deployed concurrently
    :attr options: the options of the transport, such as host and user of ssh
    """
    string name
    string transport = "local"
    int lanes = 1
    dict options = {}
end

index Agent(name)

implement Agent using std::none

entity Resource extends std::Resource:
    """
    The attributes that all resources share.

    :attr purged: whether it must not exist
    :attr purge_on_delete: whether it is removed once it leaves the model
    :attr prevent_destroy: whether it is never removed
    :attr report_only: whether it is compared and never changed
    :attr send_event: whether a change notifies the resources that require it directly
    :attr receive_events: whether it acts on notifications of its dependencies
    :attr managed: whether it is exported
    """
    bool purged = false
    bool purge_on_delete = false
    bool prevent_destroy = false
    bool report_only = false
    bool send_event = false
    bool receive_events = true
    bool managed = true
end

Resource.agent [1] -- Agent
""" The agent that the resource belongs to. """
`

// Types returns the types that the model files use but cannot define.
func Types() map[string]types.Type {
	return map[string]types.Type{Namespace + "::value": types.Opaque}
}

// Text returns the model file of Namespace, or of a namespace below it that contains types or
// namespaces. It returns false for any other namespace.
func Text(registry *schema.Registry, namespace string) (string, bool) {
	if namespace == Namespace {
		return base, true
	}
	family, ok := strings.CutPrefix(namespace, Namespace+"::")
	if !ok {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\" The types %s::*. \"\"\"\nimport std\nimport %s\n", family, Namespace)
	found := false
	for _, name := range registry.Names() {
		rest, in := strings.CutPrefix(name, family+"::")
		if !in {
			continue
		}
		found = true
		if t, _ := registry.Type(name); !strings.Contains(rest, "::") {
			define(&b, rest, t)
		}
	}
	return b.String(), found
}

// Names returns the full names of all entities of the model files.
func Names(registry *schema.Registry) []string {
	out := []string{agentEntity, resourceEntity}
	for _, name := range registry.Names() {
		out = append(out, Namespace+"::"+name)
	}
	return out
}

// define writes the definition of a type.
func define(b *strings.Builder, name string, t *schema.Compiled) {
	fmt.Fprintf(b, "\nentity %s extends %s:\n    \"\"\"\n    %s\n\n", name, resourceEntity,
		quoted(t.Description))
	attributes := settable(t)
	for _, a := range attributes {
		fmt.Fprintf(b, "    :attr %s: %s\n", member(a.Name), about(a))
	}
	b.WriteString("    \"\"\"\n")
	for _, a := range attributes {
		fmt.Fprintf(b, "    %s\n", definition(a))
	}
	b.WriteString("end\n\n")
	names := []string{"agent"}
	for _, n := range t.Namevars() {
		names = append(names, member(n))
	}
	fmt.Fprintf(b, "index %s(%s)\n\nimplement %s using std::none\n", name,
		strings.Join(names, ", "), name)
}

// settable returns the attributes that models can set, in order.
func settable(t *schema.Compiled) []*schema.CompiledAttribute {
	var out []*schema.CompiledAttribute
	for i := range t.Attributes {
		a, ok := t.Attribute(t.Attributes[i].Name)
		if ok && a.Behaviour != schema.ReadOnly {
			out = append(out, a)
		}
	}
	return out
}

// member returns the name of an attribute in models. It appends _ to keywords, and to the names
// self and provides.
func member(name string) string {
	if syntax.IsKeyword(name) || name == "provides" || name == "self" {
		return name + "_"
	}
	return name
}

// definition returns the line that defines an attribute. Attributes with a default in documents
// default to null in the model, except those that name the resource.
func definition(a *schema.CompiledAttribute) string {
	of := a.DataType.Simple()
	if of == "any" {
		of = Namespace + "::value"
	}
	switch {
	case a.Required() && a.DataType.Check(nil) == nil:
		return of + "? " + member(a.Name)
	case a.Required():
		return of + " " + member(a.Name)
	case a.Behaviour == schema.Namevar:
		if text, err := json.Marshal(a.Default); err == nil {
			return of + " " + member(a.Name) + " = " + string(text)
		}
	}
	return of + "? " + member(a.Name) + " = null"
}

// about returns the documentation of an attribute: its description, type and default.
func about(a *schema.CompiledAttribute) string {
	out := a.Description
	if out != "" {
		out += "; "
	}
	out += a.DataType.String()
	if a.Default != nil && !a.Sensitive {
		if text, err := json.Marshal(a.Default); err == nil {
			out += ", " + string(text) + " by default"
		}
	}
	return quoted(out)
}

// quoted escapes a text for one line of a docstring.
func quoted(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(s)
}
