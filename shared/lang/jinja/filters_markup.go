package jinja

import (
	"encoding/json"
	"html"
	"math"
	"math/big"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"

	"southbound/shared/lang/types"
	"southbound/shared/pattern"
)

func markupFilters() map[string]builtin {
	return map[string]builtin{
		"escape": {
			params: "s",
			call:   func(s *state, a []types.Value) (types.Value, error) { return s.escape(a[0]) },
		},
		"forceescape": {
			params: "value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				text, err := s.text(a[0])
				return Markup(escaper.Replace(text)), err
			},
		},
		"safe": {params: "value", call: func(s *state, a []types.Value) (types.Value, error) {
			text, err := s.text(a[0])
			return Markup(text), err
		}},
		"striptags": {params: "value", call: striptagsFilter},
		"tojson":    {params: "value, indent=none", call: tojsonFilter},
		"urlencode": {params: "value", call: urlencodeFilter},
		"xmlattr":   {params: "d, autospace=true", call: xmlattrFilter},
		"pprint":    {params: "value", call: pprintFilter},
	}
}

var (
	comments = pattern.Lazy(`(?s)<!--.*?-->`)
	markups  = pattern.Lazy(`(?s)<.*?>`)
)

func striptagsFilter(s *state, a []types.Value) (types.Value, error) {
	text, err := s.text(a[0])
	text = markups().ReplaceAllString(comments().ReplaceAllString(text, ""), "")
	return html.UnescapeString(strings.Join(strings.Fields(text), " ")), err
}

// jsonWriter writes JSON as Python's json.dumps does: sorted keys, ASCII, separators ", " and ": ".
type jsonWriter struct {
	s      *state
	b      strings.Builder
	indent string
	// inOrder keeps the order of keys, instead of sorting them.
	inOrder bool
}

func tojsonFilter(s *state, a []types.Value) (types.Value, error) {
	w := &jsonWriter{s: s}
	if text, ok := stringOf(a[1]); ok {
		w.indent = text
	} else if a[1] != (types.Null{}) {
		n, err := whole("indent", a[1])
		if err != nil {
			return nil, err
		}
		w.indent = strings.Repeat(" ", min(max(n, 0), 100))
	}
	if err := w.write(a[0], 0); err != nil {
		return nil, err
	}
	return Markup(
		strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).
			Replace(w.b.String()),
	), nil
}

func (w *jsonWriter) write(v types.Value, depth int) error {
	if depth > maxDepth || w.b.Len() > maxOutput {
		return failf("the JSON becomes too long")
	}
	switch v := v.(type) {
	case types.Null, bareNull:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case int64, *big.Int:
		w.b.WriteString(types.Text(v))
	case float64:
		w.b.WriteString(jsonFloat(v))
	case *Undefined:
		return v.err()
	case *types.Unknown:
		return ErrUnknown
	case types.Reference:
		return later(v)
	case string:
		w.text(v)
	case Markup:
		w.text(string(v))
	case *List, *types.List, *Tuple:
		items, _ := sequence(v)
		return w.bracketed("[", "]", len(items), depth,
			func(i int) error { return w.write(items[i], depth+1) })
	case *Dict, *types.Dict:
		return w.dict(v, depth)
	default:
		return failf("%s cannot be written as JSON", kindOf(v))
	}
	return nil
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return types.FloatText(f)
}

func (w *jsonWriter) dict(v types.Value, depth int) error {
	keys, _, _ := entries(v)
	pairs, err := w.s.pairs(v)
	if err != nil {
		return err
	}
	if !w.inOrder {
		if pairs, err = w.s.ordered(pairs, keys, false); err != nil {
			return err
		}
	}
	return w.bracketed("{", "}", len(pairs), depth, func(i int) error {
		pair := pairs[i].(*Tuple).items
		if err := w.key(pair[0]); err != nil {
			return err
		}
		w.b.WriteString(": ")
		return w.write(pair[1], depth+1)
	})
}

