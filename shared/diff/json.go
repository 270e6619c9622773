package diff

import (
	"bytes"
	"encoding/json"

	"southbound/shared/resource"
)

// UnmarshalJSON implements json.Unmarshaler. Whole numbers stay as they are: a float64, as which
// they would be read otherwise, has no room for the last digits of a long one.
func (d *Diff) UnmarshalJSON(text []byte) error {
	type plain Diff // without this method
	if err := ReadJSON(text, (*plain)(d)); err != nil {
		return err
	}
	d.Current, d.Desired = Numbers(d.Current), Numbers(d.Desired)
	return nil
}

// ReadJSON reads JSON with its numbers as they are written; Numbers completes it.
func ReadJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// Numbers returns a value that ReadJSON has read with its numbers as values of resources have them.
// What no value of a resource can be, such as 1e999, it leaves as it is.
func Numbers(v any) any {
	if out, err := resource.FromGo(v); err == nil {
		return out
	}
	return v
}
