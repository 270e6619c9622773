package project_test

import "strings"

// soup makes a model of operators, calls and texts over values of all types, right or wrong: what
// they mean to each other is most of what is left of Python in the language.
func (g *generator) soup() {
	g.line("entity A:")
	g.line("    string n = \"a\"")
	g.line("end")
	g.line("A.many [0:] -- A.one [0:1]")
	g.line("implement A using std::none")
	g.line("unknown = std::get_env(\"SOUTHBOUND_NO_SUCH_VARIABLE\")")
	g.line("object = A(n=\"o\", many=A())")
	for range 2 + g.r.IntN(3) {
		g.line("%s = %s", g.variable(), g.anything(1+g.r.IntN(2)))
	}
	switch last := "a" + string(rune('0'+g.fresh)); g.r.IntN(4) {
	case 0:
		g.line("for x in %s:", last)
		g.line("    std::print(x)")
		g.line("end")
	case 1:
		g.line("if %s:", last)
		g.line("    std::print(%s)", last)
		g.line("end")
	case 2:
		g.line("std::print(%s)", last)
	}
}

// variable returns a name that anything knows of.
func (g *generator) variable() string { return g.name("a") }

// anything returns an expression of any type.
func (g *generator) anything(depth int) string {
	if depth <= 0 || g.chance(6) {
		return g.atom()
	}
	sub := func() string { return g.anything(depth - 1) }
	switch g.r.IntN(12) {
	case 0, 1, 2:
		return "(" + sub() + g.one(" + ", " - ", " * ", " / ", " % ", " ** ") + sub() + ")"
	case 3:
		return "(" + sub() + g.one(" < ", " <= ", " > ", " >= ", " == ", " != ") + sub() + ")"
	case 4:
		return "(" + sub() + g.one(" in ", " not in ", " and ", " or ") + sub() + ")"
	case 5:
		return "(not " + sub() + ")"
	case 6:
		return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
	case 7:
		return g.one("int", "float", "string", "bool", "number") + "(" + sub() + ")"
	case 8:
		return g.called(sub)
	case 9:
		return g.one("["+sub()+", "+sub()+"]", `{"k": `+sub()+"}", "["+sub()+"]")
	case 10:
		return "[" + g.one("x", "[x]", "x == 1", sub()) + " for x in " + sub() +
			g.one("", " if x != 1", " if "+sub()) + "]"
	}
	return g.inText()
}

// called returns a call of a plugin.
func (g *generator) called(sub func() string) string {
	name := g.one("count", "len", "flatten", "unique", "upper", "is_unknown", "json_dumps",
		"sequence", "at", "limit", "split", "replace", "capitalize", "dict_keys", "format",
		"hostname", "length", "isset", "inlineif")
	switch name {
	case "at", "limit", "split":
		return "std::" + name + "(" + sub() + ", " + sub() + ")"
	case "replace", "inlineif":
		return "std::" + name + "(" + sub() + ", " + sub() + ", " + sub() + ")"
	case "format":
		return `std::format("{} {0!r:>4}"` + ", " + sub() + ")"
	}
	return "std::" + name + "(" + sub() + ")"
}

// earlier returns a variable that there is, of any type.
func (g *generator) earlier() string {
	names := []string{"unknown", "object", "object.n", "object.many", "object.one"}
	for i := 1; i < g.fresh; i++ {
		names = append(names, "a"+string(rune('0'+i)))
	}
	return g.one(names...)
}

func (g *generator) inText() string {
	v := g.earlier()
	return g.one(`"<{{ `+v+` }}>"`, `f"{`+v+`}"`, `f"{`+v+g.one("!r", "!s", "")+":"+
		g.one(">6", "<4", "^7", "05", "+", ",", ".2f", ".3", "d", "x", "e", "s", "%", "#o", "*^9")+
		`}"`)
}

// atom returns a value as it is written, or a variable.
func (g *generator) atom() string {
	if g.chance(3) {
		return g.earlier()
	}
	return g.one("0", "1", "2", "-3", "12", "99999999999999999999", "0.0", "1.0", "-1.5", "2.25",
		"0.1", "true", "false", "null", `""`, `"a"`, `"abc"`, `"1"`, `"2.5"`, `"true"`, "[]", "[1]",
		"[1, 2, 1]", `["a", "b"]`, "[null, true, 1.5]", "{}", `{"a": 1}`, `{"a": [1], "b": null}`,
		`r"\d"`, `'it"s'`, `"`+strings.Repeat("x", 9)+`\n"`)
}
