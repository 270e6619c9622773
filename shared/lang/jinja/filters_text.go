package jinja

import (
	"strings"
	"unicode"

	"southbound/shared/lang/types"
)

func textFilters() map[string]builtin {
	plain := func(f func(string) string) builtin {
		return builtin{params: "s", call: func(s *state, a []types.Value) (types.Value, error) {
			text, err := s.str(a[0])
			return like(a[0], f(text)), err
		}}
	}
	return map[string]builtin{
		"capitalize": plain(capitalized),
		"lower":      plain(lower),
		"upper":      plain(upper),
		"title":      plain(titled),
		"trim":       {params: "value, chars=none", call: trimFilter},
		"center":     {params: "value, width=80", call: centerFilter},
		"format":     {params: "value, *args, **kwargs", call: formatFilter},
		"indent":     {params: "s, width=4, first=false, blank=false", call: indentFilter},
		"replace":    {params: "s, old, new, count=none", call: replaceFilter},
		"string":     {params: "value", call: stringFilter},
		"truncate": {
			params: "s, length=255, killwords=false, end='...', leeway=none",
			call:   truncateFilter,
		},
		"wordcount": {params: "s", call: wordcountFilter},
		"wordwrap": {
			params: "s, width=79, break_long_words=true, wrapstring=none, break_on_hyphens=true",
			call:   wordwrapFilter,
		},
	}
}

func capitalized(text string) string {
	if text == "" {
		return ""
	}
	chars := []rune(text)
	var b strings.Builder
	b.WriteString(title(chars[0]))
	for i := range chars[1:] {
		b.WriteString(lowerAt(chars, i+1))
	}
	return b.String()
}

// titled capitalizes each word; a word starts after white space or one of -({[<.
func titled(text string) string {
	var b strings.Builder
	start := true
	for _, r := range text {
		if unicode.IsSpace(r) || strings.ContainsRune("-({[<", r) {
			start = true
			b.WriteRune(r)
			continue
		}
		if start {
			b.WriteString(upper(string(r)))
		} else {
			b.WriteString(lower(string(r)))
		}
		start = false
	}
	return b.String()
}

func trimFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := s.str(a[0])
	if err != nil {
		return nil, err
	}
	return strip(like(a[0], text), a[1], strings.Trim)
}

func centerFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := s.str(a[0])
	if err != nil {
		return nil, err
	}
	n, err := whole("the width", a[1])
	if err != nil {
		return nil, err
	}
	return padded(text, n, " ", 'c')
}

func formatFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := s.str(a[0])
	if err != nil {
		return nil, err
	}
	var with types.Value = a[1]
	if d := a[2].(*Dict); len(d.keys) > 0 {
		if len(a[1].(*Tuple).items) > 0 {
			return nil, failf("the filter format takes values or named values, not both")
		}
		with = d
	}
	_, markup := a[0].(Markup)
	out, err := s.percent(text, with, markup)
	return like(a[0], out), err
}

func indentFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := textArg("the value of indent", a[0])
	if err != nil {
		return nil, err
	}
	width, ok := stringOf(a[1])
	if !ok {
		n, err := whole("the width", a[1])
		if err != nil {
			return nil, err
		}
		if n > 1<<16 {
			return nil, failf("the width of indent is more than %d", 1<<16)
		}
		width = strings.Repeat(" ", max(n, 0))
	}
	first, err := s.truth(a[2])
	if err != nil {
		return nil, err
	}
	blank, err := s.truth(a[3])
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	if len(lines)*len(width)+len(text) > maxOutput {
		return nil, limitf("a string becomes longer than %d bytes", maxOutput)
	}
	for i, l := range lines {
		if i == 0 && first || i > 0 && (blank || l != "") {
			lines[i] = width + l
		}
	}
	return like(a[0], strings.Join(lines, "\n")), nil
}

func replaceFilter(s *state, a []types.Value) (types.Value, error) {
	markup := s.escaping && (isMarkup(a[0]) || isMarkup(a[1]) || isMarkup(a[2]))
	var parts [3]string
	for i := range parts {
		var err error
		if parts[i], err = s.written(a[i], markup); err != nil {
			return nil, err
		}
	}
	n := -1
	if a[3] != (types.Null{}) {
		var err error
		if n, err = whole("the count", a[3]); err != nil {
			return nil, err
		}
	}
	out, err := replaced(parts[0], parts[1], parts[2], n)
	if err == nil && markup {
		return Markup(out), nil
	}
	return out, err
}

func isMarkup(v types.Value) bool { _, ok := v.(Markup); return ok }

// replaced is Python's replace(), with a limit on the size of the result.
func replaced(text, before, after string, n int) (string, error) {
	grown := strings.Count(text, before) * (len(after) - len(before))
	if len(text)+grown > maxOutput {
		return "", limitf("a string becomes longer than %d bytes", maxOutput)
	}
	return strings.Replace(text, before, after, n), nil
}

func stringFilter(s *state, a []types.Value) (types.Value, error) {
	if m, ok := a[0].(Markup); ok {
		return m, nil
	}
	return s.text(a[0])
}

func truncateFilter(s *state, a []types.Value) (types.Value, error) {
	size, ok := lengthOf(a[0])
	if u := isUndefined(a[0]); u != nil && !u.empty {
		return nil, u.err()
	}
	if !ok {
		return nil, failf("%s has no length", kindOf(a[0]))
	}
	length, err := whole("the length", a[1])
	if err != nil {
		return nil, err
	}
	end, err := s.str(a[3])
	if err != nil {
		return nil, err
	}
	leeway := 5
	if a[4] != (types.Null{}) {
		if leeway, err = whole("the leeway", a[4]); err != nil {
			return nil, err
		}
	}
	tail := len([]rune(end))
	if length < tail || leeway < 0 {
		return nil, failf("truncate needs a length of at least %d and no negative leeway", tail)
	}
	if size <= length+leeway {
		return a[0], nil
	}
	text, err := textArg("the value of truncate", a[0])
	if err != nil {
		return nil, err
	}
	cut := string([]rune(text)[:length-tail])
	if kill, err := s.truth(a[2]); kill || err != nil {
		return like(a[0], cut+end), err
	}
	if i := strings.LastIndexByte(cut, ' '); i >= 0 {
		cut = cut[:i]
	}
	return like(a[0], cut+end), nil
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func wordcountFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := s.str(a[0])
	return int64(len(strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }))), err
}

func wordwrapFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := textArg("the value of wordwrap", a[0])
	if err != nil {
		return nil, err
	}
	width, err := whole("the width", a[1])
	if err != nil {
		return nil, err
	}
	if width < 1 {
		return nil, failf("the width of wordwrap is at least 1, not %d", width)
	}
	long, err := s.truth(a[2])
	if err != nil {
		return nil, err
	}
	between := "\n"
	if a[3] != (types.Null{}) {
		if between, err = s.str(a[3]); err != nil {
			return nil, err
		}
	}
	hyphens, err := s.truth(a[4])
	if err != nil {
		return nil, err
	}
	w := wrapper{width: width, long: long, hyphens: hyphens}
	lines := splitLines(text, false)
	for i, l := range lines {
		lines[i] = strings.Join(w.wrap(l), between)
	}
	return strings.Join(lines, between), nil
}
