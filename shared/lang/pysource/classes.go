package pysource

import (
	"slices"
	"strings"
)

// Class is a dataclass, or one that may be: it has a decorator that is not known.
type Class struct {
	Name   string
	Doc    string
	Fields []Field // also those of the dataclasses of the file that it extends
	Frozen bool
	// Sure says that it is a dataclass, with these fields and no others.
	Sure bool
	At   int // where its name is, in bytes
}

// Field is a field of a dataclass.
type Field struct {
	Name string
	Type string // as models write it
}

// dataclasses returns the dataclasses that a file defines for others. lines are those of its text.
func dataclasses(text string, lines [][]token) []Class {
	r := &classes{lines: lines, names: dataclassNames{}, known: map[string]*Class{}}
	r.column = make([]int, len(lines))
	var all []string
	for i, line := range lines {
		r.column[i] = line[0].at - (strings.LastIndexByte(text[:line[0].at], '\n') + 1)
		r.names.read(line)
		if isClass(line) {
			all = append(all, line[1].text)
		}
	}
	r.types = typesOf(all)
	r.read()
	out := make([]Class, len(r.found))
	for i, c := range r.found {
		out[i] = *c
	}
	return out
}

// isClass reports whether a line begins a class.
func isClass(line []token) bool {
	return len(line) > 2 && line[0].kind == word && line[0].text == "class" && line[1].kind == word
}

// dataclassNames are what a file calls the decorator: its name, or dataclasses with a dot.
type dataclassNames map[string]bool

// read notes what a line imports.
func (m dataclassNames) read(line []token) {
	words := make([]string, len(line))
	for i, t := range line {
		words[i] = t.text
	}
	text := strings.Join(words, " ")
	if list, ok := strings.CutPrefix(text, "from dataclasses import "); ok {
		for _, one := range strings.Split(strings.Trim(list, "() "), ",") {
			switch f := strings.Fields(one); {
			case len(f) == 1 && f[0] == "dataclass":
				m["dataclass"] = true
			case len(f) == 3 && f[0] == "dataclass" && f[1] == "as":
				m[f[2]] = true
			}
		}
	}
	list, ok := strings.CutPrefix(text, "import ")
	for _, one := range strings.Split(list, ",") {
		switch f := strings.Fields(one); {
		case ok && len(f) == 1 && f[0] == "dataclasses":
			m["dataclasses.dataclass"] = true
		case ok && len(f) == 3 && f[0] == "dataclasses" && f[1] == "as":
			m[f[2]+".dataclass"] = true
		}
	}
}

// classes reads the classes of a file.
type classes struct {
	lines  [][]token
	column []int // in which lines begin
	names  dataclassNames
	types  typeNames
	known  map[string]*Class // all classes; those that are not dataclasses have no name
	found  []*Class
}

func (r *classes) read() {
	var pending [][]token
	within := -1 // the column of the function or class in whose body a line is; -1: in none
	for i, line := range r.lines {
		if within >= 0 && r.column[i] > within {
			continue
		}
		within = -1
		first := line[0]
		switch {
		case first.kind == sign && first.text == "@":
			pending = append(pending, line[1:])
			continue
		case function(line) != nil:
			within = r.column[i]
		case isClass(line):
			within = r.column[i]
			r.class(i, pending)
		}
		pending = nil
	}
}

// class reads the class that begins in a line.
func (r *classes) class(i int, decorators [][]token) {
	line := r.lines[i]
	c := &Class{Name: line[1].text, At: line[1].at, Sure: true}
	is := r.decorated(c, decorators)
	for _, base := range slices.Backward(r.bases(line[2:])) {
		is = r.inherit(c, base) || is
	}
	if is {
		r.body(c, i)
		r.found = append(r.found, c)
	}
	r.known[c.Name] = c
	if !is {
		r.known[c.Name] = &Class{}
	}
}

// decorated reads decorators, and reports whether one of them makes a dataclass, or may.
func (r *classes) decorated(c *Class, decorators [][]token) bool {
	is, other := false, false
	for _, line := range decorators {
		if d := decorated(line); !r.names[d.name] {
			other = true
			continue
		}
		is = true
		for _, arg := range split(inside(line[len(until(line, "(")):]), ",") {
			if len(arg) == 3 && arg[0].text == "frozen" && arg[1].text == "=" {
				c.Frozen = arg[2].text == "True"
			}
		}
	}
	if other && !is { // it may make anything
		c.Frozen, c.Sure = true, false
	}
	return is || other
}

// bases returns the classes that a class extends, behind its name.
func (r *classes) bases(tokens []token) [][]token {
	if tokens[0].text != "(" {
		return nil
	}
	return slices.DeleteFunc(split(inside(tokens), ","), func(base []token) bool {
		return len(base) > 1 && base[1].text == "=" // a keyword
	})
}

// inherit takes the fields of a base, and reports whether that makes a dataclass.
func (r *classes) inherit(c *Class, base []token) bool {
	name := ""
	for _, t := range base {
		if t.text == "[" {
			break
		}
		name += t.text
	}
	_, last, _ := cutLast(name)
	from, known := r.known[name]
	switch {
	case known && from.Name != "":
		for _, f := range from.Fields {
			c.field(f)
		}
		c.Frozen, c.Sure = c.Frozen || from.Frozen, c.Sure && from.Sure
		return true
	case !known && !slices.Contains([]string{"object", "Generic", "Protocol", "ABC"}, last):
		c.Sure = false // it may have fields
	}
	return false
}

// body reads the fields of a class, and what it says of itself.
func (r *classes) body(c *Class, i int) {
	inner := -1
	for n := i + 1; n < len(r.lines) && r.column[n] > r.column[i]; n++ {
		line := r.lines[n]
		if inner < 0 {
			inner = r.column[n]
			if len(line) == 1 && line[0].kind == quoted {
				c.Doc = dedented(line[0].text)
			}
		}
		if r.column[n] != inner || len(line) < 3 || line[0].kind != word || line[1].text != ":" {
			continue
		}
		annotation := until(line[2:], "=")
		if !isKeyword(line[0].text) && !pseudo(annotation) {
			c.field(Field{Name: line[0].text, Type: r.types.of(annotation)})
		}
	}
}

// field adds a field. One of the same name that is inherited keeps its place.
func (c *Class) field(f Field) {
	for i := range c.Fields {
		if c.Fields[i].Name == f.Name {
			c.Fields[i] = f
			return
		}
	}
	c.Fields = append(c.Fields, f)
}

// isKeyword reports whether a statement that ends with a colon begins with a word.
func isKeyword(name string) bool {
	return slices.Contains([]string{"else", "try", "finally"}, name)
}

// pseudo reports whether an annotation says that a name is not a field.
func pseudo(annotation []token) bool {
	name := ""
	for _, t := range annotation {
		if t.kind == quoted {
			name, _, _ = strings.Cut(t.text, "[")
			break
		}
		if t.kind == sign && t.text != "." {
			break
		}
		name += t.text
	}
	_, last, _ := cutLast(strings.TrimSpace(name))
	return last == "ClassVar" || last == "InitVar" || last == "KW_ONLY"
}
