package jinja

import (
	"fmt"
	"strings"

	"southbound/shared/lang/types"
)

// text returns a value as a template prints it, as Python's str() does.
func (s *state) text(v types.Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case Markup:
		return string(v), nil
	case *Undefined:
		return "", v.used()
	case *types.Unknown:
		return "", ErrUnknown
	case types.Reference:
		return "", later(v)
	case *module:
		return v.text, nil
	}
	return s.repr(v)
}

// repr returns a value as Python's repr() does.
func (s *state) repr(v types.Value) (string, error) {
	w := &reprWriter{s: s}
	if err := w.write(v, 0); err != nil {
		return "", err
	}
	return w.b.String(), nil
}

type reprWriter struct {
	s *state
	b strings.Builder
}

// write writes a value. It fails for a value that contains itself, and for a result that is too
// long.
func (w *reprWriter) write(v types.Value, depth int) error {
	if w.b.Len() > maxOutput || depth > maxDepth {
		return failf("the text of %s becomes too long", kindOf(v))
	}
	switch v := v.(type) {
	case types.Null:
		w.b.WriteString("None")
	case bareNull:
		w.b.WriteString("null")
	case Markup:
		w.b.WriteString("Markup(" + types.Repr(string(v)) + ")")
	case *Undefined:
		w.b.WriteString("Undefined")
	case *types.Unknown:
		return ErrUnknown
	case types.Reference:
		return later(v)
	case *List:
		return w.list("[", v.items, "]", depth)
	case *types.List, types.Object:
		w.b.WriteString("@" + types.Repr(v)) // as Python shows values of a model
	case *Tuple:
		if len(v.items) == 1 {
			return w.list("(", v.items, ",)", depth)
		}
		return w.list("(", v.items, ")", depth)
	case *types.Dict:
		w.b.WriteString("@" + types.Repr(v))
	case *Dict:
		return w.dict(v, depth)
	case *view:
		return w.view(v, depth)
	case *rangeValue:
		if v.step == 1 {
			fmt.Fprintf(&w.b, "range(%d, %d)", v.from, v.to)
		} else {
			fmt.Fprintf(&w.b, "range(%d, %d, %d)", v.from, v.to, v.step)
		}
	case *iterator:
		fmt.Fprintf(&w.b, "<generator object %s>", v.what)
	case *namespace:
		w.b.WriteString("<Namespace ")
		if err := w.dict(v.attrs, depth); err != nil {
			return err
		}
		w.b.WriteString(">")
	case *macroValue:
		fmt.Fprintf(&w.b, "<Macro %s>", types.Repr(v.macro.name))
	case *self:
		fmt.Fprintf(&w.b, "<TemplateReference %s>", types.Repr(v.state.root.localName()))
	case *cycle:
		return failf("a cycler has no text: write the result of its method next")
	case *function:
		return failf("the function %s has no text: it can only be called, %s(…)", v.name, v.name)
	case *loop:
		fmt.Fprintf(&w.b, "<LoopContext %d/%d>", v.at+1, len(v.items))
	default:
		w.b.WriteString(types.Repr(v))
	}
	return nil
}

// view writes the result of keys(), values() or items(), in the form that Python uses for that kind
// of dictionary.
func (w *reprWriter) view(v *view, depth int) error {
	model := ofModel(v.of)
	if model && w.s.models.passed {
		w.b.WriteString(map[string]string{
			"dict_keys": "KeysView(", "dict_values": "ValuesView(", "dict_items": "ItemsView(",
		}[v.what])
		err := w.write(v.of, depth+1)
		w.b.WriteString(")")
		return err
	}
	items, err := v.items(w.s)
	if err != nil {
		return err
	}
	if model {
		w.b.WriteString("@")
		if items, err = w.s.allBare(items); err != nil {
			return err
		}
	}
	w.b.WriteString(v.what + "(")
	return w.list("[", items, "])", depth)
}

func (w *reprWriter) list(open string, items []types.Value, end string, depth int) error {
	w.b.WriteString(open)
	for i, item := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if err := w.write(item, depth+1); err != nil {
			return err
		}
	}
	w.b.WriteString(end)
	return nil
}

func (w *reprWriter) dict(d types.Value, depth int) error {
	keys, values, _ := entries(d)
	w.b.WriteString("{")
	for i := range keys {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if err := w.write(keys[i], depth+1); err != nil {
			return err
		}
		w.b.WriteString(": ")
		if err := w.write(values[i], depth+1); err != nil {
			return err
		}
	}
	w.b.WriteString("}")
	return nil
}

var escaper = strings.NewReplacer(
	"&",
	"&amp;",
	"<",
	"&lt;",
	">",
	"&gt;",
	"'",
	"&#39;",
	`"`,
	"&#34;",
)

// escape returns the text of a value with the special characters of HTML escaped. Markup is
// unchanged.
func (s *state) escape(v types.Value) (Markup, error) {
	if m, ok := v.(Markup); ok {
		return m, nil
	}
	text, err := s.text(v)
	return Markup(escaper.Replace(text)), err
}
