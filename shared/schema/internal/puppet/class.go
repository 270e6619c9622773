package puppet

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
)

// class translates [...].
func (t *translator) class() {
	t.inClass = true
	defer func() { t.inClass = false }()
	t.write("[")
	t.i++
	if strings.HasPrefix(t.rest(0), "^") {
		t.write("^")
		t.i++
	}
	if rest := t.rest(0); strings.HasPrefix(rest, "]") {
		if strings.Count(rest, "]") == 1 {
			t.refuse("it has empty brackets")
		}
		t.write(`\]`) // an initial ] is a literal character
		t.i++
	}
	for t.err == nil {
		rest := t.rest(0)
		switch {
		case rest == "":
			t.refuse("a [ has no ]")
		case rest[0] == ']':
			t.write("]")
			t.i++
			return
		case strings.HasPrefix(rest, "&&"):
			t.refuse("it has && in brackets, which cannot be run")
		case strings.HasPrefix(rest, "[:"):
			t.posix(rest)
		case rest[0] == '[':
			t.refuse("it has brackets in brackets; write \\[ for the character")
		case rest[0] == '\\':
			t.classEscape()
		default:
			t.write(rest[:1])
			t.i++
		}
	}
}

func (t *translator) classEscape() {
	rest := t.rest(1)
	if rest == "" {
		t.refuse("a [ has no ]")
		return
	}
	text, ok := map[byte]string{'h': `0-9a-fA-F`, 's': `\s\v`,
		'S': `\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{10FFFF}`, 'e': `\x1b`, 'b': `\x08`,
		'/': `/`}[rest[0]]
	switch c := rest[0]; {
	case ok:
		t.write(text)
		t.i += 2
	case c == 'H':
		t.write(complement(`0-9a-fA-F`))
		t.i += 2
	case c == 'R', notRuby(rest) != "":
		t.refuse(`it has \%c in brackets, which cannot be run`, c)
	case c == 'A', c == 'z', c == 'Z', c == 'B':
		t.write(string(c))
		t.i += 2
	default:
		t.common(rest)
	}
}

// posix translates [:alpha:] and similar classes.
func (t *translator) posix(rest string) {
	name, _, ok := strings.Cut(rest[2:], ":]")
	plain, negated := strings.CutPrefix(name, "^")
	text := classOf(plain)
	if !ok || text == "" {
		t.refuse("[:%.20s:] cannot be run", name)
		return
	}
	if negated {
		text = complement(text)
	}
	t.write(text)
	t.i += len(name) + 4
}

// property translates \p{Name}, \p{^Name} and \P{Name}, where Name is a class such as Alpha, a
// script or a category.
func (t *translator) property(rest string) {
	name, _, ok := strings.Cut(strings.TrimPrefix(rest[1:], "{"), "}")
	if !ok || !strings.HasPrefix(rest[1:], "{") {
		t.refuse(`\%c without {…}`, rest[0])
		return
	}
	plain, negated := strings.CutPrefix(name, "^")
	not := negated != (rest[0] == 'P')
	text := classOf(strings.ToLower(plain))
	switch {
	case text == "" && not:
		text = `\P{` + plain + "}"
	case text == "":
		text = `\p{` + plain + "}"
	case not:
		text = complement(text)
	}
	if !t.inClass {
		text = "[" + text + "]"
	}
	t.write(text)
	t.i += len(name) + 4
}

// classOf returns the content of brackets for a POSIX class, which covers all of Unicode in Ruby.
// It returns "" for an unknown name.
func classOf(name string) string {
	switch name {
	case "alpha":
		return `\p{L}\p{Nl}` + ranges(unicode.Other_Alphabetic)
	case "alnum":
		return `\p{L}\p{Nl}\p{Nd}` + ranges(unicode.Other_Alphabetic)
	case "upper":
		return `\p{Lu}` + ranges(unicode.Other_Uppercase)
	case "lower":
		return `\p{Ll}` + ranges(unicode.Other_Lowercase)
	}
	return map[string]string{
		"digit": `\p{Nd}`, "space": `\s\v\x{85}\p{Z}`, "blank": ` \t\p{Zs}`,
		"punct": `\p{P}$+<=>^` + "`" + `|~`, "cntrl": `\p{Cc}`,
		"xdigit": `0-9a-fA-F`, "word": `\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}`, "ascii": `\x00-\x7f`,
		"print": `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\p{Cf}\p{Co}`,
		"graph": `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}`,
	}[name]
}

// ranges writes a table of characters as the content of brackets.
func ranges(table *unicode.RangeTable) string {
	var b strings.Builder
	write := func(lo, hi, stride rune) {
		for r := lo; stride > 1 && r <= hi; r += stride {
			fmt.Fprintf(&b, `\x{%x}`, r)
		}
		if stride == 1 {
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, lo, hi)
		}
	}
	for _, r := range table.R16 {
		write(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		write(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return b.String()
}

// complement returns the ranges of all characters that are not in a class, as the content of
// brackets.
func complement(class string) string {
	re, err := syntax.Parse("[^"+class+"]", syntax.Perl)
	if err != nil {
		return "" // cannot happen: the classes are constants of this file
	}
	var b strings.Builder
	for i := 0; i+1 < len(re.Rune); i += 2 {
		fmt.Fprintf(&b, `\x{%x}-\x{%x}`, re.Rune[i], re.Rune[i+1])
	}
	return b.String()
}
