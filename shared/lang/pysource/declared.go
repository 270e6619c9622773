package pysource

import (
	"slices"
	"strings"
)

// Plugin is a declaration of a plugin.
type Plugin struct {
	Name       string // without its namespace
	Doc        string
	Params     []Param
	Rest       *Param // *args
	Named      *Param // **kwargs
	Result     string
	Deprecated bool
	ReplacedBy string
	At         int // where the name of the function is, in bytes
	Function   string
}

// Param is a parameter.
type Param struct {
	Name     string
	Type     string // as models write it
	Optional bool
	Default  string // as Python writes it, if it is a plain value
	ByName   bool   // it can only be given by its name
}

// decorator is a line such as @plugin("name").
type decorator struct {
	name  string // with dots
	first string // a string that is its first argument
	named map[string]string
}

// File is what a Python file has for models.
type File struct {
	Plugins []Plugin
	Classes []Class
}

// Read returns what a Python file has for models, in order.
func Read(text string) File {
	lines := scan(text)
	out := File{Classes: dataclasses(text, lines)}
	types := typesOf(nil)
	for _, c := range out.Classes {
		types.add(c.Name)
	}
	out.Plugins = plugins(lines, types)
	return out
}

// plugins returns the plugins that a file declares.
func plugins(lines [][]token, types typeNames) []Plugin {
	var out []Plugin
	var pending []decorator
	known := imports{"plugin": "plugin", "deprecated": "deprecated"}
	for i, line := range lines {
		known.read(line)
		if line[0].text == "@" && line[0].kind == sign {
			pending = append(pending, decorated(line[1:]))
			continue
		}
		if def := function(line); def != nil {
			if p, ok := declaration(def, pending, known, types); ok {
				if i+1 < len(lines) && len(lines[i+1]) == 1 && lines[i+1][0].kind == quoted {
					p.Doc = dedented(lines[i+1][0].text)
				}
				out = append(out, p)
			}
		}
		pending = nil
	}
	return out
}

// imports are names of a file by what they are in inmanta.plugins.
type imports map[string]string

// read notes what a line imports: `from inmanta.plugins import plugin as p`.
func (m imports) read(line []token) {
	var b strings.Builder
	for _, t := range line {
		if b.WriteString(t.text); t.kind == word {
			b.WriteByte(' ')
		}
	}
	_, list, ok := strings.Cut(b.String(), "from inmanta .plugins import ")
	if !ok {
		return
	}
	for _, one := range strings.Split(strings.Trim(list, "()"), ",") {
		switch f := strings.Fields(one); {
		case len(f) == 1:
			m[f[0]] = f[0]
		case len(f) == 3 && f[1] == "as":
			m[f[2]] = f[0]
		}
	}
}

// means reports whether a decorator is one of inmanta.plugins.
func (m imports) means(d decorator, what string) bool {
	if before, last, dotted := cutLast(d.name); dotted {
		return last == what && (before == "plugins" || strings.HasSuffix(before, ".plugins"))
	}
	return m[d.name] == what
}

