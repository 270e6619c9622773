package lsp

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// declaredPlugins returns the plugins that a Python text declares. It searches for lines with
// @plugin and reads the function that follows. It does not run Python, and parses nothing else.
func declaredPlugins(namespace, path, content string) []eval.Plugin {
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	alias := aliasOfPlugin(content)
	var out []eval.Plugin
	p, found := eval.Plugin{}, false // read from the decorators so far
	for i := 0; i < len(lines); {
		line, next := logicalLine(lines, i)
		decorator, isDecorator := strings.CutPrefix(line, "@")
		name, args, _ := strings.Cut(decorator, "(")
		switch last := name[strings.LastIndexByte(name, '.')+1:]; {
		case line == "":
		case isDecorator && (last == "plugin" || name == alias):
			p.Name, found = stringIn(args), true
		case isDecorator && last == "deprecated":
			p.Deprecated, p.ReplacedBy = true, stringIn(args)
		case isDecorator:
		default:
			if found && readFunction(&p, line) {
				p.Name = namespace + "::" + p.Name
				p.AllowUnknown = true
				p.Doc = docstring(lines[next:])
				p.At = functionAt(path, i, lines[i])
				out = append(out, p)
			}
			p, found = eval.Plugin{}, false
		}
		i = next
	}
	return out
}

// functionAt returns the place of a function's name in the line with number i.
func functionAt(path string, i int, line string) *diag.Pos {
	_, after, _ := strings.Cut(line, "def ")
	before := line[:len(line)-len(strings.TrimLeft(after, " "))]
	return &diag.Pos{File: path, Line: i + 1, Column: utf8.RuneCountInString(before) + 1}
}

// aliasOfPlugin returns the alias under which a text imports plugin; "" without an alias.
func aliasOfPlugin(content string) string {
	_, after, _ := strings.Cut(content, "plugin as ")
	if i := strings.IndexAny(after, " ,)\r\n"); i >= 0 {
		return after[:i]
	}
	return after
}

// logicalLine returns the line at i with those that continue it in brackets, without comments and
// outer white space, and the number of the next line.
func logicalLine(lines []string, i int) (line string, next int) {
	for {
		depth := 0
		part := strings.TrimSuffix(strings.TrimSpace(lines[i]), "\\")
		whole := line + part
		scan(whole, func(at, level int, c byte) bool {
			if c == '#' {
				whole = strings.TrimSpace(whole[:at])
				return false
			}
			depth = level
			return true
		})
		line = whole
		if i++; i == len(lines) || depth <= 0 && part == strings.TrimSpace(lines[i-1]) {
			return line, i
		}
		line += " "
	}
}

// scan calls f for each byte outside of strings, with the depth of brackets after it, until f
// returns false.
func scan(s string, f func(at, depth int, c byte) bool) {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0 && c == '\\':
			i++
			continue
		case quote != 0:
			if c == quote {
				quote = 0
			}
			continue
		case c == '"' || c == '\'':
			quote = c
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
		if !f(i, depth, c) {
			return
		}
	}
}

// splitAt splits a text at a byte outside of strings and brackets.
func splitAt(s string, sep byte) []string {
	var out []string
	from := 0
	scan(s, func(at, depth int, c byte) bool {
		if c == sep && depth == 0 {
			out = append(out, strings.TrimSpace(s[from:at]))
			from = at + 1
		}
		return true
	})
	return append(out, strings.TrimSpace(s[from:]))
}

// stringIn returns the first string literal in a text; "" if there is none.
func stringIn(s string) string {
	i := strings.IndexAny(s, `"'`)
	if i < 0 {
		return ""
	}
	text, _, _ := strings.Cut(s[i+1:], s[i:i+1])
	return text
}

