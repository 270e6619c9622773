package tf

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/value"
)

// meta is the metadata of a type, as Types has written it.
type meta struct {
	name     string // of the type
	theirs   string // the provider's name of the type
	provider packages.Address
	version  string
	hashes   []string
	data     bool
	schema   map[string]string // the schema's names of renamed attributes, by their names here
	ours     map[string]string // the reverse
}

// metaOf reads the metadata of a type. The declaration may come from a stored version, so any member
// may be missing.
func metaOf(t *schema.Type) (meta, error) {
	m := meta{name: t.Name, schema: map[string]string{}, ours: map[string]string{}}
	bad := func(member string) (meta, error) {
		return meta{}, provider.Errorf(provider.Terminal,
			"the declaration of %s has no valid %s; add the provider again", t.Name, member)
	}
	var ok bool
	if m.theirs, ok = t.Metadata[MetaType].(string); !ok || m.theirs == "" {
		return bad(MetaType)
	}
	if m.version, ok = t.Metadata[MetaVersion].(string); !ok {
		return bad(MetaVersion)
	}
	address, _ := t.Metadata[MetaProvider].(string)
	var err error
	if m.provider, err = packages.ParseAddress(address); err != nil {
		return bad(MetaProvider)
	}
	m.data, _ = t.Metadata[MetaData].(bool)
	hashes, _ := t.Metadata[MetaHashes].([]any)
	for _, h := range hashes {
		if text, is := h.(string); is {
			m.hashes = append(m.hashes, text)
		}
	}
	renamed, _ := t.Metadata[MetaAttributes].(map[string]any)
	for here, there := range renamed {
		name, is := there.(string)
		if !is {
			return bad(MetaAttributes)
		}
		m.schema[here], m.ours[name] = name, here
	}
	return m, nil
}

// theirs returns the provider's name of a type; that of a data source begins with data.
func theirs(t schema.Type) string {
	m, err := metaOf(&t)
	if err == nil && m.data {
		return "data." + m.theirs
	}
	return m.theirs
}

// here returns the name of an attribute of the schema in documents.
func (m *meta) here(name string) string {
	if ours, renamed := m.ours[name]; renamed {
		return ours
	}
	return name
}

// own reports whether an attribute comes from no schema.
func own(name string) bool {
	return name == attrLabel || name == attrImport || name == schema.CreateBeforeDestroy
}

// configured returns the attributes of a resource by the names of the schema.
func (m *meta) configured(attributes map[string]any) map[string]any {
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		if own(name) {
			continue
		}
		if theirs, renamed := m.schema[name]; renamed {
			name = theirs
		}
		out[name] = v
	}
	return out
}

// reported returns attributes by their names in documents.
func (m *meta) reported(attributes map[string]any) map[string]any {
	if attributes == nil {
		return nil
	}
	out := make(map[string]any, len(attributes))
	for name, v := range attributes {
		out[m.here(name)] = v
	}
	return out
}

// place returns a path as a text, with the attribute's name in documents.
func (m *meta) place(p cty.Path) string {
	first := top(p)
	if first == "" {
		return value.Pointer(p)
	}
	rest := value.Pointer(p[1:])
	if rest == "" {
		return m.here(first)
	}
	return m.here(first) + "/" + rest
}

// places returns paths as a list for people, each once. It is bounded: a plan may compute thousands.
func (m *meta) places(paths []cty.Path) string {
	const most = 20
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		text := m.place(p)
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(out) == most {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(paths)-most)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// top returns the attribute to which a path leads, or into which.
func top(p cty.Path) string {
	if len(p) == 0 {
		return ""
	}
	step, _ := p[0].(cty.GetAttrStep)
	return step.Name
}
