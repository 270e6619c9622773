package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/lang/types"
)

type builtinCall = func(s *state, a []types.Value) (types.Value, error)

// makeStringMethods returns the methods of strings.
func makeStringMethods() map[string]builtin {
	m := map[string]builtin{
		"format": {
			params: "self, *args, **kwargs",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.formatted(a[0], a[1].(*Tuple).items, a[2])
			},
		},
		"format_map": {
			params: "self, mapping",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.formatted(a[0], nil, a[1])
			},
		},
		"join": {params: "self, values", call: joinMethod},
		"split": {
			params: "self, sep=none, maxsplit=-1",
			call:   func(_ *state, a []types.Value) (types.Value, error) { return split(a, false) },
		},
		"rsplit": {
			params: "self, sep=none, maxsplit=-1",
			call:   func(_ *state, a []types.Value) (types.Value, error) { return split(a, true) },
		},
		"splitlines": {params: "self, keepends=false", call: splitlinesMethod},
		"strip": {
			params: "self, chars=none",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return strip(a[0], a[1], strings.Trim)
			},
		},
		"lstrip": {
			params: "self, chars=none",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return strip(a[0], a[1], strings.TrimLeft)
			},
		},
		"rstrip": {
			params: "self, chars=none",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return strip(a[0], a[1], strings.TrimRight)
			},
		},
		"replace": {params: "self, old, new, count=-1", call: replaceMethod},
		"startswith": {
			params: "self, prefix, start=none, end=none",
			call:   affixed(strings.HasPrefix),
		},
		"endswith": {
			params: "self, suffix, start=none, end=none",
			call:   affixed(strings.HasSuffix),
		},
		"find": {
			params: "self, sub, start=none, end=none",
			call:   finding(strings.Index, false),
		},
		"rfind": {
			params: "self, sub, start=none, end=none",
			call:   finding(strings.LastIndex, false),
		},
		"index": {
			params: "self, sub, start=none, end=none",
			call:   finding(strings.Index, true),
		},
		"rindex": {
			params: "self, sub, start=none, end=none",
			call:   finding(strings.LastIndex, true),
		},
		"count":  {params: "self, sub, start=none, end=none", call: countMethod},
		"zfill":  {params: "self, width", call: zfillMethod},
		"center": {params: "self, width, fillchar=' '", call: padding('C')},
		"ljust":  {params: "self, width, fillchar=' '", call: padding('l')},
		"rjust":  {params: "self, width, fillchar=' '", call: padding('r')},
		"partition": {
			params: "self, sep",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return partition(a, strings.Index)
			},
		},
		"rpartition": {
			params: "self, sep",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return partition(a, strings.LastIndex)
			},
		},
		"expandtabs":   {params: "self, tabsize=8", call: expandtabsMethod},
		"removeprefix": {params: "self, prefix", call: trimming(strings.TrimPrefix)},
		"removesuffix": {params: "self, suffix", call: trimming(strings.TrimSuffix)},
	}
	for name, f := range map[string]func(string) string{
		"upper": upper, "lower": lower, "capitalize": capitalized, "title": pythonTitle,
		"swapcase": swapcase, "casefold": casefold,
	} {
		m[name] = builtin{
			params: "self",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				text, _ := stringOf(a[0])
				return like(a[0], f(text)), nil
			},
		}
	}
	for name, f := range map[string]func(string) bool{
		"isdigit": every(isDigit), "isdecimal": every(unicode.IsDigit),
		"isnumeric": every(unicode.IsNumber), "isalpha": every(unicode.IsLetter),
		"isspace": every(unicode.IsSpace),
		"isalnum": every(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"isupper": isUpper, "islower": isLower, "istitle": isTitle,
		"isascii": func(t string) bool {
			return t == "" || every(func(r rune) bool { return r < 0x80 })(t)
		}, "isidentifier": isIdentifier,
		"isprintable": func(t string) bool { return t == "" || every(unicode.IsPrint)(t) },
	} {
		m[name] = builtin{
			params: "self",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				text, _ := stringOf(a[0])
				return f(text), nil
			},
		}
	}
	return m
}

