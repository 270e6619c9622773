package types

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"southbound/shared/diag"
)

// Type is a type of values.
type Type interface {
	// String returns the type in the syntax of models.
	String() string
	// Check returns an error if a value is not of this type, else nil. Unknown values belong to
	// every type.
	Check(v Value) error
}

// Primitive is one of string, int, float, number and bool.
type Primitive struct{ name string }

// The primitive types.
var (
	String = &Primitive{"string"}
	Int    = &Primitive{"int"}
	Float  = &Primitive{"float"}
	Number = &Primitive{"number"}
	Bool   = &Primitive{"bool"}
)

// Builtins returns the names of the types that are built into the language.
func Builtins() []string {
	return []string{"string", "int", "float", "number", "bool", "list", "dict"}
}

// Builtin returns the built-in type with this name: a primitive type, list or dict. It returns nil
// if there is none.
func Builtin(name string) Type {
	switch name {
	case "string":
		return String
	case "int":
		return Int
	case "float":
		return Float
	case "number":
		return Number
	case "bool":
		return Bool
	case "list":
		return LiteralList
	case "dict":
		return LiteralDict
	}
	return nil
}

// String implements Type.
func (p *Primitive) String() string { return p.name }

// Check implements Type. A bool is an int and a number, as in Python; an int is not a float.
func (p *Primitive) Check(v Value) error {
	ok := false
	switch v.(type) {
	case string:
		ok = p == String
	case bool:
		ok = p == Bool || p == Int || p == Number
	case int64, *big.Int:
		ok = p == Int || p == Number
	case float64:
		ok = p == Float || p == Number
	case *Unknown:
		ok = true
	}
	if !ok {
		return mismatch(v, p)
	}
	return nil
}

func mismatch(v Value, t Type) error {
	if _, ok := v.(Reference); ok {
		return fmt.Errorf(
			"a reference is not a valid %s: its value is known only when resources are deployed",
			t,
		)
	}
	return fmt.Errorf("%s is not a valid %s", shown(v), t)
}

// Nullable is a type that also accepts null.
type Nullable struct{ Of Type }

// String implements Type.
func (n *Nullable) String() string { return n.Of.String() + "?" }

// Check implements Type.
func (n *Nullable) Check(v Value) error {
	if _, ok := v.(Null); ok {
		return nil
	}
	return n.Of.Check(v)
}

// ListOf is the type of lists with items of one type.
type ListOf struct{ Of Type }

// String implements Type.
func (l *ListOf) String() string { return l.Of.String() + "[]" }

