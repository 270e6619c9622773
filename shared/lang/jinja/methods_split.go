package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/lang/types"
)

func (s *state) formatted(
	text types.Value,
	args []types.Value,
	named types.Value,
) (types.Value, error) {
	t, _ := stringOf(text)
	_, markup := text.(Markup)
	f := &formatter{s: s, args: args, named: named, escaped: markup}
	out, err := f.format(t, 0)
	return like(text, out), err
}

func joinMethod(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[1])
	if err != nil {
		return nil, err
	}
	_, markup := a[0].(Markup)
	parts := make([]string, len(items))
	size := 0
	for i, item := range items {
		if parts[i], err = textArg("an item of join", item); err != nil {
			return nil, err
		}
		if _, ok := item.(Markup); markup && !ok {
			parts[i] = escaper.Replace(parts[i])
		}
		size += len(parts[i])
	}
	between, _ := stringOf(a[0])
	if size+len(between)*len(items) > maxOutput {
		return nil, limitf("a string becomes longer than %d bytes", maxOutput)
	}
	return like(a[0], strings.Join(parts, between)), nil
}

func split(a []types.Value, fromEnd bool) (types.Value, error) {
	text, _ := stringOf(a[0])
	limit, err := whole("maxsplit", a[2])
	if err != nil {
		return nil, err
	}
	var parts []string
	if a[1] == (types.Null{}) {
		parts = fields(text, limit, fromEnd)
	} else {
		sep, err := textArg("the separator", a[1])
		if err != nil {
			return nil, err
		}
		if sep == "" {
			return nil, failf("the separator of split is empty")
		}
		parts = splitBy(text, sep, limit, fromEnd)
	}
	out := make([]types.Value, len(parts))
	for i, p := range parts {
		out[i] = like(a[0], p)
	}
	return newList(out), nil
}

func splitBy(text, sep string, limit int, fromEnd bool) []string {
	if limit < 0 {
		return strings.Split(text, sep)
	}
	if !fromEnd {
		return strings.SplitN(text, sep, limit+1)
	}
	var out []string
	for ; limit > 0; limit-- {
		i := strings.LastIndex(text, sep)
		if i < 0 {
			break
		}
		out, text = append(out, text[i+len(sep):]), text[:i]
	}
	out = append(out, text)
	slices.Reverse(out)
	return out
}

// fields splits at white space, at most limit times.
func fields(text string, limit int, fromEnd bool) []string {
	all := strings.Fields(text)
	if limit < 0 || len(all) <= limit {
		return all
	}
	var out []string
	if fromEnd {
		for ; limit > 0; limit-- {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
			i := strings.LastIndexFunc(text, unicode.IsSpace)
			_, n := utf8.DecodeRuneInString(text[i:])
			out, text = append(out, text[i+n:]), text[:i]
		}
		out = append(out, strings.TrimRightFunc(text, unicode.IsSpace))
		slices.Reverse(out)
		return out
	}
	for ; limit > 0; limit-- {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		i := strings.IndexFunc(text, unicode.IsSpace)
		out, text = append(out, text[:i]), text[i:]
	}
	return append(out, strings.TrimLeftFunc(text, unicode.IsSpace))
}

func splitlinesMethod(s *state, a []types.Value) (types.Value, error) {
	text, _ := stringOf(a[0])
	keep, err := s.truth(a[1])
	if err != nil {
		return nil, err
	}
	var out []types.Value
	for _, l := range splitLines(text, keep) {
		out = append(out, like(a[0], l))
	}
	return newList(out), nil
}

func strip(v, chars types.Value, trim func(string, string) string) (types.Value, error) {
	const spaces = " \t\n\r\v\f\x1c\x1d\x1e\x1f\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	text, _ := stringOf(v)
	set := spaces
	if chars != (types.Null{}) {
		var err error
		if set, err = textArg("the characters to strip", chars); err != nil {
			return nil, err
		}
	}
	return like(v, trim(text, set)), nil
}
