package typefile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// YAML formats a declaration as YAML. Parse returns an equal declaration from it.
func YAML(t *schema.Type) ([]byte, error) {
	n, err := tree(t)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc, err := yaml.NewDumper(&b, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err == nil {
		err = enc.Dump(n)
	}
	if err == nil {
		err = enc.Close()
	}
	return b.Bytes(), fault.Wrap(fault.Internal, "write declaration", err)
}

// JSON formats a declaration as JSON. Parse returns an equal declaration from it.
func JSON(t *schema.Type) ([]byte, error) {
	n, err := tree(t)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, appendJSON(nil, n), "", "  "); err != nil {
		return nil, fault.Wrap(fault.Internal, "write declaration", err)
	}
	return append(b.Bytes(), '\n'), nil
}

// object is a map under construction.
type object struct {
	*yaml.Node
	err *error
}

func newObject(err *error, flow bool) object {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	if flow {
		n.Style = yaml.FlowStyle
	}
	return object{n, err}
}

func textNode(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	if n.Style&yaml.LiteralStyle != 0 {
		n.Style = yaml.DoubleQuotedStyle // literal blocks lose trailing line breaks
	}
	n.Tag = "!!str"
	return n
}

func (o object) node(key string, n *yaml.Node) { o.Content = append(o.Content, textNode(key), n) }

func (o object) text(key, s string) {
	if s != "" {
		o.node(key, textNode(s))
	}
}

func (o object) flag(key string, b bool) {
	if b {
		o.node(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
}

func (o object) list(key string, items []string) {
	if len(items) == 0 {
		return
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, s := range items {
		n.Content = append(n.Content, textNode(s))
	}
	o.node(key, n)
}

func (o object) texts(key string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	inner := newObject(o.err, false)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		inner.node(name, textNode(m[name]))
	}
	o.node(key, inner.Node)
}

func (o object) value(key string, v any) {
	if v == nil {
		return
	}
	n, err := valueNode(v)
	if err != nil {
		*o.err = err
		return
	}
	o.node(key, n)
}

// raw adds data in which every map stays a map, regardless of the names of its members.
func (o object) raw(key string, v any) {
	v, err := resource.FromGo(v)
	if err == nil {
		var text []byte
		if text, err = appendRaw(nil, v); err == nil {
			var n *yaml.Node
			if n, err = jsonNode(text); err == nil {
				o.node(key, n)
				return
			}
		}
	}
	*o.err = err
}

// seq adds a list of n objects; each fills the object i.
func (o object) seq(key string, n int, each func(i int, item object)) {
	if n == 0 {
		return
	}
	seq := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range n {
		item := newObject(o.err, false)
		each(i, item)
		seq.Content = append(seq.Content, item.Node)
	}
	o.node(key, seq)
}

// tree builds the nodes of a declaration.
func tree(t *schema.Type) (*yaml.Node, error) {
	var err error
	o := newObject(&err, false)
	o.value(keyFormat, int64(Format))
	o.text(keyName, t.Name)
	o.text(keyDescription, t.Description)
	attributes := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range t.Attributes {
		attributes.Content = append(attributes.Content, attribute(&err, &t.Attributes[i]))
	}
	o.node(keyAttributes, attributes)
	o.seq(keyTitles, len(t.Titles), func(i int, item object) {
		item.node(keyPattern, textNode(t.Titles[i].Pattern))
		item.text(keyDescription, t.Titles[i].Description)
	})
	// Relations that code computes cannot be written; codeOf reports that there are some.
	written := slices.DeleteFunc(slices.Clone(t.Relations), namedInCode)
	o.seq(keyRelations, len(written), func(i int, item object) {
		d := &written[i]
		item.text(keyKind, string(d.Kind))
		item.text(keyType, d.Type)
		item.list(keyTitles, d.Titles)
		item.texts(keyKeys, d.Keys)
		item.text(keyAgent, d.Agent)
	})
	o.seq(keyRules, len(t.Rules), func(i int, item object) {
		rule := &t.Rules[i]
		item.list(string(rule.Kind), rule.Attributes)
		item.text(keyIf, rule.If)
		if len(rule.Is) > 0 {
			item.raw(keyIs, rule.Is)
		}
		item.text(keyMessage, rule.Message)
	})
	o.texts(keyAliases, t.Aliases)
	o.list(keyFeatures, t.Features)
	o.list(keyProviders, t.Providers)
	if t.Timeout != 0 {
		o.text(keyTimeout, t.Timeout.String())
	}
	o.flag(keyAssigned, t.Assigned)
	o.flag(keyCreateFirst, t.CreateFirst)
	o.flag(keyMachine, t.Machine)
	o.list(keyTransports, t.Transports)
	o.list(keySecrets, t.SecretOptions)
	o.list(keyCode, codeOf(t))
	if t.Metadata != nil {
		o.raw(keyMetadata, t.Metadata)
	}
	return o.Node, err
}

func attribute(err *error, a *schema.Attribute) *yaml.Node {
	o := newObject(err, false)
	o.text(keyName, a.Name)
	o.text(keyType, a.Type)
	o.text(keyBehaviour, string(a.Behaviour))
	o.value(keyDefault, a.Default)
	o.flag(keySensitive, a.Sensitive)
	o.flag(keyOneLine, a.OneLine)
	o.text(keyDescription, a.Description)
	return o.Node
}

// codeOf returns the names of the functions that a type defines in code.
func codeOf(t *schema.Type) []string {
	out := slices.Clone(t.Code)
	for name, there := range map[string]bool{"validate": t.Validate != nil,
		"relations": slices.ContainsFunc(t.Relations, namedInCode), "gather": t.Gather != nil,
		"thing": t.Thing != nil} {
		if there {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namedInCode reports whether only code can compute the titles of a relation.
func namedInCode(r schema.Relation) bool { return r.Names != nil }

// valueNode builds the node of a value in the format of documents.
func valueNode(v any) (*yaml.Node, error) {
	v, err := resource.FromGo(v)
	if err != nil {
		return nil, err
	}
	text, err := resource.CanonicalValue(v)
	if err != nil {
		return nil, err
	}
	return jsonNode(text)
}

// jsonNode converts JSON to nodes, with every text tagged as a string.
func jsonNode(text []byte) (*yaml.Node, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fault.Wrap(fault.Internal, "write value", err)
	}
	return plainNode(v), nil
}

func plainNode(v any) *yaml.Node {
	switch v := v.(type) {
	case string:
		return textNode(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case json.Number:
		tag := "!!int"
		if bytes.ContainsAny([]byte(v), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: string(v)}
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		for _, e := range v {
			n.Content = append(n.Content, plainNode(e))
		}
		return n
	case map[string]any:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			n.Content = append(n.Content, textNode(k), plainNode(v[k]))
		}
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

// appendJSON appends nodes as JSON, with members in their order.
func appendJSON(b []byte, n *yaml.Node) []byte {
	switch n.Kind {
	case yaml.MappingNode:
		b = append(b, '{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, n.Content[i]), ':')
			b = appendJSON(b, n.Content[i+1])
		}
		return append(b, '}')
	case yaml.SequenceNode:
		b = append(b, '[')
		for i, e := range n.Content {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	}
	if n.Tag != "!!str" {
		return append(b, n.Value...)
	}
	text, err := resource.CanonicalValue(n.Value)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}
