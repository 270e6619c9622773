package source

import (
	"errors"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

// readTitle adds the naming attributes that the title of a resource gives, unless they are among
// the attributes already.
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

// said returns the node in which a resource is named: its attributes, or its title.
func (r *taken) said() *node {
	switch {
	case r.attributes != nil:
		return r.attributes
	case r.title != nil:
		return r.title
	}
	return r.node
}
