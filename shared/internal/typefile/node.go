package typefile

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// shorten truncates a text for messages.
func shorten(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

// elsewhere returns a hint for a member name of other systems; "" for any other name.
func elsewhere(name string) string {
	return map[string]string{
		"desc": "it is called description", "doc": "it is called description",
		"docs": "it is called description", "behavior": "it is called behaviour",
		"title_patterns": "they are called titles",
		"autorequire":    "write it under relations, with kind: require",
		"autorequires":   "write it under relations, with kind: require",
		"autobefore":     "write it under relations, with kind: before",
		"autosubscribe":  "write it under relations, with kind: subscribe",
		"autonotify":     "write it under relations, with kind: notify",
	}[name]
}

// mark records the place of a part.
func (r *reader) mark(kind schema.PartKind, which any, n *yaml.Node) {
	if kind != "" {
		r.parts[schema.Part(kind, which)] = r.place(n)
	}
}

// members returns the values of a map by name; nil for another node. It rejects unknown and
// repeated names. It reads a misspelt member as the known one, so that the known member is not
// reported as missing.
func (r *reader) members(n *yaml.Node, what string, known []string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.bad(n, "", "%s is a map", what)
		return nil
	}
	out, meant := make(map[string]*yaml.Node, len(n.Content)/2), map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name, ok := r.key(k)
		if !ok {
			continue
		}
		if _, twice := out[name]; twice {
			r.bad(k, "", "%q is there twice", shorten(name))
			continue
		}
		out[name] = v
		if known == nil || slices.Contains(known, name) {
			continue
		}
		hint := elsewhere(name)
		if near := schema.Nearest(name, known); hint == "" && near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
			meant[near] = v
		}
		if hint == "" {
			hint = "there are " + strings.Join(known, ", ")
		}
		r.bad(k, hint, "%s has no member %q", what, shorten(name))
	}
	for name, v := range meant {
		if out[name] == nil {
			out[name] = v
		}
	}
	return out
}

func (r *reader) key(k *yaml.Node) (string, bool) {
	if k.Kind != yaml.ScalarNode || k.Value == "<<" && k.Style == 0 {
		r.bad(k, "", "the name of a member is text")
		return "", false
	}
	return k.Value, true
}

// null reports whether a node is missing or null.
func null(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// text reads a text; "" if the node is missing.
func (r *reader) text(n *yaml.Node, what string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return n.Value
	case null(n):
		r.bad(n, "write it, or leave it out", "%s is empty", what)
	case n.Kind == yaml.ScalarNode:
		r.bad(n, "put it in quotes", "%s is text", what)
	default:
		r.bad(n, "write one text, in quotes where it holds brackets", "%s is text", what)
	}
	return ""
}

// named reads a name, which must not be empty.
func (r *reader) named(n *yaml.Node, what string) string {
	s := r.text(n, what)
	if s == "" && n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		r.bad(n, "write it", "%s is empty", what)
	}
	return s
}

// list reads a list of texts. The items are parts of a kind; "" for none.
func (r *reader) list(n *yaml.Node, what string, kind schema.PartKind) []string {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.bad(n, "write it such as [a, b]", "%s is a list", what)
		return nil
	}
	var out []string
	for i, e := range n.Content {
		r.mark(kind, i, e)
		out = append(out, r.text(e, "an item of "+what))
	}
	return out
}

// texts reads a map of texts. The values are parts of a kind; "" for none.
func (r *reader) texts(n *yaml.Node, what string, kind schema.PartKind) map[string]string {
	if n == nil {
		return nil
	}
	out := map[string]string{}
	for name, v := range r.members(n, what, nil) {
		r.mark(kind, name, v)
		out[name] = r.text(v, name+" of "+what)
	}
	return out
}

func (r *reader) flag(n *yaml.Node, what string) bool {
	if n == nil {
		return false
	}
	b, ok := r.value(n, 0).(bool)
	if !ok {
		r.bad(n, "write true or false", "%s is true or false", what)
	}
	return b
}

func (r *reader) duration(n *yaml.Node) time.Duration {
	if n == nil {
		return 0
	}
	d, err := time.ParseDuration(n.Value) // a node that is not text has no duration
	if err != nil || n.Kind != yaml.ScalarNode {
		r.bad(n, "write a number with its unit, such as 30s or 5m", "the timeout is a duration")
	}
	return d
}

// value reads a value as in attributes of documents.
func (r *reader) value(n *yaml.Node, depth int) any {
	if depth > maxDepth {
		r.bad(n, "", "lists and maps are nested deeper than %d", maxDepth)
		return nil
	}
	switch {
	case null(n):
		return nil
	case n.Kind == yaml.ScalarNode:
		return r.scalar(n)
	case n.Kind == yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, e := range n.Content {
			out[i] = r.value(e, depth+1)
		}
		return out
	case n.Kind == yaml.MappingNode:
		out := map[string]any{}
		for name, v := range r.members(n, "the map", nil) {
			out[name] = r.value(v, depth+1)
		}
		return out
	}
	r.bad(n, "write it out", "aliases are not read here")
	return nil
}

// documentValue reads a value that may contain references as in documents.
func (r *reader) documentValue(n *yaml.Node) any {
	v := r.value(n, 0)
	text, err := appendRaw(nil, v)
	if err != nil {
		return v
	}
	if w, err := resource.DecodeValue(text); err == nil {
		return w
	}
	return v
}

// appendRaw appends JSON in which every map stays a map, regardless of the names of its members.
func appendRaw(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendRaw(b, e); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = resource.AppendValue(b, k); err != nil {
				return b, err
			}
			if b, err = appendRaw(append(b, ':'), v[k]); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
	return resource.AppendValue(b, v)
}

func (r *reader) scalar(n *yaml.Node) any {
	tag := n.ShortTag()
	if digits := strings.TrimLeft(n.Value, "+-"); tag == "!!float" &&
		strings.Trim(digits, "0123456789") == "" {
		tag = "!!int" // more than 64 bits
	}
	switch tag {
	case "!!str":
		return n.Value
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		text := n.Value
		if digits := strings.TrimLeft(text, "+-"); len(text) <= 1000 &&
			(digits == "0" || !strings.HasPrefix(digits, "0") ||
				len(digits) > 1 && strings.ContainsAny(digits[1:2], "xob")) {
			if b, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0); ok &&
				!strings.Contains(text, "_") {
				if b.IsInt64() {
					return b.Int64()
				}
				return b
			}
		}
		r.bad(n, "put it in quotes if it is text, or leave the zero out",
			"this number can be read in more than one way")
		return nil
	case "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			r.bad(n, "", "this number cannot be stored")
			return nil
		}
		return f
	}
	r.bad(n, "put it in quotes if it is text", "a value tagged %s cannot be read",
		shorten(n.ShortTag()))
	return nil
}
