package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

var resourceKeys = append([]string{"type", "title", "attributes", "requires"}, commonKeys...)

// taken is a resource whose members are being read.
type taken struct {
	node                      *node
	typ, attributes, requires *node
	title                     *node
	defaults
	typeName string
}

// resource reads one resource.
func (t *taker) resource(n *node) {
	if n.kind != object {
		if !n.bad {
			t.add(n.at, "start each resource with `- type:`", "a resource is a map")
		}
		t.mark(span{at: n.at})
		t.dropped = append(t.dropped, "")
		return
	}
	r := taken{node: n, defaults: t.defaults}
	from := len(t.members)
	var unknown []*node
	for i := range n.items {
		m := &n.items[i]
		switch m.key {
		case "type":
			r.typ, r.typeName = m, t.text(m)
		case "attributes":
			r.attributes = m
			continue
		case "requires":
			r.requires = m
		case "title":
			r.title = m
		default:
			if !t.common(m, &r.defaults) {
				unknown = append(unknown, m)
				continue
			}
		}
		t.members = append(t.members, memberAt{m.key, m.at})
	}
	var typ *schema.Compiled
	if r.managed {
		typ = t.typeOf(&r)
	}
	for _, m := range unknown {
		t.unknownMember(m, typ)
	}
	made := len(t.part.resources)
	complete := r.managed && t.complete(&r, typ)
	if !t.clean() {
		t.note(&r)
	}
	if !complete {
		t.members = t.members[:from]
		if r.managed {
			t.dropped = append(t.dropped, t.likelyIDs(&r)...)
		}
		return
	}
	at := resourceAt{n.at, int32(from), int32(len(t.members))} // texts are bounded
	for range len(t.part.resources) - made {
		t.places = append(t.places, at)
	}
}

// typeOf returns the type of a resource; nil if it is missing or unknown.
func (t *taker) typeOf(r *taken) *schema.Compiled {
	if r.typ == nil {
		if r.node.bad {
			return nil
		}
		t.add(r.node.at, "add `type: fs::File`, for example; `southbound types` lists them",
			"the resource has no type")
		return nil
	}
	if r.typeName == "" {
		return nil
	}
	typ, ok := t.loader.types.Type(r.typeName)
	if !ok {
		hint := "`southbound types` lists them"
		switch near := t.loader.types.Nearest(r.typeName); {
		case near != "":
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		case strings.Count(r.typeName, "::") > 1: // such as tf::postgresql::Role
			hint = "add the provider with `southbound provider add` in the directory of " + ProjectFile +
				", or see `southbound types`"
		}
		t.add(r.typ.at, hint, "unknown type %q", short(r.typeName))
	}
	return typ
}

// unknownMember reports a member that resources do not have.
func (t *taker) unknownMember(m *node, typ *schema.Compiled) {
	if typ != nil {
		if _, ok := typ.Attribute(m.key); ok {
			t.add(m.keyAt, "indent it below `attributes:`",
				"%q is an attribute of %s, not a member of resources", m.key, typ.Name)
			return
		}
	}
	t.unknown(m, resourceKeys)
}

// complete creates a resource for each agent from the members, and adds them. It returns false if
// the resource has no identity.
func (t *taker) complete(r *taken, typ *schema.Compiled) bool {
	t.oneOf(r.node)
	if len(r.agents) == 0 && r.node.get("agent") == nil && r.node.get("agents") == nil &&
		!t.defaults.badAgent && !r.node.bad {
		t.add(r.node.at, "add `agent: NAME`, or `defaults: {agent: NAME}` to the document",
			"the resource has no agent")
	}
	t.relative = false
	attributes, ok := t.attributes(r, typ)
	if ok && r.title != nil {
		ok = t.readTitle(r, typ, attributes)
	}
	requires := t.requires(r.requires)
	if !ok || typ == nil {
		return false
	}
	keys, unnamed := typ.Keys(attributes)
	if unnamed != "" || len(r.agents) == 0 {
		t.unseen(r, typ, attributes, unnamed)
		return false
	}
	return t.onAgents(r, resource.Resource{
		Type: typ.Name, Set: r.set, Attributes: attributes, Requires: requires, Flags: r.flags,
	}, keys)
}