func every(f func(rune) bool) func(string) bool {
	return func(text string) bool {
		return text != "" && strings.IndexFunc(text, func(r rune) bool { return !f(r) }) < 0
	}
}

// isDigit includes superscript and subscript digits, which are not decimals.
func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("¹²³⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
}

func isUpper(text string) bool {
	return strings.ToUpper(text) == text && strings.ToLower(text) != text
}

func isLower(text string) bool {
	return strings.ToLower(text) == text && strings.ToUpper(text) != text
}

func isTitle(text string) bool {
	return pythonTitle(text) == text && strings.IndexFunc(text, unicode.IsLetter) >= 0
}

func isIdentifier(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && !unicode.IsDigit(r) && every(isWord)(text)
}

// pythonTitle capitalizes each run of letters.
func pythonTitle(text string) string {
	var b strings.Builder
	letter := false
	chars := []rune(text)
	for i, r := range chars {
		switch {
		case letter:
			b.WriteString(lowerAt(chars, i))
		default:
			b.WriteString(title(r))
		}
		letter = unicode.IsLetter(r)
	}
	return b.String()
}

func swapcase(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			b.WriteString(lower(string(r)))
		default:
			b.WriteString(upper(string(r)))
		}
	}
	return b.String()
}

func casefold(text string) string { return strings.ReplaceAll(lower(text), "ß", "ss") }

func textArg(what string, v types.Value) (string, error) {
	if u := isUndefined(v); u != nil {
		return "", u.err()
	}
	text, ok := stringOf(v)
	if !ok {
		return "", failf("%s is a string, not %s", what, kindOf(v))
	}
	return text, nil
}

func replaceMethod(_ *state, a []types.Value) (types.Value, error) {
	text, _ := stringOf(a[0])
	before, err := textArg("the text to replace", a[1])
	if err != nil {
		return nil, err
	}
	after, err := textArg("the replacement", a[2])
	if err != nil {
		return nil, err
	}
	n, err := whole("the count", a[3])
	if err != nil {
		return nil, err
	}
	if _, ok := a[2].(Markup); !ok {
		if _, ok := a[0].(Markup); ok {
			after = escaper.Replace(after)
		}
	}
	out, err := replaced(text, before, after, n)
	return like(a[0], out), err
}

// part returns the part of a text between two positions, and its start, counted in characters.
func part(v, from, to types.Value) (string, int, error) {
	text, _ := stringOf(v)
	r := []rune(text)
	var bounds [2]int
	for i, b := range []types.Value{from, to} {
		p, err := bound(b)
		if err != nil {
			return "", 0, err
		}
		bounds[i] = i * len(r)
		if p != nil {
			bounds[i] = *p
			if *p < 0 {
				bounds[i] = max(0, *p+len(r))
			}
		}
	}
	if bounds[0] > len(r) || bounds[0] > bounds[1] {
		return "", -1, nil
	}
	return string(r[bounds[0]:min(bounds[1], len(r))]), bounds[0], nil
}

func affixed(has func(string, string) bool) builtinCall {
	return func(_ *state, a []types.Value) (types.Value, error) {
		text, at, err := part(a[0], a[2], a[3])
		if err != nil {
			return nil, err
		}
		tried := []types.Value{a[1]}
		if t, ok := a[1].(*Tuple); ok {
			tried = t.items
		}
		for _, v := range tried {
			affix, err := textArg("the prefix or suffix", v)
			if err != nil {
				return nil, err
			}
			if at >= 0 && has(text, affix) {
				return true, nil
			}
		}
		return false, nil
	}
}

