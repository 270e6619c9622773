package types

import (
	"math"
	"math/big"
)

// Value is what a variable holds: Null, bool, int64, *big.Int (beyond int64), float64, string,
// *List, *Dict, *Unknown, an Object or a Reference. A value never changes once a model can see it.
type Value any

// Null is the value null.
type Null struct{}

// List is a list of values. It holds no lists: a list in a list is spread out.
type List struct{ Items []Value }

// Dict maps texts to values, in the order in which they were written.
type Dict struct {
	keys   []string
	values map[string]Value
	weight int // as Weight returns it; 0 as long as nobody asked
}

// Unknown is a value that cannot be known yet. Whatever is computed from it is unknown too.
type Unknown struct {
	// Why says where it comes from, for people.
	Why string
	// Of is the resource whose fact it is, and Fact the name of that; nil for all others, also for
	// what is computed from one.
	Of   Object
	Fact string
}

// Object is an instance of an entity.
type Object interface {
	// Type returns the entity that it is an instance of.
	Type() *Entity
	// String returns it as error messages show it.
	String() string
	// Text returns it as a text into which it is put has it.
	Text() string
	// Number tells instances apart. It grows in the order in which they were made.
	Number() int
}

// Reference is a value that is known when a resource is deployed. To a model it is opaque.
type Reference interface {
	// ReferenceName names the kind of reference.
	ReferenceName() string
	// Of returns the type of the value that it will have; nil for any.
	Of() Type
}

// NewDict returns a dictionary with room for n entries.
func NewDict(n int) *Dict {
	return &Dict{keys: make([]string, 0, n), values: make(map[string]Value, n)}
}

// Set adds an entry, or replaces the value of one. It is for whoever builds the dictionary.
func (d *Dict) Set(key string, v Value) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
	d.weight = 0
}

// Get returns the value of a key, and whether there is one.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

// Keys returns the keys in order. They are not to be changed.
func (d *Dict) Keys() []string { return d.keys }

// Len returns the number of entries.
func (d *Dict) Len() int { return len(d.keys) }

// Spread returns the list of some values. A list among them is replaced by its items.
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

// Weight returns how many values a value holds all told, itself among them and what is in several
// places as often: so many are written when it is shown. Each 64 bytes of a text count like one.
func Weight(v Value) int {
	const limit = math.MaxInt / 4 // a sum of two is not too large
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

// Integer returns a whole number as a value: an int64 where it fits.
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

// Kind names the kind of a value, as messages say it: "the number 3" without the number.
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

// Equal reports whether two values are equal as in Python: true is 1, and 1 is 1.0. Instances and
// unknown values are equal to themselves.
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
