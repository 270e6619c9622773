package python

import (
	"errors"
	"strconv"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// objects are the instances that were sent to Python code, by number.
type objects map[int64]types.Object

// tag decodes a tagged value that Python code sent.
func (o objects) tag(tag string, v types.Value) (types.Value, error) {
	switch tag {
	case "e":
		n, _ := v.(int64)
		if found := o[n]; found != nil {
			return found, nil
		}
	case "u":
		f := items(v) // a reason; for a fact also the number of the resource and the name
		if len(f) != 3 {
			return &types.Unknown{Why: text(v)}, nil
		}
		n, _ := f[1].(int64)
		return &types.Unknown{Why: text(f[0]), Of: o[n], Fact: text(f[2])}, nil
	case "h": // the value of an attribute: the number of the instance and the name
		if f := items(v); len(f) == 2 {
			n, _ := f[0].(int64)
			if of, ok := o[n].(*eval.Instance); ok {
				if held, ok := of.Value(text(f[1])); ok {
					return held, nil
				}
			}
		}
	case "x":
		return omitted{}, nil
	case "p":
		if f := items(v); len(f) == 2 { // a number and a name
			n, _ := f[0].(int64)
			return function{n, text(f[1])}, nil
		}
	case "r":
		if r := items(v); len(r) == 3 {
			n, _ := r[0].(int64)
			return reference{index: n, class: text(r[1]), of: text(r[2])}, nil
		}
	}
	return nil, errFrame
}

// answers returns the function that answers the questions of Python code during a call.
func (o objects) answers(c *eval.Context) answer {
	return func(kind string, v []types.Value, b []byte) ([]byte, bool, error) {
		switch kind {
		case "print":
			c.Print(text(v[0]))
			return nil, true, nil
		case "get":
			of := o.object(v)
			if of == nil {
				return nil, false, errFrame
			}
			return o.read(b, of, text(v[1]), c), true, nil
		case "var":
			value, err := c.Variable(text(v[0]))
			return o.found(b, value, err), true, nil
		case "make":
			return o.make(b, c, v), true, nil
		case "instances":
			e, _ := c.Type(text(v[0])).(*types.Entity)
			if e == nil {
				return nil, false, errFrame
			}
			return o.list(b, c.Instances(e)), true, nil
		}
		return o.common(b, kind, v, c.Type)
	}
}

// object returns the instance that a message refers to; nil if there is none.
func (o objects) object(v []types.Value) types.Object {
	n, _ := v[0].(int64)
	return o[n]
}

// common answers questions that do not depend on a call: entity types and source positions.
func (o objects) common(
	b []byte, kind string, v []types.Value, typeOf func(string) types.Type,
) ([]byte, bool, error) {
	switch kind {
	case "type":
		e, _ := typeOf(text(v[0])).(*types.Entity)
		if e == nil {
			return append(b, `["none"]`...), true, nil
		}
		return append(describe(append(b, `["v",`...), e), ']'), true, nil
	case "where":
		of, ok := o.object(v).(*eval.Instance)
		if !ok {
			return nil, false, errFrame
		}
		at := of.Pos()
		b = appendText(append(b, `["at",`...), at.File)
		return append(strconv.AppendInt(append(b, ','), int64(at.Line), 10), ']'), true, nil
	}
	return nil, false, nil
}

// read answers with the value of an attribute of an instance.
func (o objects) read(b []byte, of types.Object, name string, c *eval.Context) []byte {
	if of.Type().Attribute(name) == nil && name != "self" {
		return append(b, `["none"]`...)
	}
	value, err := c.Attribute(of, name)
	return o.found(b, value, err)
}

func (o objects) found(b []byte, v types.Value, err error) []byte {
	switch {
	case err == nil:
		return append(appendValue(append(b, `["v",`...), o.seen(v)), ']')
	case errors.Is(err, eval.ErrUnset):
		return append(b, `["unset"]`...)
	}
	return append(b, `["missing"]`...)
}

func (o objects) make(b []byte, c *eval.Context, v []types.Value) []byte {
	e, _ := c.Type(text(v[0])).(*types.Entity)
	d, ok := v[1].(*types.Dict)
	if e == nil || !ok {
		return append(appendText(append(b, `["error",`...), "there is no entity "+text(v[0])), ']')
	}
	made, err := c.Make(e, d)
	if err != nil {
		return append(appendText(append(b, `["error",`...), err.Error()), ']')
	}
	return append(appendValue(append(b, `["v",`...), o.seen(made)), ']')
}

func (o objects) list(b []byte, all []types.Object) []byte {
	b = append(b, `["v",[`...)
	for i, item := range all {
		b = appendValue(comma(b, i), o.seen(item))
	}
	return append(b, "]]"...)
}

// remember registers the instances in the arguments, so that Python code can ask about them.
func (o objects) remember(a eval.Args) {
	for _, v := range a.Values {
		o.seen(v)
	}
	for _, v := range a.Rest {
		o.seen(v)
	}
	if a.Named != nil {
		o.seen(a.Named)
	}
}

func (o objects) seen(v types.Value) types.Value {
	switch v := v.(type) {
	case types.Object:
		o[int64(v.Number())] = v
	case *types.Unknown:
		if v.Of != nil {
			o.seen(v.Of)
		}
	case std.Reference:
		o.seen(v.Value)
		if v.On != nil {
			o.seen(v.On)
		}
	case *types.List:
		for _, item := range v.Items {
			o.seen(item)
		}
	case *types.Dict:
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			o.seen(item)
		}
	}
	return v
}

