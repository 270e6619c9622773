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
func typeNames() map[string]string {
	return map[string]string{
		"str": "string", "int": "int", "float": "float", "bool": "bool", "Number": "number",
		"dict": "dict", "Dict": "dict", "Mapping": "dict", "list": "list", "List": "list",
		"Sequence": "list", "None": nullType, contextType: contextType, "Reference": "reference",
	}
}

// typeOf returns the type that an annotation stands for, as models write it.
func typeOf(tokens []token) string {
	if parts := split(tokens, "|"); len(parts) > 1 {
		return union(parts)
	}
	if len(tokens) == 0 {
		return anyType
	}
	if tokens[0].text == "(" && tokens[0].kind == sign {
		return typeOf(inside(tokens))
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
		return generic(name, split(inside(tokens[n:]), ","))
	}
	if t, ok := typeNames()[name]; ok {
		return t
	}
	return anyType
}

// generic returns the type that an annotation with arguments stands for.
func generic(name string, args [][]token) string {
	if len(args) == 0 {
		return anyType
	}
	switch name {
	case "Optional":
		return nullable(typeOf(args[0]))
	case "Union":
		return union(args)
	case "Annotated":
		for _, a := range slices.Backward(args) {
			if i := slices.IndexFunc(a, func(t token) bool { return t.text == "ModelType" }); i >= 0 {
				return typeOf(inside(a[i+1:]))
			}
		}
		return typeOf(args[0])
	}
	t, ok := typeNames()[name]
	if of := typeOf(args[0]); t == "list" && !strings.ContainsAny(of, "|?") && of != anyType {
		return of + "[]"
	}
	if !ok {
		return anyType
	}
	return t
}

func union(parts [][]token) string {
	var out []string
	null := false
	for _, p := range parts {
		t := typeOf(p)
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
