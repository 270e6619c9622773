package pysource

import (
	"slices"
	"strings"
)

const (
	anyType     = "any"
	nullType    = "null"
	contextType = "Context" // of a call: models do not give it
)

// typeNames are types of models by the last name of an annotation.
type typeNames map[string]string

// typesOf returns the types that annotations may name: classes stand for entities.
func typesOf(classes []string) typeNames {
	out := typeNames{
		"str": "string", "int": "int", "float": "float", "bool": "bool", "Number": "number",
		"dict": "dict", "Dict": "dict", "Mapping": "dict", "list": "list", "List": "list",
		"Sequence": "list", "None": nullType, contextType: contextType, "Reference": "reference",
	}
	for _, name := range classes {
		out.add(name)
	}
	return out
}

// add adds a class.
func (m typeNames) add(name string) {
	if _, ok := m[name]; !ok {
		m[name] = name
	}
}

// of returns the type that an annotation stands for, as models write it.
func (m typeNames) of(tokens []token) string {
	if parts := split(tokens, "|"); len(parts) > 1 {
		return m.union(parts)
	}
	if len(tokens) == 0 {
		return anyType
	}
	if tokens[0].text == "(" && tokens[0].kind == sign {
		return m.of(inside(tokens))
	}
	if len(tokens) == 1 && tokens[0].kind == quoted {
		if tokens[0].text == "expression" {
			return anyType
		}
		return strings.TrimSpace(tokens[0].text)
	}
	name, n := "", 0
	for n < len(tokens) && (tokens[n].kind == word || tokens[n].text == ".") {
		if tokens[n].kind == word {
			name = tokens[n].text
		}
		n++
	}
	if n < len(tokens) && tokens[n].text == "[" {
		return m.generic(name, split(inside(tokens[n:]), ","))
	}
	if t, ok := m[name]; ok {
		return t
	}
	return anyType
}

// generic returns the type that an annotation with arguments stands for.
func (m typeNames) generic(name string, args [][]token) string {
	if len(args) == 0 {
		return anyType
	}
	switch name {
	case "Optional":
		return nullable(m.of(args[0]))
	case "Union":
		return m.union(args)
	case "Annotated":
		for _, a := range slices.Backward(args) {
			if i := slices.IndexFunc(a,
				func(t token) bool { return t.text == "ModelType" }); i >= 0 {
				return m.of(inside(a[i+1:]))
			}
		}
		return m.of(args[0])
	}
	t, ok := m[name]
	if of := m.of(args[0]); t == "list" && !strings.ContainsAny(of, "|?") && of != anyType {
		return of + "[]"
	}
	if !ok {
		return anyType
	}
	return t
}

func (m typeNames) union(parts [][]token) string {
	var out []string
	null := false
	for _, p := range parts {
		t := m.of(p)
		if null = null || t == nullType; t != nullType && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	switch {
	case len(out) == 0:
		return nullType
	case len(out) == 1 && null:
		return nullable(out[0])
	case null:
		out = append(out, nullType)
	}
	return strings.Join(out, " | ")
}

func nullable(t string) string {
	if t == anyType || t == nullType || strings.HasSuffix(t, "?") {
		return t
	}
	return t + "?"
}