// readFunction reads the parameters and the result of a function; false if the line defines none.
func readFunction(p *eval.Plugin, line string) bool {
	line, ok := strings.CutPrefix(strings.TrimPrefix(line, "async "), "def ")
	name, _, open := strings.Cut(line, "(")
	if !ok || !open || strings.TrimSpace(name) == "" {
		return false
	}
	if p.Name == "" {
		p.Name = strings.TrimSpace(name)
	}
	rest := line[len(name):] // from the opening bracket on
	end := len(rest)
	scan(rest, func(at, depth int, _ byte) bool {
		if depth == 0 {
			end = at
		}
		return depth > 0
	})
	readParams(p, splitAt(rest[1:end], ','))
	if _, result, ok := strings.Cut(rest[end:], "->"); ok {
		p.Result = modelType(splitAt(result, ':')[0])
	}
	return true
}

// readParams reads parameters. It skips the context, which models do not pass.
func readParams(p *eval.Plugin, list []string) {
	byName := false
	for _, one := range list {
		name := strings.TrimLeft(one, "*")
		stars := len(one) - len(name)
		declared, standard, optional := cutAt(name, '=')
		name, annotation, _ := cutAt(declared, ':')
		q := eval.Param{Name: name, Type: modelType(annotation), ByName: byName}
		if optional {
			q.Default = plainValue(standard)
		}
		switch {
		case name == "" || name == "/":
			byName = byName || stars == 1
		case stars == 2:
			p.Named = &q
		case stars == 1:
			p.Rest, byName = &q, true
		case annotation != "Context" && !strings.HasSuffix(annotation, ".Context"):
			p.Params = append(p.Params, q)
		}
	}
}

// cutAt cuts a text at the first byte sep outside of strings and brackets.
func cutAt(s string, sep byte) (before, after string, found bool) {
	parts := splitAt(s, sep)
	if len(parts) == 1 {
		return s, "", false
	}
	return parts[0], strings.TrimSpace(s[strings.IndexByte(s[len(parts[0]):], sep)+len(parts[0])+1:]),
		true
}

// modelType returns the model type for a Python annotation: "any" for one that is not known.
func modelType(annotation string) string {
	const unknown = "any"
	name, args, generic := strings.Cut(strings.TrimSuffix(annotation, "]"), "[")
	name = strings.TrimSpace(name[strings.LastIndexByte(name, '.')+1:])
	parts := splitAt(annotation, '|')
	switch {
	case len(parts) == 2 && parts[1] == "None":
		return nullable(modelType(parts[0]))
	case len(parts) > 1:
		return unknown
	case strings.HasPrefix(annotation, `"`) || strings.HasPrefix(annotation, "'"):
		if t := stringIn(annotation); t != "expression" {
			return t
		}
		return unknown
	case generic && name == "Optional":
		return nullable(modelType(args))
	}
	switch name {
	case "str":
		return "string"
	case "int", "float", "bool":
		return name
	case "dict", "Dict", "Mapping":
		return "dict"
	case "list", "List", "Sequence":
		if of := modelType(args); generic && of != unknown && !strings.HasSuffix(of, "?") {
			return of + "[]"
		}
		return "list"
	case "None":
		return "null"
	}
	return unknown
}

func nullable(t string) string {
	if t == "any" {
		return t
	}
	return t + "?"
}

// plainValue returns the value of a default: unknown unless it is a literal.
func plainValue(python string) types.Value {
	switch {
	case python == "True" || python == "False":
		return python == "True"
	case python == "None":
		return types.Null{}
	case strings.HasPrefix(python, `"`) || strings.HasPrefix(python, "'"):
		return stringIn(python)
	}
	if n, err := strconv.ParseInt(python, 10, 64); err == nil {
		return n
	}
	if f, err := strconv.ParseFloat(python, 64); err == nil {
		return f
	}
	return &types.Unknown{Why: "the editor does not run Python"}
}

// docstring returns the triple-quoted string at the start of lines, without its indentation.
func docstring(lines []string) string {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	for _, quotes := range []string{`"""`, "'''"} {
		if body, ok := strings.CutPrefix(text, quotes); ok {
			doc, _, _ := strings.Cut(body, quotes)
			out := strings.Split(doc, "\n")
			for i := range out {
				out[i] = strings.TrimSpace(out[i])
			}
			return strings.TrimSpace(strings.Join(out, "\n"))
		}
	}
	return ""
}
