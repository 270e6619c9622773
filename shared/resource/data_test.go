package resource_test

import (
	"encoding/json"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestDataOf pins the JSON of Go values, the text of it, and that values come back as they were.
func TestDataOf(t *testing.T) {
	t.Parallel()
	type endpoint struct {
		Port int    `json:"port"`
		Host string `json:"host,omitempty"`
	}
	for _, c := range []struct {
		in    any
		json  string
		text  string // "" the same
		value any
	}{
		{in: nil, json: "null", value: nil},
		{in: "a\n\"b", json: `"a\n\"b"`, text: "a\n\"b", value: "a\n\"b"},
		{in: "a\xff", json: `"a` + "\uFFFD" + `"`, text: "a\uFFFD", value: "a\uFFFD"},
		{in: 7, json: "7", value: int64(7)},
		{in: uint64(math.MaxUint64), json: "18446744073709551615",
			value: new(big.Int).SetUint64(math.MaxUint64)},
		{in: 5.0, json: "5.0", value: 5.0},
		{in: float32(0.5), json: "0.5", value: 0.5},
		{in: json.Number("1e3"), json: "1000.0", value: 1000.0},
		{in: true, json: "true", value: true},
		{in: []string{"a", "b"}, json: `["a","b"]`, value: []any{"a", "b"}},
		{in: map[string]int{"b": 1, "a": 2}, json: `{"a":2,"b":1}`,
			value: map[string]any{"a": int64(2), "b": int64(1)}},
		{in: []endpoint{{Port: 80}}, json: `[{"port":80}]`,
			value: []any{map[string]any{"port": int64(80)}}},
		{in: []byte("hi"), json: `"aGk="`, text: "aGk=", value: "aGk="},
		{in: time.Unix(0, 0).UTC(), json: `"1970-01-01T00:00:00Z"`, text: "1970-01-01T00:00:00Z",
			value: "1970-01-01T00:00:00Z"},
		// maps that look like references are data, at any depth
		{in: map[string]any{"secret": "env:HOME"}, json: `{"secret":"env:HOME"}`,
			value: map[string]any{"secret": "env:HOME"}},
		{in: []any{map[string]any{"value": map[string]any{"text": []any{"x"}}}},
			json:  `[{"value":{"text":["x"]}}]`,
			value: []any{map[string]any{"value": map[string]any{"text": []any{"x"}}}}},
	} {
		d, err := resource.DataOf(c.in)
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
			continue
		}
		if c.text == "" {
			c.text = c.json
		}
		_, isText := c.value.(string)
		if d.JSON() != c.json || d.Text() != c.text || d.IsText() != isText ||
			!reflect.DeepEqual(d.Value(), c.value) {
			t.Errorf("%v: %s, %q, %#v", c.in, d.JSON(), d.Text(), d.Value())
		}
		var again resource.Data
		if b, err := json.Marshal(d); err != nil || json.Unmarshal(b, &again) != nil || again != d {
			t.Errorf("%v: %s, %v is read as %s", c.in, b, err, again.JSON())
		}
	}
	if (resource.Data{}).JSON() != "null" || (resource.Data{}).Value() != nil {
		t.Error("the zero value is null")
	}
}

// TestDataThatIsNone pins what is no JSON value.
func TestDataThatIsNone(t *testing.T) {
	t.Parallel()
	loop := map[string]any{}
	loop["x"] = loop
	for name, v := range map[string]any{
		"channel": make(chan int), "function": func() {}, "not a number": math.NaN(),
		"infinity": []any{math.Inf(1)}, "a map that holds itself": loop,
		"secret":    resource.Secret{Source: "env:X"},
		"parameter": map[string]any{"x": resource.Parameter{Name: "p"}},
		"text":      resource.Text{Parts: []any{resource.Secret{Source: "env:X"}}},
		"keys":      map[int]func(){1: nil},
	} {
		if d, err := resource.DataOf(v); err == nil || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %s, %v", name, d.JSON(), err)
		}
	}
	for _, text := range []string{"", "{", `{"a":1,"a":2}`, "[1] 2", "nul", "NaN", "1e999",
		strings.Repeat("[", 300)} {
		if d, err := resource.ParseData([]byte(text)); err == nil {
			t.Errorf("%.20q is read as %s", text, d.JSON())
		}
	}
}

// TestSameData pins which values are the same again.
func TestSameData(t *testing.T) {
	t.Parallel()
	parse := func(text string) resource.Data {
		d, err := resource.ParseData([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		return d
	}
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2]}`, ` { "b" : [2.0], "a":1e0 } `, true},
		{`"a"`, `"\u0061"`, true},
		{`-0.0`, `0`, true},
		{`[1,2]`, `[2,1]`, false},
		{`"1"`, `1`, false},
		{`null`, `""`, false},
		{`true`, `"true"`, false},
		{`12345678901234567890123`, `12345678901234567890124`, false},
	} {
		if a, b := parse(c.a), parse(c.b); a.Same(b) != c.same || b.Same(a) != c.same {
			t.Errorf("%s, %s: want same %v", c.a, c.b, c.same)
		}
	}
}