func finding(index func(string, string) int, must bool) builtinCall {
	return func(_ *state, a []types.Value) (types.Value, error) {
		text, at, err := part(a[0], a[2], a[3])
		if err != nil {
			return nil, err
		}
		sub, err := textArg("the text to find", a[1])
		if err != nil {
			return nil, err
		}
		i := index(text, sub)
		switch {
		case i >= 0 && at >= 0:
			return int64(at + runes(text[:i])), nil
		case must:
			return nil, failf("%q is not in the string", sub)
		}
		return int64(-1), nil
	}
}

func countMethod(_ *state, a []types.Value) (types.Value, error) {
	text, at, err := part(a[0], a[2], a[3])
	if err != nil {
		return nil, err
	}
	sub, err := textArg("the text to count", a[1])
	if at < 0 {
		return int64(0), err
	}
	return int64(strings.Count(text, sub)), err
}

func zfillMethod(_ *state, a []types.Value) (types.Value, error) {
	text, _ := stringOf(a[0])
	n, err := whole("the width", a[1])
	if err != nil {
		return nil, err
	}
	sign := ""
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		sign, text = text[:1], text[1:]
	}
	out, err := padded(text, n-len(sign), "0", 'r')
	if err != nil {
		return nil, err
	}
	return like(a[0], sign+out.(string)), nil
}

func padding(side byte) builtinCall {
	return func(_ *state, a []types.Value) (types.Value, error) {
		text, _ := stringOf(a[0])
		n, err := whole("the width", a[1])
		if err != nil {
			return nil, err
		}
		fill, err := textArg("the fill", a[2])
		if err != nil {
			return nil, err
		}
		if runes(fill) != 1 {
			return nil, failf("the fill is one character, not %q", fill)
		}
		out, err := padded(text, n, fill, side)
		if err != nil {
			return nil, err
		}
		return like(a[0], out.(string)), nil
	}
}

// padded pads a text to a width: left-justified (l), right-justified (r) or centered. The side of
// an odd blank is the same as in Python's center().
func padded(text string, width int, fill string, side byte) (types.Value, error) {
	if width > maxOutput/4 {
		return nil, limitf("a string becomes longer than %d bytes", maxOutput)
	}
	n := width - runes(text)
	if n <= 0 {
		return text, nil
	}
	switch side {
	case 'l':
		return text + strings.Repeat(fill, n), nil
	case 'r':
		return strings.Repeat(fill, n) + text, nil
	}
	left := n/2 + n&width&1
	return strings.Repeat(fill, left) + text + strings.Repeat(fill, n-left), nil
}

func partition(a []types.Value, index func(string, string) int) (types.Value, error) {
	text, _ := stringOf(a[0])
	sep, err := textArg("the separator", a[1])
	if err != nil {
		return nil, err
	}
	if sep == "" {
		return nil, failf("the separator of partition is empty")
	}
	three := func(x, y, z string) types.Value {
		return &Tuple{items: []types.Value{like(a[0], x), like(a[0], y), like(a[0], z)}}
	}
	i := index(text, sep)
	switch {
	case i >= 0:
		return three(text[:i], sep, text[i+len(sep):]), nil
	case index("aa", "a") == 0:
		return three(text, "", ""), nil
	}
	return three("", "", text), nil
}

func expandtabsMethod(_ *state, a []types.Value) (types.Value, error) {
	text, _ := stringOf(a[0])
	size, err := whole("the size of a tab", a[1])
	if err != nil {
		return nil, err
	}
	if size > 1000 {
		return nil, failf("the size of a tab is more than 1000")
	}
	var b strings.Builder
	column := 0
	for _, r := range text {
		switch {
		case r == '\t' && size > 0:
			n := size - column%size
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case r == '\t':
		default:
			b.WriteRune(r)
			column++
			if r == '\n' || r == '\r' {
				column = 0
			}
		}
	}
	return like(a[0], b.String()), nil
}

func trimming(trim func(string, string) string) builtinCall {
	return func(_ *state, a []types.Value) (types.Value, error) {
		text, _ := stringOf(a[0])
		affix, err := textArg("the text to remove", a[1])
		return like(a[0], trim(text, affix)), err
	}
}
