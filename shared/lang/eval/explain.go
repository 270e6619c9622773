package eval

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// This file builds the messages of frequent problems: the actual value, the expected value and a
// hint. The methods fail.in and fail.problem determine the positions.

// of names an attribute with its instance.
func (v *variable) of() string { return v.attr.Name + " of " + v.owner.String() }

func twice(v *variable, value types.Value, at *diag.Pos) *fail {
	name := "the value"
	if v.attr != nil {
		name = v.of()
	}
	f := &fail{
		code: CodeDoubleSet, weight: 51, whole: v.attr != nil,
		message: fmt.Sprintf("%s is set twice: it is %s already, and would become %s", name,
			types.Short(v.value), types.Short(value)),
		hint: "a variable or an attribute gets one value; remove one of the two assignments",
	}
	if v.at != nil && at != nil && *v.at == *at {
		f.hint = "the same statement gives both values, in a loop or for two instances; " +
			"set a different value for each"
	}
	first, other := "the first value is set here", "the other value is set here"
	switch {
	case v.isDefault(v.at):
		first = "the first value is the default, which is set here"
	case v.isDefault(at):
		other = "the other value is the default, which is set here"
	default:
		return f.with(v.at, first).with(at, other)
	}
	f.hint = "attributes missing in the constructor get their default: set it there, or remove " +
		"the default"
	return f.with(v.at, first).with(at, other)
}

// isDefault reports whether a value with this position is the default of the attribute.
func (v *variable) isDefault(at *diag.Pos) bool {
	return v.owner != nil && at != nil && slices.ContainsFunc(v.owner.entity.AllDefaults(),
		func(d types.Default) bool { return d.Name == v.attr.Name && d.At == at })
}

// selfSet returns the problem of an assignment to an attribute with the name self, which always
// holds the instance.
func selfSet(v *variable, value types.Value) *fail {
	f := &fail{
		code: CodeDoubleSet, weight: 51, whole: true,
		message: fmt.Sprintf("%s cannot become %s: self is the instance itself", v.of(),
			types.Short(value)),
		hint: "give the attribute another name",
	}
	return f.with(v.attr.At, "self is defined here")
}

func tooLate(v *variable, value types.Value, at *diag.Pos, turn bool) *fail {
	if v.kind == many && len(v.late.list.Items) == v.attr.Relation.High {
		return overFull(v, value, at)
	}
	f := &fail{
		code: CodeFrozen, weight: 50, at: at, whole: true,
		message: fmt.Sprintf("%s was complete, and its value used, when %s came", v.of(),
			types.Short(value)),
		hint: "set it before its complete value is used, or set in project.yml the order in which " +
			"relations become complete (relation_precedence_policy)",
	}
	return f.with(v.attr.At, "the relation is defined here")
}

func overFull(v *variable, value types.Value, at *diag.Pos) *fail {
	r, items := v.attr.Relation, v.late.list.Items
	f := &fail{code: CodeArity, weight: 100, at: at, whole: true}
	f.message = fmt.Sprintf("%s takes at most %d of %s, and %s would be one more", v.of(), r.High,
		r.Target.Name, types.Short(value))
	f.hint = fmt.Sprintf("remove one, or raise the limit in the definition of the relation: [%d:]",
		r.Low)
	const limit = 3
	for _, item := range items[:min(len(items), r.High, limit)] {
		if o, ok := item.(*Instance); ok {
			f.with(o.lastAt(), "this one is in it")
		}
	}
	return f.with(v.attr.At, "the relation is defined here")
}

// notNull returns the problem of setting a relation to many to null when it has values.
func notNull(v *variable, at *diag.Pos) *fail {
	f := &fail{
		code: CodeNull, at: at, weight: 100, whole: true,
		message: fmt.Sprintf("%s is set to null, which means empty, and it has %s "+
			"already", v.of(), types.Short(v.late.list.Items[0])),
		hint: "remove `= null`, or the statement that adds to the relation",
	}
	return f.with(v.attr.At, "the relation is defined here")
}

// notSet returns the problem of reading an optional relation that is empty.
func notSet(v *variable) *fail {
	f := &fail{
		code: CodeOptional, weight: 61, message: "the optional relation " + v.of() +
			" is empty, and its value is needed here",
		hint: "ask with `" + v.attr.Name + " is defined` before, or set it",
	}
	if v.owner != nil {
		f.with(v.owner.lastAt(), "the instance is made here").madeAlsoAt(v.owner)
	}
	return f.with(v.attr.At, "the relation is defined here, with 0 as its lower bound")
}

