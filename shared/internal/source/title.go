package source

import (
	"errors"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

// readTitle adds the naming attributes in the title of a resource, unless the attributes already
// have them.
func (t *taker) readTitle(r *taken, typ *schema.Compiled, attributes map[string]any) bool {
	n := r.title
	title := t.text(n)
	if title == "" || typ == nil {
		return false
	}
	keys, err := typ.ReadTitle(title)
	if err != nil {
		message := err.Error()
		var fe *fault.Error
		if errors.As(err, &fe) {
			message = fe.Message
		}
		t.add(n.at, fault.HintOf(err), "%s", message)
		return false
	}
	for _, name := range typ.Namevars() {
		if v, ok := keys[name]; ok && r.attributes.get(name) == nil {
			attributes[name] = v
			t.members = append(t.members, memberAt{name, n.at})
		}
	}
	return true
}

// said returns the node that identifies a resource: its attributes, or its title.
func (r *taken) said() *node {
	switch {
	case r.attributes != nil:
		return r.attributes
	case r.title != nil:
		return r.title
	}
	return r.node
}
