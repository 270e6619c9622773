package jinja

import (
	"strconv"
	"strings"

	"southbound/shared/lang/types"
)

// formatter implements Python's str.format: {}, {0}, {name}, {a.b[c]!r:spec}.
type formatter struct {
	s     *state
	args  []types.Value
	named types.Value
	next  int
	// numbered reports that a field has an explicit index; then all fields need one.
	numbered bool
	escaped  bool
}

// format formats a text. Format specs may contain fields, one level deep.
func (f *formatter) format(text string, depth int) (string, error) {
	if depth > 2 {
		return "", failf("the format %q is nested too deep", text)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		double := i+1 < len(text) && text[i+1] == c
		switch {
		case c != '{' && c != '}':
			b.WriteByte(c)
		case double:
			b.WriteByte(c)
			i++
		case c == '}':
			return "", failf("the format %q has a } without a {", text)
		default:
			end := fieldEnd(text[i:])
			if end < 0 {
				return "", failf("the format %q has a { without a }", text)
			}
			out, err := f.field(text[i+1:i+end], depth)
			if err != nil {
				return "", err
			}
			b.WriteString(out)
			i += end
		}
		if b.Len() > maxOutput {
			return "", limitf("a string becomes longer than %d bytes", maxOutput)
		}
	}
	return b.String(), nil
}

func fieldEnd(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (f *formatter) field(text string, depth int) (string, error) {
	path, spec := text, ""
	if i := specStart(text); i >= 0 {
		path, spec = text[:i], text[i:]
	}
	v, err := f.value(path)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(spec, "!") {
		if len(spec) < 2 {
			return "", failf("a conversion is missing behind !")
		}
		if v, err = f.converted(spec[1], v); err != nil {
			return "", err
		}
		spec = spec[2:]
	}
	spec = strings.TrimPrefix(spec, ":")
	if strings.Contains(spec, "{") {
		if spec, err = f.format(spec, depth+1); err != nil {
			return "", err
		}
	}
	if spec == "" {
		return f.s.written(v, f.escaped)
	}
	if m, ok := v.(Markup); ok {
		v = string(m)
	}
	if u, ok := v.(*Undefined); ok {
		return "", u.err()
	}
	out, err := types.Format(v, spec)
	if err != nil {
		return "", failure(err.Error())
	}
	if f.escaped {
		out = escaper.Replace(out)
	}
	return out, nil
}

func (f *formatter) converted(kind byte, v types.Value) (types.Value, error) {
	switch kind {
	case 's':
		return f.s.text(v)
	case 'r':
		return f.s.repr(v)
	case 'a':
		text, err := f.s.repr(v)
		return types.ASCII(text), err
	}
	return nil, failf("!%c is not a conversion; there are !s, !r and !a", kind)
}

// specStart returns the index of a field's conversion or format spec, outside of square brackets.
func specStart(field string) int {
	inside := false
	for i, r := range field {
		switch {
		case r == '[' || r == ']':
			inside = r == '['
		case !inside && (r == '!' || r == ':'):
			return i
		}
	}
	return -1
}

// value evaluates the path of a field: an index or a name, then .attributes and [items].
func (f *formatter) value(path string) (types.Value, error) {
	n := strings.IndexAny(path, ".[")
	if n < 0 {
		n = len(path)
	}
	v, err := f.first(path[:n])
	for rest := path[n:]; rest != "" && err == nil; {
		if rest[0] == '.' {
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			v, err = f.part(f.s.attribute(v, rest[1:end+1]))
			rest = rest[end+1:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			return nil, failf("the field %q has a [ without a ]", path)
		}
		var key types.Value = rest[1:end]
		if i, e := strconv.ParseInt(rest[1:end], 10, 64); e == nil {
			key = i
		}
		item, ok := indexed(v, key)
		if !ok {
			item, ok, err = lookup(v, key)
		}
		v, err = f.part(item, ok, err)
		rest = rest[end+1:]
	}
	return v, err
}

// part checks an attribute or an item of a field, which has to exist.
func (f *formatter) part(v types.Value, ok bool, err error) (types.Value, error) {
	if err == nil && !ok {
		err = failf("a field of the format names an attribute or an item that is not there")
	}
	return v, err
}

func (f *formatter) first(name string) (types.Value, error) {
	counted := name == ""
	if counted {
		name = strconv.Itoa(f.next)
		f.next++
	}
	if i, err := strconv.Atoi(name); err == nil {
		if f.numbered = f.numbered || !counted; f.numbered && f.next > 0 {
			return nil, failf("the format mixes {} and fields with numbers")
		}
		if i < 0 || i >= len(f.args) {
			return nil, failf("the format has a field %d, but there are %d values", i, len(f.args))
		}
		return f.args[i], nil
	}
	if f.named != nil {
		if v, ok, err := lookup(f.named, name); ok || err != nil {
			return v, err
		}
	}
	return nil, failf("the format has a field %q that was not given", name)
}
