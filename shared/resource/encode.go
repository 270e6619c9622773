package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"southbound/shared/fault"
)

// CanonicalValue returns the canonical JSON of a value: members ordered and texts escaped as in RFC 8785, integers exact at any size, a
// float with an integral value like that integer. References stand in the forms of documents; a literal map that looks like
// one of these stands in {"value": ...}.
func CanonicalValue(v any) ([]byte, error) { return AppendValue(nil, v) }

// AppendValue appends what CanonicalValue returns. NaN, infinities, text that is not UTF-8 and unknown Go types are fault.Invalid.
func AppendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendString(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case *big.Int:
		return v.Append(b, 10), nil
	case float64:
		return appendFloat(b, v)
	case []any:
		return appendList(b, v)
	case map[string]any:
		if !looksLikeForm(v) {
			return appendMap(b, v)
		}
		b, err := appendMap(append(b, `{"value":`...), v)
		return append(b, '}'), err
	case File:
		b = append(b, `{"file":"`...)
		b = append(b, v.Hash...)
		b = append(b, `","size":`...)
		return append(strconv.AppendInt(b, v.Size, 10), '}'), nil
	case Secret:
		b, err := appendString(append(b, `{"secret":`...), v.Source)
		if err == nil && v.Version != "" {
			b, err = appendString(append(b, `,"version":`...), v.Version)
		}
		return append(b, '}'), err
	case Parameter:
		b, err := appendString(append(b, `{"parameter":`...), v.Name)
		return append(b, '}'), err
	case Fact:
		b, err := appendString(append(b, `{"fact":`...), v.Name)
		if err == nil {
			b, err = appendString(append(b, `,"of":`...), string(v.Of))
		}
		return append(b, '}'), err
	}
	return b, fault.New(fault.Invalid, "encode value", "a %T is no value", v)
}

// looksLikeForm reports whether a literal map has the keys of a reference.
func looksLikeForm(m map[string]any) bool {
	for _, key := range []string{"file", "secret", "parameter", "fact", "value"} {
		if _, ok := m[key]; ok {
			return true
		}
	}
	return false
}

func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fault.New(fault.Invalid, "encode value", "%v is not a number that can be stored", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e21 {
		if f == 0 {
			return append(b, '0'), nil
		}
		i, _ := new(big.Float).SetFloat64(f).Int(nil)
		return i.Append(b, 10), nil
	}
	if math.Abs(f) < 1e-6 || math.Abs(f) >= 1e21 {
		from := len(b)
		b = strconv.AppendFloat(b, f, 'e', -1, 64)
		// ECMAScript writes e-7, Go e-07.
		if n := len(b); n-from >= 4 && b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
			b = append(b[:n-2], b[n-1])
		}
		return b, nil
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), nil
}

func appendList(b []byte, list []any) ([]byte, error) {
	var err error
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = AppendValue(b, e); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func appendMap(b []byte, m map[string]any) ([]byte, error) {
	var err error
	b = append(b, '{')
	for i, k := range sortedKeys(m) {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, k); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = AppendValue(b, m[k]); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// sortedKeys orders keys by their UTF-16 code units, as RFC 8785 does.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	ascii := true
	for k := range m {
		keys = append(keys, k)
		for i := 0; i < len(k); i++ {
			ascii = ascii && k[i] < utf8.RuneSelf
		}
	}
	if ascii {
		slices.Sort(keys)
	} else {
		slices.SortFunc(keys, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
	}
	return keys
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) ([]byte, error) {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return b, fault.New(fault.Invalid, "encode value", "the text is not UTF-8 at byte %d", i)
			}
			i += n
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"'), nil
}

// Encode returns the canonical JSON of the whole resource, which Decode reads.
func (r *Resource) Encode() ([]byte, error) {
	b := make([]byte, 0, 256)
	b, err := appendMap(append(b, `{"attributes":`...), r.Attributes)
	if err != nil {
		return nil, err
	}
	if b, err = appendString(append(b, `,"id":`...), string(r.ID)); err != nil {
		return nil, err
	}
	for _, f := range r.flags() {
		if *f.value != f.usual {
			b = fmt.Appendf(b, `,%q:%t`, f.name, *f.value)
		}
	}
	for i, id := range r.Requires {
		if b = append(b, ','); i == 0 {
			b = append(b, `"requires":[`...)
		}
		if b, err = appendString(b, string(id)); err != nil {
			return nil, err
		}
	}
	if len(r.Requires) > 0 {
		b = append(b, ']')
	}
	if r.Set != "" {
		if b, err = appendString(append(b, `,"set":`...), r.Set); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

type flag struct {
	name  string
	value *bool
	usual bool
}

func (r *Resource) flags() []flag {
	return []flag{{"purge_on_delete", &r.PurgeOnDelete, false}, {"purged", &r.Purged, false}, {"receive_events", &r.ReceiveEvents, true},
		{"report_only", &r.ReportOnly, false}, {"send_event", &r.SendEvent, false}}
}

// Hash returns the identity of the intent: the SHA-256, in hex, of the id, the attributes, whether it is purged or report-only, and
// how the agent is reached. What it requires, its set and its other flags are no part of it.
func (r *Resource) Hash(a Agent) (string, error) {
	b := make([]byte, 0, 256)
	options := a.Options
	b, err := appendMap(append(b, `{"agent":{"options":`...), options)
	if err != nil {
		return "", err
	}
	if b, err = appendString(append(b, `,"transport":`...), a.Transport); err != nil {
		return "", err
	}
	if b, err = appendMap(append(b, `},"attributes":`...), r.Attributes); err != nil {
		return "", err
	}
	if b, err = appendString(append(b, `,"id":`...), string(r.ID)); err != nil {
		return "", err
	}
	b = fmt.Appendf(b, `,"purged":%t,"report_only":%t}`, r.Purged, r.ReportOnly)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}