// Check implements Type.
func (l *ListOf) Check(v Value) error {
	list, ok := v.(*List)
	if !ok {
		if IsUnknown(v) {
			return nil
		}
		return mismatch(v, l)
	}
	for i, item := range list.Items {
		if err := l.Of.Check(item); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// special is a type without parameters that a function checks.
type special struct {
	name  string
	check func(Value) bool
}

// Types without a parameter. Any accepts every value except references. LiteralList and LiteralDict
// are the types list and dict of attributes. AnyList and AnyDict are those of plugins, which may
// hold instances.
var (
	Any         Type = &special{"any", func(v Value) bool { _, ok := v.(Reference); return !ok }}
	NullOnly    Type = &special{"null", func(v Value) bool { _, ok := v.(Null); return ok }}
	LiteralList Type = &special{"list", literalList}
	LiteralDict Type = &special{"dict", literalDict}
	AnyList     Type = &special{"list", func(v Value) bool { _, ok := v.(*List); return ok }}
	AnyDict     Type = &special{"dict", func(v Value) bool { _, ok := v.(*Dict); return ok }}
	// Opaque accepts every value, including references.
	Opaque Type = &special{"any", func(Value) bool { return true }}
)

// String implements Type.
func (s *special) String() string { return s.name }

// Check implements Type.
func (s *special) Check(v Value) error {
	if IsUnknown(v) || s.check(v) {
		return nil
	}
	if s.name == "list" || s.name == "dict" {
		if _, ok := v.(*List); ok && s.name == "list" {
			return errors.New("a list of an attribute holds no instances")
		}
		if _, ok := v.(*Dict); ok && s.name == "dict" {
			return errors.New("a dict of an attribute holds no instances")
		}
	}
	return mismatch(v, s)
}

func literalList(v Value) bool {
	l, ok := v.(*List)
	if !ok {
		return false
	}
	for _, item := range l.Items {
		if !literal(item) {
			return false
		}
	}
	return true
}

func literalDict(v Value) bool {
	d, ok := v.(*Dict)
	if !ok {
		return false
	}
	for _, k := range d.keys {
		if !literal(d.values[k]) {
			return false
		}
	}
	return true
}

// literal reports whether a value contains no instances.
func literal(v Value) bool {
	switch v := v.(type) {
	case Object:
		return false
	case *List:
		return literalList(v)
	case *Dict:
		return literalDict(v)
	}
	return true
}

// Union is a type that accepts the values of several types.
type Union []Type

// String implements Type.
func (u Union) String() string {
	names := make([]string, len(u))
	for i, t := range u {
		names[i] = t.String()
	}
	return strings.Join(names, " | ")
}

// Check implements Type.
func (u Union) Check(v Value) error {
	for _, t := range u {
		if t.Check(v) == nil {
			return nil
		}
	}
	return mismatch(v, u)
}

// OrReference is the type of values that an attribute accepts: a value of its type, or a reference
// to one.
type OrReference struct{ Of Type }

// String implements Type.
func (o *OrReference) String() string { return o.Of.String() }

// Check implements Type.
func (o *OrReference) Check(v Value) error {
	if r, ok := v.(Reference); ok {
		if r.Of() == nil || Within(r.Of(), o.Of) {
			return nil
		}
		return fmt.Errorf("a reference to %s is not a valid %s", r.Of(), o.Of)
	}
	return o.Of.Check(v)
}

// Within reports whether every value of t belongs to other.
func Within(t, other Type) bool {
	if Same(t, other) || other == Any || other == Opaque {
		return true
	}
	switch o := other.(type) {
	case *Nullable:
		if n, ok := t.(*Nullable); ok {
			return Within(n.Of, o.Of)
		}
		return t == NullOnly || Within(t, o.Of)
	case *OrReference:
		return Within(t, o.Of)
	case Union:
		for _, member := range o {
			if Within(t, member) {
				return true
			}
		}
	case *ListOf:
		l, ok := t.(*ListOf)
		return ok && Within(l.Of, o.Of)
	case *Entity:
		e, ok := t.(*Entity)
		return ok && e.Is(o)
	case *Primitive:
		if o == Number && (t == Type(Int) || t == Type(Float)) {
			return true
		}
	}
	if d, ok := t.(*Typedef); ok {
		return Within(d.Base, other)
	}
	return false
}

// Same reports whether two types are identical.
func Same(a, b Type) bool {
	switch a := a.(type) {
	case *Nullable:
		b, ok := b.(*Nullable)
		return ok && Same(a.Of, b.Of)
	case *ListOf:
		b, ok := b.(*ListOf)
		return ok && Same(a.Of, b.Of)
	case *OrReference:
		b, ok := b.(*OrReference)
		return ok && Same(a.Of, b.Of)
	case Union:
		b, ok := b.(Union)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Same(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	if _, ok := b.(Union); ok {
		return false
	}
	return a == b
}

// Typedef is a type with a condition.
type Typedef struct {
	Name      string // the full name
	Base      Type
	Condition string // source text of the condition
	Doc       string
	At        *diag.Pos
	// Values are the values that the condition lists; nil if it lists none.
	Values []Value
	// Holds evaluates the condition for a value.
	Holds func(v Value) (bool, error)
}

// String implements Type.
func (t *Typedef) String() string { return t.Name }

// Check implements Type.
func (t *Typedef) Check(v Value) error {
	if IsUnknown(v) {
		return nil
	}
	if err := t.Base.Check(v); err != nil {
		return err
	}
	ok, err := t.Holds(v)
	if err != nil {
		return err
	}
	if !ok {
		return &Mismatch{Value: v, Type: t}
	}
	return nil
}

// Mismatch is the error for a value that the condition of a typedef rejects.
type Mismatch struct {
	Value Value
	Type  *Typedef
}

// Error implements error.
func (m *Mismatch) Error() string {
	return fmt.Sprintf(
		"%s is not a valid %s: it does not match %s",
		Short(m.Value),
		m.Type,
		m.Type.Condition,
	)
}
