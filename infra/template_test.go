// Package infra holds nothing but tests of the templates: what docs/design and AWS ask of them and
// no linter knows.
package infra

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// node is a part of a template. Intrinsic functions in their short form are maps, as in their long
// form: !Ref X is {Ref: X}.
type node = map[string]any

// template is one file.
type template struct {
	path string
	body node
}

// templates returns the root template and the nested ones, by name.
func templates(t *testing.T) map[string]template {
	t.Helper()
	nested, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]template{}
	for _, path := range append(nested, filepath.Join("..", "template.yaml")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, _ := plain(doc.Content[0]).(node)
		out[filepath.Base(path)] = template{path, body}
	}
	return out
}

// plain turns a YAML node into maps, lists and scalars.
func plain(n *yaml.Node) any {
	v := untagged(n)
	name, short := strings.CutPrefix(n.Tag, "!")
	if !short || strings.HasPrefix(name, "!") {
		return v
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	if text, ok := v.(string); ok && name == "Fn::GetAtt" {
		at := strings.IndexByte(text, '.')
		v = []any{text[:at], text[at+1:]}
	}
	return node{name: v}
}

func untagged(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := node{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, plain(c))
		}
		return list
	case yaml.AliasNode:
		return plain(n.Alias)
	}
	if strings.HasPrefix(n.Tag, "!!") {
		var v any
		if n.Decode(&v) == nil {
			return v
		}
	}
	return n.Value
}

// at returns what stands at a path of keys; nil when there is nothing.
func at(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(node)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// resources calls f with each resource of all templates, in order.
func resources(t *testing.T, f func(file, name, kind string, resource node)) {
	t.Helper()
	all := templates(t)
	for _, file := range sorted(all) {
		list, _ := at(all[file].body, "Resources").(node)
		for _, name := range sorted(list) {
			r, _ := list[name].(node)
			kind, _ := r["Type"].(string)
			f(file, name, kind, r)
		}
	}
}

// property returns a property of a resource; of a function, that of Globals when it has none
// itself.
func property(all map[string]template, r node, path ...string) any {
	if v := at(r, append([]string{"Properties"}, path...)...); v != nil {
		return v
	}
	if r["Type"] == "AWS::Serverless::Function" {
		return at(all["template.yaml"].body, append([]string{"Globals", "Function"}, path...)...)
	}
	return nil
}

// texts calls f with every text below v.
func texts(v any, f func(text string)) {
	switch v := v.(type) {
	case string:
		f(v)
	case []any:
		for _, e := range v {
			texts(e, f)
		}
	case node:
		for _, k := range sorted(v) {
			texts(v[k], f)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
