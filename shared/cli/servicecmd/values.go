package servicecmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// The size limits of files with attributes, and with an order of several instances. Longer files
// are rejected before parsing.
const (
	besideAttributes = 8 << 10
	maxAttributes    = inventory.MaxAttributes + besideAttributes
	maxOrder         = inventory.MaxOrder + besideAttributes
)

// readOrder reads a file with JSON or YAML that has at most so many bytes; - is standard input.
func (oc *orderCommands) readOrder(name string, limit int) (any, error) {
	var in io.Reader = oc.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, "read the order", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "read the order", err)
	}
	if len(text) > limit {
		return nil, diag.Problems{{
			Pos: diag.Pos{File: name}, Message: fmt.Sprintf("it has more than %d bytes", limit),
			Hint: "order several instances, or keep data elsewhere",
		}}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil && !d.More() {
		return v, nil // numbers keep their written form
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, diag.Problems{{Pos: diag.Pos{File: name}, Message: err.Error()}}
	}
	if len(doc.Content) != 1 {
		return nil, diag.Problems{{Pos: diag.Pos{File: name}, Message: "there is nothing in it"}}
	}
	r := &yamlReader{file: name}
	v = r.value(doc.Content[0], 0)
	return v, r.problems.Err()
}

// yamlReader makes values of JSON from YAML: a value that looks like a date is a text.
type yamlReader struct {
	file     string
	nodes    int
	problems diag.Problems
}

func (r *yamlReader) bad(n *yaml.Node, format string, args ...any) any {
	if len(r.problems) < diag.Limit {
		r.problems.Add(diag.Problem{
			Pos:     diag.Pos{File: r.file, Line: n.Line, Column: n.Column},
			Message: fmt.Sprintf(format, args...),
		})
	}
	return nil
}

// The limits of YAML: aliases can expand to far more nodes than a document has.
const (
	maxNodes = 200_000
	maxDepth = 100
)

func (r *yamlReader) value(n *yaml.Node, depth int) any {
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		if r.nodes <= maxNodes+1 || depth == maxDepth+1 {
			return r.bad(n, "there is too much in it")
		}
		return nil
	}
	switch n.Kind {
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, one := range n.Content {
			out[i] = r.value(one, depth+1)
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if _, twice := out[k.Value]; twice || k.Kind != yaml.ScalarNode {
				r.bad(k, "%q is there twice, or is not a name", k.Value)
			}
			out[k.Value] = r.value(n.Content[i+1], depth+1)
		}
		return out
	}
	return r.scalar(n)
}

func (r *yamlReader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	case "!!int", "!!float":
		if v, wrong := jsonValue(n.Value); wrong == "" {
			return v // in its written form: with all digits, and a whole float as a float
		}
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return r.bad(n, "%v", err)
	}
	if f, is := v.(float64); is {
		return definition.Number(f)
	}
	return v
}

// given are attributes that the user has typed.
type given struct {
	attributes map[string]any
	edits      []inventory.Edit // edits of a path that goes into attributes
}

// typedValues parses attr=value and attr:=JSON with the types of the definition.
func typedValues(s *definition.Service, terms []string, edits bool) (given, error) {
	g := given{attributes: map[string]any{}}
	var problems diag.Problems
	for n, term := range terms {
		name, value, raw, ok := assignment(term)
		if !ok {
			return g, fault.New(fault.Usage, "", "%q is not an attribute with its value", term).
				WithHint("write attr=value, or attr:=JSON for lists and objects")
		}
		path, err := inventory.ParsePath(name)
		if err != nil {
			return g, fault.New(fault.Usage, "", "%v", err)
		}
		v, wrong := typed(&s.Part, path, value, raw)
		if wrong != "" {
			problems.Add(diag.Problem{
				Attribute: name, Code: inventory.CodeType, Message: wrong,
				Hint: "attr:=JSON gives a value as it is",
			})
			continue
		}
		if len(path) == 1 && path[0].Keys == nil {
			g.attributes[path[0].Name] = added(g.attributes[path[0].Name], v)
			continue
		}
		if !edits {
			return g, fault.New(fault.Usage, "", "%s leads into an attribute", name).
				WithHint("give the whole of it: %s:=JSON, or a file with -f", path[0].Name)
		}
		g.edits = append(g.edits, inventory.Edit{
			ID: strconv.Itoa(n + 1), Operation: inventory.Replace, Target: name, Value: v,
		})
	}
	if len(g.edits) > 0 { // the edits are applied all or none
		for _, name := range slices.Sorted(maps.Keys(g.attributes)) {
			g.edits = append(g.edits, inventory.Edit{
				ID: name, Operation: inventory.Replace, Value: g.attributes[name],
				Target: inventory.Path{{Name: name}}.String(),
			})
		}
	}
	return g, problems.Err()
}