// attributes reads the attributes of a resource.
func (t *taker) attributes(r *taken, typ *schema.Compiled) (map[string]any, bool) {
	switch n := r.attributes; {
	case n == nil && r.title != nil:
		return map[string]any{}, true
	case n == nil:
		if !r.node.bad {
			t.add(r.node.at, "add `attributes:`", "the resource has no attributes")
		}
		return nil, false
	case n.kind != object && n.bad:
		return nil, false
	case n.kind != object:
		t.add(n.at, "write it such as {path: /etc/motd}", "attributes is a map")
		return nil, false
	}
	out := make(map[string]any, len(r.attributes.items))
	for i := range r.attributes.items {
		m := &r.attributes.items[i]
		name, v, at := m.key, t.value(m), m.at
		if name == model.CodeAttribute && typ != nil {
			t.add(m.keyAt, "handlers in Python come with models whose modules have them",
				"%s has no attribute %q", typ.Name, name)
			continue
		}
		if name == model.TypeAttribute && typ != nil {
			t.add(m.keyAt, "leave it out: an export adds it from southbound.lock",
				"%s has no attribute %q", typ.Name, name)
			continue
		}
		if typ != nil {
			if a, ok := typ.Attribute(name); ok {
				name = a.Name // share the string among all resources
				t.needlessZero(m, a, v)
			} else if slices.Contains(resourceKeys, name) {
				t.add(m.keyAt, fmt.Sprintf("write `%s` beside `attributes`", name),
					"%q belongs to the resource, not to its attributes", name)
				continue
			} else {
				at = m.keyAt // the name is wrong
			}
		}
		out[name] = v
		t.members = append(t.members, memberAt{name, at})
	}
	return out, true
}

// needlessZero rejects integers such as 0644, which are octal in YAML 1.1, for attributes that
// accept integers. For other attributes, the check of the type reports the problem.
func (t *taker) needlessZero(n *node, a *schema.CompiledAttribute, v any) {
	if a.DataType.Check(v) == nil {
		t.plainIntegers(n)
	}
}

// plainIntegers rejects a value that contains an integer such as 0644; it returns false for one.
func (t *taker) plainIntegers(n *node) bool {
	z := firstZero(n)
	if z != nil {
		t.add(z.at, fmt.Sprintf(
			"write %v, or an octal number as 0o644, or put it in quotes if it is text", z.value),
			"an integer that starts with 0 is decimal in YAML 1.2 and octal in YAML 1.1")
	}
	return z == nil
}

func firstZero(n *node) *node {
	if n.zero {
		return n
	}
	for i := range n.items {
		if z := firstZero(&n.items[i]); z != nil {
			return z
		}
	}
	return nil
}

// unseen reports problems with the attributes of a resource without identity, which later checks do
// not cover. unnamed is the naming attribute that is missing or wrong, or "".
func (t *taker) unseen(r *taken, typ *schema.Compiled, attributes map[string]any, unnamed string) {
	check := typ.Check
	if r.flags.Purged {
		check = typ.CheckPurged
	}
	_, problems := check(attributes)
	for _, p := range problems {
		if p.Attribute == unnamed {
			unnamed = ""
		}
		n := r.attributes.get(p.Attribute)
		at := r.said().at
		if _, known := typ.Attribute(p.Attribute); n != nil && !known {
			at = n.keyAt
		} else if n != nil {
			at = n.at
		}
		if n != nil && n.bad || n == nil && r.said().bad {
			continue
		}
		p.Pos, p.Hint = at.in(t.file), cmp.Or(p.Hint, typ.Hint(p.Attribute))
		*t.add(at, "", "") = p
	}
	if unnamed != "" {
		at := r.said()
		if m := r.attributes.get(unnamed); m != nil {
			at = m
		}
		t.add(at.at, "write text that is not empty and holds no NUL, or a number",
			"the attribute names the resource").Attribute = unnamed
	}
}

