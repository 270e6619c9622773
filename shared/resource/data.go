package resource

import (
	"encoding/json"
	"strings"

	"southbound/shared/fault"
)

// Data is a JSON value without references, such as the value of a fact. A map in it is data, whatever
// its members. Values of equal texts are equal; Same also compares numbers by value. The zero Data is
// null.
type Data struct{ json string } // canonical JSON, "" for null

// DataOf returns a value as Data. It accepts the values that FromGo accepts, except references, and
// any other Go value that package encoding/json encodes. The error is fault.Invalid.
func DataOf(v any) (Data, error) {
	if text, is := v.(string); is {
		return TextData(text), nil
	}
	converted, err := FromGo(v)
	if _, bytes := v.([]byte); err != nil || bytes {
		encoded, err := json.Marshal(v)
		if err != nil {
			return Data{}, fault.Wrap(fault.Invalid, "encode value", err)
		}
		return ParseData(encoded)
	}
	b, err := appendValue(nil, converted, plain, 0)
	if err != nil {
		return Data{}, err
	}
	return Data{string(b)}, nil
}

// TextData returns a text as Data. Bytes that are not UTF-8 are replaced by U+FFFD.
func TextData(text string) Data {
	b, err := appendString(nil, text)
	if err != nil {
		b, _ = appendString(nil, strings.ToValidUTF8(text, "\uFFFD")) // it is UTF-8 now
	}
	return Data{string(b)}
}

// ParseData reads JSON. The error is fault.Invalid.
func ParseData(text []byte) (Data, error) {
	d := &decoder{s: string(text), plain: true}
	v := d.value(0)
	d.end()
	if d.err != nil {
		return Data{}, d.err
	}
	b, err := appendValue(nil, v, plain, 0)
	if err != nil {
		return Data{}, err
	}
	return Data{string(b)}, nil
}

// JSON returns the canonical JSON of the value, in the form of CanonicalValue.
func (d Data) JSON() string {
	if d.json == "" {
		return "null"
	}
	return d.json
}

// IsText reports whether the value is a text.
func (d Data) IsText() bool { return strings.HasPrefix(d.json, `"`) }

// Text returns a text as it is, and any other value as its JSON.
func (d Data) Text() string {
	if s, is := d.Value().(string); is {
		return s
	}
	return d.JSON()
}

// Value returns the value: nil, bool, string, int64, *big.Int, float64, []any or map[string]any.
func (d Data) Value() any {
	if d.json == "" {
		return nil
	}
	p := &decoder{s: d.json, plain: true}
	return p.value(0) // the text was written by this package
}

// Same reports whether two values are equal as those of Equal are, whatever the forms of numbers.
func (d Data) Same(o Data) bool {
	return d == o || Equal(d.Value(), o.Value())
}

// MarshalJSON returns the value itself.
func (d Data) MarshalJSON() ([]byte, error) { return []byte(d.JSON()), nil }

// UnmarshalJSON is ParseData.
func (d *Data) UnmarshalJSON(text []byte) error {
	var err error
	*d, err = ParseData(text)
	return err
}
