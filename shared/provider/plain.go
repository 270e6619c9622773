package provider

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/resource"
)

// The bounds of Plain.
const (
	maxPlain  = 1000     // values within one value, including lists and maps
	deepPlain = 32       // levels
	maxBytes  = 64 << 10 // of a []byte
)

// Plain converts any value to one that can be stored and sent. It keeps nil, bool, string, int64,
// *big.Int, finite float64, []any, map[string]any, and references of package resource unchanged.
// Structs, bytes and times are converted by JSON. Errors and types with a text form, such as a
// duration, become that text. NaN and the infinities, which JSON does not have, become text.
// Cyclic, deeply nested or very large values are truncated, with a note. Texts keep their length,
// so that secrets in them can still be found.
func Plain(v any) any {
	p := plainer{left: maxPlain, deepest: deepPlain}
	return p.value(v, 0)
}

// Observed converts an attribute that a handler has read to a value of a resource: as Plain, with
// limits that only a faulty handler exceeds.
func Observed(v any) any {
	const limit = 1 << 20
	p := plainer{left: limit, deepest: resource.MaxDepth - 1}
	return p.value(v, 0)
}

// ObservedAll applies Observed to each attribute.
func ObservedAll(attributes map[string]any) map[string]any {
	if attributes == nil {
		return nil
	}
	out := maps.Clone(attributes) // most need no conversion
	for name, v := range attributes {
		switch v.(type) {
		case nil, bool, string, int64:
		default:
			out[name] = Observed(v)
		}
	}
	return out
}

// plainer converts one value.
type plainer struct {
	left    int // how many more values it may convert
	deepest int
	within  []uintptr // the maps, slices and pointers that are being converted
}

const (
	cutOff  = "(the rest is left out)"
	tooDeep = "(nested too deeply)"
	itself  = "(holds itself)"
)

func (p *plainer) value(v any, depth int) any {
	if p.left--; p.left < 0 {
		return cutOff
	}
	switch v := v.(type) {
	case nil, bool, string, int64, resource.File, resource.Secret, resource.Parameter,
		resource.Fact, resource.Text:
		return v
	case int:
		return int64(v)
	case float64:
		return finite(v)
	case []any:
		return p.list(reflect.ValueOf(v), depth)
	case map[string]any:
		return p.hash(reflect.ValueOf(v), depth)
	}
	rv := reflect.ValueOf(v)
	if out, is := p.special(v, rv, depth); is {
		return out
	}
	return p.kind(rv, depth)
}

// finite returns a number, or the text of a number that JSON does not have.
func finite(f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

// special converts values with a conversion of their own. If that code of the handler panics, only
// this value is lost.
func (p *plainer) special(v any, rv reflect.Value, depth int) (out any, is bool) {
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		return nil, true
	}
	defer func() {
		if recover() != nil {
			out, is = fmt.Sprintf("(a %T that cannot be shown)", v), true
		}
	}()
	switch v := v.(type) {
	case *big.Int:
		return v, true
	case json.Number:
		if f, err := v.Int64(); err == nil {
			return f, true
		}
		if f, err := v.Float64(); err == nil {
			return finite(f), true
		}
		return string(v), true
	case error:
		return v.Error(), true
	case time.Time:
		return v.Format(time.RFC3339Nano), true
	case []byte:
		return bytesText(v), true
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		return string(text), err == nil
	case fmt.Stringer:
		return v.String(), true
	case json.Marshaler:
		return p.decoded(v, depth)
	}
	return nil, false
}

func bytesText(b []byte) string {
	if len(b) > maxBytes {
		return fmt.Sprintf("(%d bytes)", len(b))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// decoded converts a value through JSON.
func (p *plainer) decoded(v json.Marshaler, depth int) (any, bool) {
	text, err := v.MarshalJSON()
	if err != nil || len(text) > maxBytes {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil, false
	}
	return p.value(out, depth), true
}

func (p *plainer) kind(v reflect.Value, depth int) any {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		if n := v.Uint(); n > math.MaxInt64 {
			return new(big.Int).SetUint64(n)
		}
		return int64(v.Uint()) // just checked
	case v.Kind() == reflect.Float32:
		f, _ := strconv.ParseFloat(strconv.FormatFloat(v.Float(), 'g', -1, 32), 64) // 0.1 stays 0.1
		return finite(f)
	case v.CanFloat():
		return finite(v.Float())
	}
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool()
	case reflect.String:
		return v.String()
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return p.inside(v, depth, func() any { return p.of(v.Elem(), depth+1) })
	case reflect.Slice, reflect.Array:
		return p.list(v, depth)
	case reflect.Map:
		return p.hash(v, depth)
	case reflect.Struct:
		return p.members(v, depth)
	}
	return fmt.Sprintf("(a %s)", v.Type())
}

// of converts a value that reflection has reached.
func (p *plainer) of(v reflect.Value, depth int) any {
	if !v.CanInterface() {
		return fmt.Sprintf("(a %s)", v.Type())
	}
	return p.value(v.Interface(), depth)
}

// inside calls f for the contents of v, unless v contains itself.
func (p *plainer) inside(v reflect.Value, depth int, f func() any) any {
	if depth >= p.deepest {
		return tooDeep
	}
	if k := v.Kind(); k == reflect.Pointer || k == reflect.Map && v.Len() > 0 ||
		k == reflect.Slice && v.Len() > 0 {
		at := v.Pointer()
		if slices.Contains(p.within, at) {
			return itself
		}
		p.within = append(p.within, at)
		defer func() { p.within = p.within[:len(p.within)-1] }()
	}
	return f()
}

func (p *plainer) list(v reflect.Value, depth int) any {
	return p.inside(v, depth, func() any {
		out := make([]any, 0, min(v.Len(), max(p.left, 0)+1))
		for i := range v.Len() {
			if p.left <= 0 {
				return append(out, cutOff)
			}
			out = append(out, p.of(v.Index(i), depth+1))
		}
		return out
	})
}

func (p *plainer) hash(v reflect.Value, depth int) any {
	return p.inside(v, depth, func() any {
		out := make(map[string]any, min(v.Len(), max(p.left, 0)+1))
		for it := v.MapRange(); it.Next(); {
			if p.left <= 0 {
				out[cutOff] = true
				break
			}
			key := p.of(it.Key(), depth+1)
			text, is := key.(string)
			if !is {
				text = fmt.Sprint(key)
			}
			out[text] = p.of(it.Value(), depth+1)
		}
		return out
	})
}

// members converts a struct to a map, with the names that JSON gives its fields.
func (p *plainer) members(v reflect.Value, depth int) any {
	return p.inside(v, depth, func() any {
		out := map[string]any{}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			omit := strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
			if !f.IsExported() || name == "-" && opts == "" || omit && v.Field(i).IsZero() {
				continue
			}
			if p.left <= 0 {
				out[cutOff] = true
				break
			}
			inner := p.of(v.Field(i), depth+1)
			if m, is := inner.(map[string]any); is && f.Anonymous && name == "" {
				for k, e := range m {
					if _, outer := out[k]; !outer {
						out[k] = e
					}
				}
				continue
			}
			if name == "" {
				name = f.Name
			}
			out[name] = inner
		}
		return out
	})
}