// added combines values of a list that were given one by one.
func added(is, v any) any {
	before, ok := is.([]any)
	list, also := v.([]any)
	if ok && also {
		return append(before, list...)
	}
	return v
}

// assignment splits attr=value, or attr:=JSON; the path of the attribute may have keys.
func assignment(term string) (name, value string, raw, ok bool) {
	inside := false
	for i := 0; i < len(term); i++ {
		switch term[i] {
		case '\\':
			i++
		case '[':
			inside = true
		case ']':
			inside = false
		case '=':
			if inside {
				continue
			}
			name, raw = strings.CutSuffix(term[:i], ":")
			return name, term[i+1:], raw, name != ""
		}
	}
	return "", "", false, false
}

// typed parses a value for the attribute at a path. It returns the problem of an invalid value.
func typed(p *definition.Part, path inventory.Path, value string, raw bool) (any, string) {
	if raw {
		return jsonValue(value)
	}
	last := len(path) - 1
	for i, step := range path {
		if e := embeddedOf(p, step.Name); e != nil && i < last {
			p = &e.Part
			continue
		} else if e != nil {
			return jsonValue(value)
		}
		if at := p.Attribute(step.Name); at != nil && i == last {
			return attributeValue(at, value)
		}
		if rel := relationOf(p, step.Name); rel != nil && i == last {
			return relationValue(rel, value), ""
		}
		break
	}
	return value, "" // the rules report an invalid name
}

func jsonValue(text string) (any, string) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, fmt.Sprintf("%q is not JSON", text)
	}
	return v, ""
}

func relationOf(p *definition.Part, name string) *definition.Relation {
	for i := range p.Relations {
		if p.Relations[i].Name == name {
			return &p.Relations[i]
		}
	}
	return nil
}

func embeddedOf(p *definition.Part, name string) *definition.Embedded {
	for i := range p.Embedded {
		if p.Embedded[i].Name == name {
			return &p.Embedded[i]
		}
	}
	return nil
}

// relationValue parses the name of an instance; for a relation to several, it is one of them.
func relationValue(r *definition.Relation, text string) any {
	if rest, is := strings.CutPrefix(text, r.Service+"/"); is {
		text = "identity=" + rest
	}
	switch {
	case text == "null" || text == "":
		return nil
	case r.Many():
		return []any{text}
	}
	return text
}

// attributeValue parses a value of an attribute. A list is given as JSON, or one item at a time.
func attributeValue(at *definition.Attribute, text string) (any, string) {
	if text == "null" && at.Optional() && (at.List() || at.Base() != "string") {
		return nil, ""
	}
	if at.List() && strings.HasPrefix(strings.TrimSpace(text), "[") {
		return jsonValue(text)
	}
	v, wrong := oneValue(at.Base(), text)
	if at.List() && wrong == "" {
		return []any{v}, ""
	}
	return v, wrong
}

func oneValue(base, text string) (any, string) {
	switch base {
	case "string":
		return text, ""
	case "bool":
		switch text {
		case "true":
			return true, ""
		case "false":
			return false, ""
		}
		return nil, fmt.Sprintf("%q is neither true nor false", text)
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return nil, fmt.Sprintf("%s is too large to be stored: a whole number is from %d to %d",
				text, int64(math.MinInt64), int64(math.MaxInt64))
		case err != nil:
			return nil, fmt.Sprintf("%q is not a whole number", text)
		}
		return json.Number(strconv.FormatInt(n, 10)), "" // text may have a sign that JSON has not
	case "float", "number":
		if v, wrong := jsonValue(text); wrong == "" {
			if n, is := v.(json.Number); is {
				return n, ""
			}
		}
		return nil, fmt.Sprintf("%q is not a number", text)
	}
	return jsonValue(text)
}

// byName converts names of instances in relations to the form of the API: NAME/identity becomes
// identity=…
func byName(p *definition.Part, set map[string]any) {
	name := func(r *definition.Relation, v any) any {
		if s, ok := v.(string); ok {
			if rest, is := strings.CutPrefix(s, r.Service+"/"); is {
				return "identity=" + rest
			}
		}
		return v
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		if list, ok := set[r.Name].([]any); ok {
			for n := range list {
				list[n] = name(r, list[n])
			}
		} else if v, has := set[r.Name]; has {
			set[r.Name] = name(r, v)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		list, ok := set[e.Name].([]any)
		if !ok {
			list = []any{set[e.Name]}
		}
		for _, one := range list {
			if m, is := one.(map[string]any); is {
				byName(&e.Part, m)
			}
		}
	}
}
