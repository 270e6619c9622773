package tenant

import (
	"bytes"
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// Nulls marks bodies in which null is meaningful: attributes that are null, and members that
// clients set to null instead of omitting them.
type Nulls struct{}

func (Nulls) MayHoldNull() {}

// Value is any value of JSON, with its numbers in their written form.
type Value struct{ V any }

// UnmarshalJSON implements json.Unmarshaler.
func (v *Value) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(&v.V) // the reader of the body adds the position
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) {
	return json.Marshal(v.V) // the writer of the body adds the position
}

// Schema implements huma.SchemaProvider.
func (Value) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }
