package project_test

import (
	"fmt"
	"strings"
)

// literal returns a value of a type.
func (g *generator) literal(typ string) string {
	if g.mistake() {
		return g.one(`"wrong"`, "true", "1.5", "null", "[1]", "{}")
	}
	switch strings.TrimSuffix(typ, "?") {
	case "int":
		return g.one("0", "1", "2", "7", "-3", "12")
	case "small":
		return g.one("1", "2", "3", "5", "8")
	case "string", "word":
		return g.one(`"a"`, `"b"`, `"abc"`, `"x"`, "'c'")
	case "bool":
		return g.one("true", "false")
	case "float":
		return g.one("1.5", "0.0", "2.0", "-1.25")
	case "int[]":
		return g.one("[]", "[1]", "[1, 2, 2]")
	case "list":
		return g.one("[]", `[1, "a"]`, "[null]", "[true]")
	case "dict":
		return g.one("{}", `{"a": 1}`, `{"a": [1, 2], "b": "x"}`)
	}
	return "1"
}

// find returns a variable of a type that is there; false if there is none.
func (g *generator) find(typ string) (string, bool) {
	var found []string
	for _, v := range g.vars {
		if v.kind == nil && v.typ == typ {
			found = append(found, v.name)
		}
		if v.kind != nil {
			for _, a := range v.kind.all() {
				if a.typ == typ {
					found = append(found, v.name+"."+a.name)
				}
			}
		}
	}
	if len(found) == 0 {
		return "", false
	}
	return g.one(found...), true
}

// instance returns a variable that holds an instance of an entity; false if there is none.
func (g *generator) instance(of *kindOf) (string, bool) {
	var found []string
	for _, v := range g.vars {
		for k := v.kind; k != nil; k = k.parent {
			if k == of {
				found = append(found, v.name)
			}
		}
	}
	if len(found) == 0 {
		return "", false
	}
	return g.one(found...), true
}

// value returns an expression of a type.
func (g *generator) value(typ string, depth int) string {
	if g.mistake() {
		return g.one("nope", "self", "nope.x", "1 + \"a\"", "std::nope(1)", "[1][0]",
			`{"a": 1}["b"]`)
	}
	if depth <= 0 || g.chance(3) {
		if v, ok := g.find(typ); ok && !g.chance(3) {
			return v
		}
		return g.literal(typ)
	}
	if g.chance(5) {
		return fmt.Sprintf("(%s ? %s : %s)", g.value("bool", depth-1), g.value(typ, depth-1),
			g.value(typ, depth-1))
	}
	return g.computed(typ, depth)
}

// computed returns an operation that gives a value of a type.
func (g *generator) computed(typ string, depth int) string {
	sub := func(t string) string { return g.value(t, depth-1) }
	switch typ {
	case "int":
		return g.one(
			sub("int")+" + "+sub("int"),
			sub("int")+" * "+sub("int"),
			"std::count("+sub("int[]")+")",
			"int("+sub("float")+")",
			sub("int")+" % 7",
			"(2 ** 3) - "+sub("int")+" ",
			"int(\"12\")",
		)
	case "string":
		return g.text(depth)
	case "bool":
		return g.truth(depth)
	case "float":
		return g.one(
			sub("int")+" / 2",
			sub("float")+" + "+sub("int"),
			"float("+sub("int")+")",
			sub("float")+" * 2",
		)
	case "int[]":
		return g.one(
			"["+sub("int")+", "+sub("int")+"]",
			"["+sub("int")+", "+sub("int[]")+"]",
			"[i * 2 for i in "+sub("int[]")+"]",
			"[j for j in "+sub("int[]")+" if j > 1]",
			"[i + j for i in "+sub("int[]")+" for j in "+sub("int[]")+" if i != j]",
			"std::sequence(3)",
		)
	case "dict":
		return fmt.Sprintf(`{"k": %s, "l": %s}`, sub("int"), sub("string"))
	}
	return g.literal(typ)
}

func (g *generator) text(depth int) string {
	if v, ok := g.find("string"); ok && g.chance(2) {
		return g.one(`"<{{ `+v+` }}>"`, `f"{`+v+`:>4}"`, `f"{`+v+`}!"`)
	}
	for _, t := range []string{"int", "float", "bool", "int[]", "dict"} {
		if v, ok := g.find(t); ok && g.chance(2) {
			return g.one(`"v={{`+v+`}}"`, `f"{`+v+`}"`, `f"{ `+v+` !r}"`, "string("+v+")")
		}
	}
	return g.value("string", depth-1) + " + " + g.value("string", depth-1)
}

func (g *generator) truth(depth int) string {
	sub := func(t string) string { return g.value(t, depth-1) }
	switch g.r.IntN(7) {
	case 0:
		return sub("int") + g.one(" < ", " == ", " >= ", " != ") + sub("int")
	case 1:
		return sub("bool") + g.one(" and ", " or ") + sub("bool")
	case 2:
		return "not " + sub("bool")
	case 3:
		return sub("int") + g.one(" in ", " not in ") + sub("int[]")
	case 4:
		return sub("string") + " == " + sub("string")
	}
	for _, v := range g.vars {
		if v.kind == nil {
			continue
		}
		for _, r := range v.kind.relations() {
			if g.chance(2) {
				return v.name + "." + r.name + " is defined"
			}
		}
	}
	return sub("bool")
}

// construct returns a constructor.
func (g *generator) construct(k *kindOf, depth int) string {
	var args []string
	for _, a := range k.all() {
		if a.def != "" && g.chance(2) || g.mistake() {
			continue
		}
		args = append(args, a.name+"="+g.value(a.typ, depth))
	}
	for _, r := range k.relations() {
		switch needed := r.bounds == "1" || r.bounds == "1:"; {
		case needed && !g.chance(20), g.chance(4):
			if v, ok := g.instance(r.to); ok {
				args = append(args, r.name+"="+v)
			} else if depth > 0 {
				args = append(args, r.name+"="+g.construct(r.to, depth-2))
			}
		}
	}
	if g.mistake() {
		args = append(args, "nope=1")
	}
	if len(args) > 0 && g.chance(8) && !strings.HasPrefix(args[0], "r") {
		name, value, _ := strings.Cut(args[0], "=")
		args[0] = fmt.Sprintf(`**{"%s": %s}`, name, value)
	}
	return k.name + "(" + strings.Join(args, ", ") + ")"
}

func (g *generator) name(prefix string) string {
	g.fresh++
	return fmt.Sprintf("%s%d", prefix, g.fresh)
}

func (g *generator) implementations() {
	for _, k := range g.kinds {
		if g.chance(3) {
			g.line("implement %s using std::none", k.name)
			continue
		}
		name := "i" + strings.ToLower(k.name)
		g.line("implementation %s for %s:", name, k.name)
		outer := g.vars
		g.vars = []variable{{name: "self", kind: k}}
		for _, a := range k.all() {
			g.vars = append(g.vars, variable{name: a.name, typ: a.typ})
		}
		g.indent++
		for range g.r.IntN(3) {
			g.inner(k)
		}
		g.indent--
		g.vars = outer
		g.line("end")
		when := ""
		if g.chance(3) {
			for _, a := range k.all() {
				if a.typ == "bool" {
					when = " when " + a.name
				} else if a.typ == "int" {
					when = " when " + a.name + " > 1"
				}
			}
		}
		if when == "" && g.chance(4) && k.parent != nil {
			g.line("implement %s using %s, parents", k.name, name)
		} else {
			g.line("implement %s using %s%s", k.name, name, when)
		}
		if when != "" {
			g.line("implement %s using std::none", k.name)
		}
	}
}

// inner writes a statement of an implementation.
func (g *generator) inner(k *kindOf) {
	switch g.r.IntN(4) {
	case 0:
		g.line("std::print(%s)", g.text(1))
	case 1:
		g.assign()
	case 2:
		for _, r := range k.relations() {
			if r.many && r.to != k && r.to.parent != k && len(r.to.rels) == 0 {
				g.line("self.%s += %s", r.name, g.construct(r.to, 0))
				return
			}
		}
		g.line("std::print(%s)", g.value("int", 1))
	case 3:
		g.condition(k)
	}
}

func (g *generator) condition(k *kindOf) {
	g.line("if %s:", g.value("bool", 1))
	g.indent++
	outer := g.vars
	g.line("std::print(%s)", g.text(1))
	if k != nil && g.chance(2) {
		g.assign()
	}
	g.vars = outer
	g.indent--
	if g.chance(2) {
		g.line("%s:", g.one("else", "elif "+g.value("bool", 0)))
		g.indent++
		g.line("std::print(%s)", g.value("int", 1))
		g.indent--
	}
	g.line("end")
}

func (g *generator) assign() {
	typ := g.one("int", "string", "bool", "float", "int[]", "dict")
	name := g.name("v")
	g.line("%s = %s", name, g.value(typ, 2))
	g.vars = append(g.vars, variable{name: name, typ: typ})
	if g.mistake() {
		g.line("%s = %s", name, g.value(typ, 1))
	}
}

