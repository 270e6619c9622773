package types

import (
	"math"
	"math/big"
)

// Value is a value of a model: Null, bool, int64, *big.Int (beyond int64), float64, string, *List,
// *Dict, *Unknown, an Object or a Reference. A value is immutable once a model can read it.
type Value any

// Null is the value null.
type Null struct{}

// List is a list of values. It holds no lists: nested lists are flattened.
type List struct{ Items []Value }

// Dict maps strings to values, in insertion order.
type Dict struct {
	keys   []string
	values map[string]Value
	weight int // cached result of Weight; 0 if there is none
}

// Unknown is a value that is not known yet. All values that are computed from it are unknown too.
type Unknown struct {
	// Why describes the origin of the value for users.
	Why string
	// Of is the resource whose fact this value is, and Fact is the name of the fact. Of is nil for
	// other values, including values that are computed from a fact.
	Of   Object
	Fact string
	// Parts are the parts of a text of which some are facts that are not known yet, else nil. They
	// are strings, references for which InText returns true, and values of which Of is not nil.
	Parts []Value
}

// InText reports whether the value becomes known as a part of a text.
func (u *Unknown) InText() bool { return u.Of != nil || len(u.Parts) > 0 }

// Object is an instance of an entity.
type Object interface {
	// Type returns the entity of the instance.
	Type() *Entity
	// String returns the form for error messages.
	String() string
	// Text returns the form that interpolation in a text uses.
	Text() string
	// Number identifies the instance. Numbers increase in the order of creation.
	Number() int
}

// Reference is a value that becomes known during deployment. It is opaque to models.
type Reference interface {
	// ReferenceName names the kind of reference.
	ReferenceName() string
	// Of returns the type of the future value; nil for any type.
	Of() Type
}

// NewDict returns an empty dictionary with a capacity of n entries.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]string, 0, n), values: make(map[string]Value, n)}
}

// Set adds an entry, or replaces its value. Only the code that creates the dictionary may call Set.
func (d *Dict) Set(key string, v Value) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
	d.weight = 0
}

// Get returns the value of a key, and whether the key exists.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Keys returns the keys in order. Callers must not change them.
func (d *Dict) Keys() []string { return d.keys }

// Len returns the number of entries.
func (d *Dict) Len() int { return len(d.keys) }

// Spread returns the list of the values, where each value that is a list is replaced by its items.
func Spread(values []Value) *List {
	out := &List{Items: make([]Value, 0, len(values))}
	for _, v := range values {
		if l, ok := v.(*List); ok {
			out.Items = append(out.Items, l.Items...)
			continue
		}
		out.Items = append(out.Items, v)
	}
	return out
}

// Weight returns the total number of values in v, including v itself. A value that occurs in
// several places counts each time, because output repeats it. Each 64 bytes of a string count as
// one value.
func Weight(v Value) int {
	const limit = math.MaxInt / 4 // the sum of two weights does not overflow
	n := 1
	switch v := v.(type) {
	case string:
		return 1 + len(v)/64
	case *List:
		for _, item := range v.Items {
			n = min(n+Weight(item), limit)
		}
	case *Dict:
		if v.weight == 0 {
			for _, k := range v.keys {
				n = min(n+1+len(k)/64+Weight(v.values[k]), limit)
			}
			v.weight = n
		}
		return v.weight
	}
	return n
}

// Integer returns a whole number as a value: an int64 if it fits.
func Integer(n *big.Int) Value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// IsUnknown reports whether a value is unknown.
func IsUnknown(v Value) bool {
	_, ok := v.(*Unknown)
	return ok
}

// Kind names the kind of a value for messages: "an int" for 3.
func Kind(v Value) string {
	switch v := v.(type) {
	case Null:
		return "null"
	case bool:
		return "a bool"
	case int64, *big.Int:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a string"
	case *List:
		return "a list"
	case *Dict:
		return "a dict"
	case *Unknown:
		return "an unknown value"
	case Object:
		return "an instance of " + v.Type().FullName()
	case Reference:
		return "a reference"
	}
	return "something else"
}

// Equal reports whether two values are equal, with the rules of Python: true equals 1, and 1 equals
// 1.0. Instances and unknown values are only equal to themselves.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case Null:
		_, ok := b.(Null)
		return ok
	case *List:
		b, ok := b.(*List)
		return ok && equalLists(a.Items, b.Items)
	case *Dict:
		b, ok := b.(*Dict)
		return ok && equalDicts(a, b)
	case *LaterText:
		b, ok := b.(*LaterText)
		return ok && equalLists(a.Parts, b.Parts)
	case bool, int64, *big.Int, float64:
		return isNumber(b) && compare(a, b) == 0
	}
	return a == b
}

func equalLists(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equalDicts(a, b *Dict) bool {
	if len(a.keys) != len(b.keys) {
		return false
	}
	for _, k := range a.keys {
		if v, ok := b.values[k]; !ok || !Equal(a.values[k], v) {
			return false
		}
	}
	return true
}
