package diff

import (
	"bytes"
	"encoding/json"

	"southbound/shared/resource"
)

// UnmarshalJSON implements json.Unmarshaler. It keeps integers exact: they would otherwise be
// decoded as float64, which loses the last digits of long integers.
func (d *Diff) UnmarshalJSON(text []byte) error {
	type plain Diff // without this method
	if err := ReadJSON(text, (*plain)(d)); err != nil {
		return err
	}
	d.Current, d.Desired = Numbers(d.Current), Numbers(d.Desired)
	return nil
}

// ReadJSON decodes JSON and keeps the written form of numbers; Numbers converts them afterwards.
func ReadJSON(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// Numbers converts the numbers in a value from ReadJSON to the types of resource values. It keeps
// numbers that no resource value can represent, such as 1e999.
func Numbers(v any) any {
	if out, err := resource.FromGo(v); err == nil {
		return out
	}
	return v
}