func (g *generator) main() {
	for range 2 + g.r.IntN(8) {
		g.statement()
	}
	if g.chance(3) { // an unknown value
		g.line("unknown = std::get_env(\"SOUTHBOUND_NO_SUCH_VARIABLE\")")
		g.line(
			"%s = %s",
			g.name("w"),
			g.one(
				"unknown + \"a\"",
				"[unknown, 1]",
				"\"{{unknown}}\"",
				"unknown == 1",
				"1 in [1, unknown]",
				"2 in [1, unknown]",
				"std::is_unknown(unknown)",
				"true or unknown",
				"unknown and true",
				"unknown is defined",
				"[x for x in unknown]",
				"unknown ? 1 : 2",
				"[x for x in [1, unknown] if x == 1]",
			),
		)
	}
}

func (g *generator) statement() {
	switch g.r.IntN(9) {
	case 0, 1:
		g.assign()
	case 2, 3, 4:
		k := g.kinds[g.r.IntN(len(g.kinds))]
		name := g.name("o")
		g.line("%s = %s", name, g.construct(k, 2))
		g.vars = append(g.vars, variable{name: name, kind: k})
	case 5:
		g.relate()
	case 6:
		g.loop()
	case 7:
		g.condition(nil)
	case 8:
		g.lookups()
	}
}

// relate sets a relation, or adds to it.
func (g *generator) relate() {
	for _, v := range g.vars {
		if v.kind == nil || g.chance(2) {
			continue
		}
		for _, r := range v.kind.relations() {
			if g.chance(2) {
				continue
			}
			value := ""
			if o, ok := g.instance(r.to); ok && !g.chance(3) {
				value = o
			} else {
				value = g.construct(r.to, 1)
			}
			switch {
			case r.many && g.chance(4):
				value = "[" + value + "]"
			case r.many && g.chance(6):
				value = g.one("[]", "null")
			case g.chance(8):
				value = fmt.Sprintf("(%s ? %s : %s)", g.value("bool", 1), value,
					g.construct(r.to, 1))
			}
			op := "="
			if r.many && g.chance(2) || g.mistake() {
				op = "+="
			}
			g.line("%s.%s %s %s", v.name, r.name, op, value)
			return
		}
	}
}

// loop writes a `for`, over a relation if there is one.
func (g *generator) loop() {
	over, kind, typ := g.value("int[]", 2), (*kindOf)(nil), "int"
	for _, v := range g.vars {
		if v.kind == nil {
			continue
		}
		for _, r := range v.kind.relations() {
			if r.many && g.chance(2) {
				over, kind, typ = v.name+"."+r.name, r.to, ""
			}
		}
	}
	if g.mistake() {
		over = g.one("3", "nope", `"abc"`)
	}
	name := g.name("x")
	g.line("for %s in %s:", name, over)
	outer := g.vars
	g.vars = append(append([]variable{}, g.vars...), variable{name: name, typ: typ, kind: kind})
	g.indent++
	for range 1 + g.r.IntN(2) {
		switch g.r.IntN(4) {
		case 0:
			g.condition(nil)
		case 1:
			g.assign()
		case 2:
			g.relate()
		}
		g.line("std::print(%s)", g.text(1))
	}
	g.indent--
	g.vars = outer
	g.line("end")
}

// lookups reads relations and indexes.
func (g *generator) lookups() {
	for _, k := range g.kinds {
		if len(k.index) > 0 && g.chance(2) {
			name := g.name("l")
			g.line("%s = %s[%s=%s]", name, k.name, k.index[0], g.value(k.attrs[0].typ, 0))
			g.vars = append(g.vars, variable{name: name, kind: k})
			return
		}
	}
	for _, v := range g.vars {
		if v.kind == nil {
			continue
		}
		for _, r := range v.kind.relations() {
			if !g.chance(3) {
				continue
			}
			path := v.name + "." + r.name
			switch {
			case r.many:
				g.line(
					"%s = %s",
					g.name("n"),
					g.one(
						"std::count("+path+")",
						path,
						"["+"y for y in "+path+"]",
						path+" == []",
						path+" is defined",
					),
				)
			case r.bounds == "0:1" && g.chance(2):
				g.line("%s = %s is defined", g.name("n"), path)
			default:
				name := g.name("n")
				g.line("%s = %s", name, path)
				g.vars = append(g.vars, variable{name: name, kind: r.to})
			}
			return
		}
	}
}