// describe appends the description of an entity, as the Python host reads it.
func describe(b []byte, e *types.Entity) []byte {
	b = append(appendText(append(b, `{"d":{"doc":`...), e.Doc), `,"parents":[`...)
	for i, p := range e.Parents {
		b = appendText(comma(b, i), p.FullName())
	}
	b = append(b, `],"attributes":[`...)
	for i, a := range e.Own {
		b = append(appendText(append(comma(b, i), '['), a.Name), ',')
		if a.Relation == nil {
			of := a.Type
			if n, ok := of.(*types.Nullable); ok {
				of = n.Of
			}
			if l, ok := of.(*types.ListOf); ok {
				of = l.Of
			}
			b = append(appendText(b, baseOf(of)), ',')
			b = append(strconv.AppendBool(b, a.Multi), ',')
			b = append(strconv.AppendBool(b, a.Nullable), ",null]"...)
			continue
		}
		b = append(appendText(b, a.Relation.Target.FullName()), ",false,false,["...)
		b = append(strconv.AppendInt(b, int64(a.Relation.Low), 10), ',')
		b = append(strconv.AppendInt(b, int64(a.Relation.High), 10), ',')
		inverse := ""
		if a.Relation.Inverse != nil {
			inverse = a.Relation.Inverse.Name
		}
		b = append(appendText(b, inverse), "]]"...)
	}
	b = append(b, `],"indexes":[`...)
	for i, names := range e.Indexes {
		b = append(comma(b, i), '[')
		for j, n := range names {
			b = appendText(comma(b, j), n)
		}
		b = append(b, ']')
	}
	return append(b, "]}}"...)
}

// baseOf returns the name of the primitive type at the end of a chain of typedefs.
func baseOf(t types.Type) string {
	for {
		d, ok := t.(*types.Typedef)
		if !ok {
			return t.String()
		}
		t = d.Base
	}
}

// appendOther appends a reference that was not made in Python: its class, its value and its object.
func appendOther(b []byte, r types.Reference) []byte {
	var value, on types.Value
	if s, ok := r.(std.Reference); ok {
		value = s.Value
		if s.On != nil {
			on = s.On
		}
	}
	b = append(appendText(append(b, '['), r.ReferenceName()), ',')
	b = append(appendValue(b, value), ',')
	return append(appendValue(b, on), ']')
}