// wrongType returns the problem of a value that does not match the type of an attribute.
func wrongType(v *variable, value types.Value, err error) *fail {
	f := typeFail(err)
	if f.whole = true; f.code == CodeLimit {
		return f.with(v.attr.At, v.attr.Name+" is defined here")
	}
	expected := v.attr.Accepts.String()
	if r := v.attr.Relation; r != nil {
		expected = "an instance of " + r.Target.FullName()
	}
	f.message = fmt.Sprintf("%s has to be %s: %s", v.of(), expected, f.message)
	f.hint = cure(v.attr.Type, value)
	return f.with(v.attr.At, v.attr.Name+" is defined here")
}

// cure returns a hint how to convert a value to the type, for frequent mistakes; "" for other
// values.
func cure(t types.Type, v types.Value) string {
	if n, ok := t.(*types.Nullable); ok {
		t = n.Of
	} else if _, null := v.(types.Null); null {
		return "only a type with ? takes null: " + t.String() + "?"
	}
	for d, ok := t.(*types.Typedef); ok; d, ok = t.(*types.Typedef) {
		t = d.Base
	}
	if l, ok := t.(*types.ListOf); ok {
		if _, list := v.(*types.List); !list && l.Of.Check(v) == nil {
			return "write it in brackets: [" + types.Short(v) + "]"
		}
		return ""
	}
	switch v := v.(type) {
	case string:
		_, err := strconv.ParseFloat(v, 64)
		if number := t == types.Type(types.Int) || t == types.Type(types.Float); number &&
			err == nil {
			return "write it without quotes: " + v
		}
	case int64:
		if t == types.Type(types.Float) {
			return "write it with a point: " + strconv.FormatInt(v, 10) + ".0"
		}
	case float64:
		if t == types.Type(types.Int) && v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return "write it without a point: " + strconv.FormatInt(int64(v), 10)
		}
	}
	if t == types.Type(types.String) {
		switch v.(type) {
		case int64, float64, bool:
			return "write it in quotes: \"" + types.Text(v) + "\""
		}
	}
	return ""
}

// typeFail returns the problem of a value that does not match a type. If the condition of a typedef
// rejected the value, the position of the typedef is added, as in the reference compiler.
func typeFail(err error) *fail {
	f := &fail{code: CodeType, message: err.Error(), weight: 100}
	var m *types.Mismatch
	if errors.As(err, &m) {
		f.code = CodeTypeCondition
		f.with(m.Type.At, "the type "+m.Type.Name+" is defined here")
	}
	var inner *fail
	if errors.As(err, &inner) && inner.code == CodeLimit { // a limit is no problem of the value
		f.code, f.hint, f.weight = inner.code, inner.hint, inner.weight
	}
	if inner != nil {
		f.related = append(f.related, related{inner.at, inner.message})
		f.related = append(f.related, inner.related...)
	}
	return f
}

// lacking returns the problem of an incomplete instance: attributes without a value, and relations
// with too few values.
func (e *engine) lacking(o *Instance, vars []*variable) *fail {
	var names, args []string
	f := failed(CodeIncomplete, o.lastAt(), "")
	for _, v := range vars {
		text := v.attr.Name + " (" + v.attr.Accepts.String() + ")"
		if r := v.attr.Relation; v.kind == many {
			text = fmt.Sprintf("%s (at least %d of %s, and it has %d)", v.attr.Name, r.Low,
				r.Target.Name, len(v.late.list.Items))
		}
		names = append(names, text)
		args = append(args, v.attr.Name+"=…")
		f.with(v.attr.At, v.attr.Name+" is defined here")
	}
	f.message = fmt.Sprintf("this instance of %s lacks %s", o.entity.FullName(),
		strings.Join(names, " and "))
	f.hint = fmt.Sprintf("write %s(%s), set it in an implementation, or give it a default",
		o.entity.Name, strings.Join(args, ", "))
	for _, v := range vars {
		e.why(f, v)
	}
	return f.madeAlsoAt(o)
}

// madeAlsoAt adds the positions of the other constructors of the same instance, because the missing
// attribute may belong into any of them.
func (f *fail) madeAlsoAt(o *Instance) *fail {
	const limit = 10
	all := o.made.all()
	for _, at := range all[:min(len(all)-1, limit)] {
		f.with(at, "this constructor stands for the same instance")
	}
	return f
}