func cutLast(name string) (before, last string, dotted bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// decorated reads a decorator behind its @.
func decorated(line []token) decorator {
	d := decorator{named: map[string]string{}}
	n := 0
	for n < len(line) && (line[n].kind == word || line[n].text == ".") {
		d.name += line[n].text
		n++
	}
	if n >= len(line) || line[n].text != "(" {
		return d
	}
	for i, arg := range split(inside(line[n:]), ",") {
		switch {
		case len(arg) == 1 && arg[0].kind == quoted && i == 0:
			d.first = arg[0].text
		case len(arg) == 3 && arg[1].text == "=" && arg[2].kind == quoted:
			d.named[arg[0].text] = arg[2].text
		}
	}
	return d
}

// function returns a line behind its def; nil if it is none.
func function(line []token) []token {
	if line[0].text == "async" && line[0].kind == word {
		line = line[1:]
	}
	if len(line) < 3 || line[0].kind != word || line[0].text != "def" || line[1].kind != word {
		return nil
	}
	return line[1:]
}

// declaration returns the plugin that a function with decorators is; false if it is none.
func declaration(
	def []token, pending []decorator, known imports, types typeNames,
) (Plugin, bool) {
	p := Plugin{Name: def[0].text, Function: def[0].text, At: def[0].at}
	found := false
	for _, d := range pending {
		switch {
		case known.means(d, "plugin"):
			found = true
			for _, name := range []string{d.first, d.named["name"]} {
				if name != "" {
					p.Name = name
				}
			}
		case known.means(d, "deprecated"):
			p.Deprecated, p.ReplacedBy = true, d.named["replaced_by"]
		}
	}
	if !found {
		return p, false
	}
	args := inside(def[1:])
	p.params(split(args, ","), types)
	if rest := def[min(len(def), 1+len(args)+2):]; len(rest) > 2 && rest[0].text == "-" {
		p.Result = types.of(until(rest[2:], ":"))
	}
	return p, true
}

// params reads parameters. The context of a call is not an argument in models.
func (p *Plugin) params(list [][]token, types typeNames) {
	byName := false
	for _, one := range list {
		stars := 0
		for stars < len(one) && one[stars].text == "*" {
			stars++
		}
		if one = one[stars:]; len(one) == 0 || one[0].kind != word {
			byName = byName || stars == 1
			continue
		}
		q := param(one, types)
		q.ByName = byName
		switch {
		case stars == 2: // **kwargs
			p.Named = &q
		case stars == 1:
			p.Rest, byName = &q, true
		case q.Type != contextType:
			p.Params = append(p.Params, q)
		}
	}
}

func param(tokens []token, types typeNames) Param {
	q := Param{Name: tokens[0].text, Type: anyType}
	left := until(tokens[1:], "=")
	if len(left) > 1 && left[0].text == ":" {
		q.Type = types.of(left[1:])
	}
	if behind := tokens[1+len(left):]; len(behind) > 1 {
		q.Optional, q.Default = true, plain(behind[1:])
	}
	return q
}

// plain returns a value as Python writes it; "" for one that is not plain.
func plain(tokens []token) string {
	switch {
	case len(tokens) == 1 && tokens[0].kind == quoted:
		return `"` + tokens[0].text + `"`
	case len(tokens) > 4: // a sign, digits, a point and digits
		return ""
	}
	out := ""
	for _, t := range tokens {
		out += t.text
	}
	return out
}

// inside returns what stands between the bracket that is first and the one that closes it.
func inside(tokens []token) []token {
	depth := 0
	for i, t := range tokens {
		depth += level(t)
		if depth == 0 {
			if i == 0 {
				return nil
			}
			return tokens[1:i]
		}
	}
	return tokens[min(1, len(tokens)):]
}

// until returns what stands before a sign that is in no brackets.
func until(tokens []token, end string) []token {
	depth := 0
	for i, t := range tokens {
		if depth == 0 && t.kind == sign && t.text == end {
			return tokens[:i]
		}
		depth += level(t)
	}
	return tokens
}

// split splits tokens at signs that are in no brackets. Empty parts are left out.
func split(tokens []token, at string) [][]token {
	var out [][]token
	for len(tokens) > 0 {
		part := until(tokens, at)
		if len(part) > 0 {
			out = append(out, part)
		}
		tokens = tokens[min(len(part)+1, len(tokens)):]
	}
	return out
}

func level(t token) int {
	switch {
	case t.kind != sign:
		return 0
	case strings.Contains("([{", t.text):
		return 1
	case strings.Contains(")]}", t.text):
		return -1
	}
	return 0
}

// dedented returns a docstring without the indentation of its lines.
func dedented(doc string) string {
	lines := strings.Split(strings.ReplaceAll(doc, "\t", "        "), "\n")
	least := -1
	for _, l := range lines[1:] {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" &&
			(least < 0 || n < least) {
			least = n
		}
	}
	for i, l := range lines {
		if i > 0 && least > 0 && len(l) >= least {
			l = l[least:]
		}
		lines[i] = strings.TrimRight(l, " \r")
	}
	return strings.TrimSpace(strings.Join(slices.Clip(lines), "\n"))
}