// key writes a key as a string: a number or a bool in its JSON form.
func (w *jsonWriter) key(k types.Value) error {
	if name, ok := stringOf(k); ok {
		w.text(name)
		return nil
	}
	if k != (types.Null{}) && !isNumber(k) {
		return failf("%s cannot be a key in JSON", kindOf(k))
	}
	w.b.WriteByte('"')
	err := w.write(k, 0)
	w.b.WriteByte('"')
	return err
}

// bracketed writes n parts in brackets.
func (w *jsonWriter) bracketed(open, end string, n, depth int, part func(int) error) error {
	w.b.WriteString(open)
	for i := range n {
		switch {
		case w.indent != "":
			if i > 0 {
				w.b.WriteString(",")
			}
			w.b.WriteString("\n" + strings.Repeat(w.indent, depth+1))
		case i > 0:
			w.b.WriteString(", ")
		}
		if err := part(i); err != nil {
			return err
		}
	}
	if w.indent != "" && n > 0 {
		w.b.WriteString("\n" + strings.Repeat(w.indent, depth))
	}
	w.b.WriteString(end)
	return nil
}

func (w *jsonWriter) text(text string) {
	w.b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r < ' ':
			quoted, _ := json.Marshal(string(r))
			w.b.WriteString(strings.Trim(string(quoted), `"`))
		case r < 0x7f || r == 0x7f:
			w.b.WriteRune(r)
		case r < 0x10000:
			w.b.WriteString(`\u` + hex4(r))
		default:
			hi, lo := utf16.EncodeRune(r)
			w.b.WriteString(`\u` + hex4(hi) + `\u` + hex4(lo))
		}
	}
	w.b.WriteByte('"')
}

func hex4(r rune) string {
	text := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", 4-len(text)) + text
}

// quoteURL escapes all bytes except letters, digits, _.-~ and those in safe.
func quoteURL(text, safe string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("_.-~"+safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex4(rune(c))[2:]))
		}
	}
	return b.String()
}

func urlencodeFilter(s *state, a []types.Value) (types.Value, error) {
	_, text := stringOf(a[0])
	if _, ok := lengthOf(a[0]); !ok && isUndefined(a[0]) == nil || text {
		out, err := s.text(a[0])
		return quoteURL(out, "/"), err
	}
	pairs, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	if _, _, ok := entries(a[0]); ok {
		if pairs, err = s.pairs(a[0]); err != nil {
			return nil, err
		}
	}
	var parts []string
	for _, p := range pairs {
		pair, err := s.items(p)
		if err != nil || len(pair) != 2 {
			return nil, failf("urlencode needs a string, a dict or pairs")
		}
		var both [2]string
		for i := range both {
			if both[i], err = s.text(pair[i]); err != nil {
				return nil, err
			}
			both[i] = strings.ReplaceAll(url.QueryEscape(both[i]), "%7E", "~")
		}
		parts = append(parts, both[0]+"="+both[1])
	}
	return strings.Join(parts, "&"), nil
}

func isUndefined(v types.Value) *Undefined { u, _ := v.(*Undefined); return u }

func xmlattrFilter(s *state, a []types.Value) (types.Value, error) {
	if _, _, ok := entries(a[0]); !ok {
		return nil, failf("xmlattr needs a dict, not %s", kindOf(a[0]))
	}
	pairs, err := s.pairs(a[0])
	if err != nil {
		return nil, err
	}
	var parts []string
	for _, p := range pairs {
		k, v := p.(*Tuple).items[0], p.(*Tuple).items[1]
		if isUndefined(v) != nil || v == (types.Null{}) {
			continue
		}
		name, err := s.text(k)
		if err != nil {
			return nil, err
		}
		if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, failf("%q is not the name of an attribute", name)
		}
		value, err := s.escape(v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, escaper.Replace(name)+`="`+string(value)+`"`)
	}
	out := strings.Join(parts, " ")
	space, err := s.truth(a[1])
	if space && out != "" {
		out = " " + out
	}
	return s.markup(out), err
}