// requires reads a list of ids.
func (t *taker) requires(n *node) []resource.ID {
	const hint = `write it such as ["fs::Directory[web1,path=/srv]"]`
	if n == nil || n.null() {
		return nil
	}
	if n.kind != list {
		t.add(n.at, hint, "requires is a list of ids")
		return nil
	}
	out := make([]resource.ID, 0, len(n.items))
	for i := range n.items {
		if id, ok := t.id(&n.items[i], "a requirement"); ok {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// id reads the id of a resource. It returns an id that omits its agent unchanged; see onAgents.
func (t *taker) id(n *node, what string) (resource.ID, bool) {
	s, ok := n.value.(string)
	if n.bad || t.names(n, what) {
		return "", false
	}
	if !ok {
		hint := "write it such as fs::File[web1,path=/etc/motd]"
		if n.kind != scalar {
			hint = `put ids in quotes, such as "fs::File[web1,path=/etc/motd]"`
		}
		t.add(n.at, hint, "%s is the id of a resource", what)
		return "", false
	}
	t.relative = t.relative || resource.Relative(s)
	if err := resource.CheckReference(s); err != nil {
		message := err.Error()
		var fe *fault.Error
		if errors.As(err, &fe) {
			message = fe.Message
		}
		t.add(n.at, fault.HintOf(err), "%s is the id of a resource, and %s", what, message)
		return "", false
	}
	return resource.ID(s), true
}

// readAgents reads the agents of a document.
func (t *taker) readAgents(n *node) {
	if n.null() {
		return
	}
	if n.kind != object {
		t.add(n.at, "write it such as {web1: {transport: local}}", "agents is a map")
		return
	}
	for i := range n.items {
		t.agent(&n.items[i])
	}
}

func (t *taker) agent(n *node) {
	a := resource.Agent{Name: n.key, Transport: "local", Lanes: 1, Options: map[string]any{}}
	if !resource.ValidAgent(n.key) {
		t.add(n.keyAt, "use at most 255 bytes that all print", "%q cannot name an agent",
			short(n.key))
	}
	if n.kind != object {
		if !n.bad {
			t.add(n.at, "write it such as {transport: local}", "an agent is a map")
		}
		t.agents = append(t.agents, agentAt{a, n.keyAt.in(t.file)}) // it counts as described
		return
	}
	for i := range n.items {
		switch m := &n.items[i]; m.key {
		case "transport":
			a.Transport = t.text(m)
			m.bad = m.bad || a.Transport == "" // already reported
		case "lanes":
			lanes, ok := m.value.(int64)
			if !m.bad && t.plainIntegers(m) && (!ok || lanes < 1 || lanes > maxLanes) {
				t.add(m.at, "write 1 for one after the other",
					"lanes is a whole number from 1 to %d", maxLanes)
			}
			a.Lanes = int(lanes)
		default:
			t.relative = false
			a.Options[m.key] = t.value(m)
			if t.relative {
				t.add(m.at, "write the agent, as in fs::File[web1,path=/etc/motd]",
					"the option of an agent refers to a fact of a resource without its "+
						"agent")
			}
			m.bad = !t.plainIntegers(m) || m.bad
		}
	}
	t.agentOptions(n, a)
	t.agents = append(t.agents, agentAt{a, n.keyAt.in(t.file)})
}

// agentOptions checks the options for a transport, unless a problem with them was reported.
func (t *taker) agentOptions(n *node, a resource.Agent) {
	if t.loader.agent == nil || n.bad {
		return
	}
	for _, p := range t.loader.agent(a) {
		at := n.keyAt
		m := n.get(p.Attribute)
		switch {
		case m != nil && m.bad:
			continue
		case m != nil:
			at = m.at
		}
		t.add(at, p.Hint, "agent %q: %s", short(a.Name), p.Message)
	}
}

const maxLanes = 1024

func sameAgent(a, b resource.Agent) bool {
	return a.Transport == b.Transport && a.Lanes == b.Lanes && resource.Equal(a.Options, b.Options)
}

// conflict returns the problem for an agent that is described in two ways.
func conflict(first, second agentAt) diag.Problem {
	return diag.Problem{
		Pos: second.at, Message: fmt.Sprintf("the agent %q is described differently at %s",
			short(second.Name), first.at),
		Hint: "describe it once, or alike", Related: diag.At(first.at),
	}
}
