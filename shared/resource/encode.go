package resource

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"southbound/shared/fault"
)

// MaxDepth is the maximum nesting of lists and maps in encoding and decoding.
const MaxDepth = 200

// style is the format of numbers and of maps.
type style int

const (
	// exact keeps the kind of a number: 5.0 is not 5.
	exact style = iota
	// byValue writes a float without a fraction as the equal integer, so that Equal values have the
	// same hash.
	byValue
	// plain is exact for values without references: each map is written as it is.
	plain
)

// CanonicalValue returns the canonical JSON of a value. Members are ordered by the UTF-16 code
// units of their names. Texts are escaped as in RFC 8785, without Unicode normalization. Integers
// are exact at any size. A float has its shortest form, always with a fraction or an exponent; -0
// is written -0.0. References have the forms used in documents. A literal map with the name of a
// reference form (file, secret, parameter, fact, value), or with a list named text as its only
// member, is wrapped in {"value": ...}. DecodeValue is the inverse.
//
// CanonicalValue returns fault.Invalid for NaN, infinities, text that is not UTF-8, more than
// MaxDepth levels, incomplete references, and Go types that are not values.
func CanonicalValue(v any) ([]byte, error) { return AppendValue(nil, v) }

// AppendValue appends the result of CanonicalValue to b.
func AppendValue(b []byte, v any) ([]byte, error) { return appendValue(b, v, exact, 0) }

func appendValue(b []byte, v any, s style, depth int) ([]byte, error) {
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
		if v == nil {
			return b, notValue("a nil number")
		}
		return v.Append(b, 10), nil
	case float64:
		return appendNumber(b, v, s)
	case []any:
		return appendList(b, v, s, depth)
	case map[string]any:
		return appendMap(b, v, s, depth, s != plain)
	}
	if s == plain {
		return b, notValue(fmt.Sprintf("a %T", v))
	}
	return appendReference(b, v)
}

func notValue(what string) error {
	return fault.New(fault.Invalid, "encode value", "%s is not a value", what)
}

func appendReference(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case File:
		if !validHash(v.Hash) || v.Size < 0 {
			return b, notValue("a file without a SHA-256 and a size")
		}
		b = append(append(b, `{"file":"`...), v.Hash...)
		b = strconv.AppendInt(append(b, `","size":`...), v.Size, 10)
	case Secret:
		if v.Source == "" {
			return b, notValue("a secret without a source")
		}
		b, err = appendString(append(b, `{"secret":`...), v.Source)
		if err == nil && v.Version != "" {
			b, err = appendString(append(b, `,"version":`...), v.Version)
		}
	case Parameter:
		if v.Name == "" {
			return b, notValue("a parameter without a name")
		}
		b, err = appendString(append(b, `{"parameter":`...), v.Name)
	case Fact:
		if v.Name == "" || v.Of == "" {
			return b, notValue("a fact without a name and a resource")
		}
		b, err = appendString(append(b, `{"fact":`...), v.Name)
		if err == nil {
			b, err = appendString(append(b, `,"of":`...), string(v.Of))
		}
	case Text:
		b, err = appendText(b, v)
	default:
		return b, fault.New(fault.Invalid, "encode value", "a %T is not a value", v)
	}
	return append(b, '}'), err
}

// appendText appends the form of a text without its last brace.
func appendText(b []byte, t Text) ([]byte, error) {
	if len(References(t)) == 0 {
		return b, notValue("a text of parts without a reference")
	}
	b = append(b, `{"text":[`...)
	for i, p := range t.Parts {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		switch p := p.(type) {
		case string:
			b, err = appendString(b, p)
		case Secret, Parameter, Fact:
			b, err = appendReference(b, p)
		default:
			err = notValue("a text with " + KindOf(p))
		}
		if err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

func validHash(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}

// textForm reports whether a map could be mistaken for a Text: its only member is a list of parts.
func textForm(m map[string]any) bool {
	_, list := m["text"].([]any)
	return list && len(m) == 1
}

// formKey reports whether a map with this key could be mistaken for a reference.
func formKey(key string) bool {
	switch key {
	case "file", "secret", "parameter", "fact", "value":
		return true
	}
	return false
}

func appendNumber(b []byte, f float64, s style) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fault.New(fault.Invalid, "encode value", "%v is not a number that can be stored",
			f)
	}
	whole := f == math.Trunc(f)
	if s == byValue && whole && f != 0 {
		// all digits, as for the equal integer
		return strconv.AppendFloat(b, f, 'f', 0, 64), nil
	}
	if s != byValue && f == 0 && math.Signbit(f) {
		b = append(b, '-') // a program may distinguish -0 from 0, although they are equal
	}
	b = appendFloat(b, f)
	if s != byValue && whole && math.Abs(f) < 1e21 {
		b = append(b, '.', '0')
	}
	return b, nil
}

// appendFloat writes a finite number in the format of ECMAScript.
func appendFloat(b []byte, f float64) []byte {
	abs := math.Abs(f)
	if f == 0 {
		return append(b, '0') // -0 too
	}
	if abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// ECMAScript writes e-7 where Go writes e-07.
	if n := len(b); b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b = append(b[:n-2], b[n-1])
	}
	return b
}

func appendList(b []byte, list []any, s style, depth int) ([]byte, error) {
	if depth >= MaxDepth {
		return b, tooDeep()
	}
	var err error
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, e, s, depth+1); err != nil {
			return b, fault.Wrap(fault.Invalid, "in item "+strconv.Itoa(i+1), err)
		}
	}
	return append(b, ']'), nil
}

func tooDeep() error {
	return fault.New(fault.Invalid, "encode value", "lists and maps are nested more than %d deep",
		MaxDepth)
}

// appendMap writes a map. If wrap is set, a map that could be mistaken for a reference is wrapped
// as a literal.
func appendMap(b []byte, m map[string]any, s style, depth int, wrap bool) ([]byte, error) {
	var room [16]string
	keys := room[:0]
	literal := wrap && textForm(m)
	for k := range m {
		literal = literal || wrap && formKey(k)
		keys = append(keys, k)
	}
	sortKeys(keys)
	if literal {
		b = append(b, `{"value":`...)
		depth++
	}
	if depth >= MaxDepth {
		return b, tooDeep()
	}
	var err error
	b = append(b, '{')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendString(b, k); err != nil {
			return b, err
		}
		b = append(b, ':')
		if b, err = appendValue(b, m[k], s, depth+1); err != nil {
			return b, fault.Wrap(fault.Invalid, "in "+strconv.Quote(k), err)
		}
	}
	b = append(b, '}')
	if literal {
		b = append(b, '}')
	}
	return b, nil
}

func sortKeys(keys []string) {
	if len(keys) > 16 {
		slices.SortFunc(keys, compareUTF16)
		return
	}
	for i := 1; i < len(keys); i++ {
		for j := i; j > 0 && compareUTF16(keys[j], keys[j-1]) < 0; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// compareUTF16 orders texts by their UTF-16 code units. This is the order of their bytes, with one
// exception: UTF-16 orders U+E000 to U+FFFF (first bytes EE and EF) after the characters that it
// encodes as surrogates (first bytes F0 and up).
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if x, y := a[i], b[i]; x != y {
			return unitOrder(x) - unitOrder(y)
		}
	}
	return len(a) - len(b)
}

func unitOrder(c byte) int {
	if c == 0xEE || c == 0xEF {
		return int(c) + 0x10
	}
	return int(c)
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) ([]byte, error) {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return b, fault.New(fault.Invalid, "encode value",
					"the text is not UTF-8 at byte %d", i+1)
			}
			i += n
			continue
		case c >= 0x20 && c != '"' && c != '\\':
			i++
			continue
		}
		b = append(b, s[from:i]...)
		b = appendEscape(b, c)
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"'), nil
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '\r':
		return append(b, '\\', 'r')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Encode returns the canonical JSON of the whole resource, which Decode reads. Flags with their
// default value are left out.
func (r *Resource) Encode() ([]byte, error) {
	b, err := appendMap(append(make([]byte, 0, r.size()), `{"attributes":`...), r.Attributes, exact,
		0, false)
	if len(r.Followed) > 0 && err == nil {
		b, err = appendMap(append(b, `,"followed":`...), r.Followed, exact, 0, false)
	}
	if r.Subscribed {
		b = append(b, `,"heard":true`...)
	}
	if err == nil {
		b, err = appendIDs(b, "hears", r.Subscriptions)
	}
	if err == nil {
		b, err = appendString(append(b, `,"id":`...), string(r.ID))
	}
	if r.PreventDestroy {
		b = append(b, `,"prevent_destroy":true`...)
	}
	if r.PurgeOnDelete {
		b = append(b, `,"purge_on_delete":true`...)
	}
	if r.Purged {
		b = append(b, `,"purged":true`...)
	}
	if !r.ReceiveEvents {
		b = append(b, `,"receive_events":false`...)
	}
	if r.ReportOnly {
		b = append(b, `,"report_only":true`...)
	}
	if err == nil {
		b, err = appendIDs(b, "requires", r.Requires)
	}
	if r.SendEvent {
		b = append(b, `,"send_event":true`...)
	}
	if r.Set != "" && err == nil {
		b, err = appendString(append(b, `,"set":`...), r.Set)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "encode "+string(r.ID), err)
	}
	return append(b, '}'), nil
}

// appendIDs appends a member that is a list of ids, unless the list is empty.
func appendIDs(b []byte, key string, ids []ID) ([]byte, error) {
	if len(ids) == 0 {
		return b, nil
	}
	b = append(append(append(b, ",\""...), key...), "\":"...)
	var err error
	for i := 0; i < len(ids) && err == nil; i++ {
		if i == 0 {
			b = append(b, '[')
		} else {
			b = append(b, ',')
		}
		b, err = appendString(b, string(ids[i]))
	}
	return append(b, ']'), err
}

// size estimates the length of the encoding, so that its buffer rarely has to grow.
func (r *Resource) size() int {
	n := 64 + len(r.ID) + len(r.Set)
	for k, v := range r.Attributes {
		n += len(k) + 10
		switch v := v.(type) {
		case string:
			n += len(v)
		case File:
			n += 96
		case []any:
			n += 16 * len(v)
		}
	}
	for _, ids := range [][]ID{r.Requires, r.Subscriptions} {
		for _, id := range ids {
			n += len(id) + 4
		}
	}
	return n + n/16
}

// hashRooms is a pool of buffers for the hashed encoding. A buffer larger than maxHashRoom is not
// reused.
var hashRooms = sync.Pool{New: func() any { return new(make([]byte, 0, 1024)) }}

const maxHashRoom = 64 << 10

// Hash returns the identity of the intent: the SHA-256, in lower-case hex, of the id, the
// attributes, the flags Purged, ReportOnly and PreventDestroy, and the connection of the agent. The
// hash excludes the requirements, the set, the other flags, and the number of lanes. Numbers are
// hashed by value: 5.0 and 5 have the same hash, as all Equal values do.
func (r *Resource) Hash(a Agent) (string, error) {
	room := hashRooms.Get().(*[]byte) // the pool holds only this type
	defer hashRooms.Put(room)
	b, err := appendMap(append((*room)[:0], `{"agent":{"options":`...), a.Options, byValue, 0,
		false)
	if err == nil {
		b, err = appendString(append(b, `,"transport":`...), a.Transport)
	}
	if err == nil {
		b, err = appendMap(append(b, `},"attributes":`...), r.Attributes, byValue, 0, false)
	}
	if err == nil {
		b, err = appendString(append(b, `,"id":`...), string(r.ID))
	}
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "hash "+string(r.ID), err)
	}
	if r.PreventDestroy { // written only if set, so that the hashes of other intents do not change
		b = append(b, `,"prevent_destroy":true`...)
	}
	b = strconv.AppendBool(append(b, `,"purged":`...), r.Purged)
	b = append(strconv.AppendBool(append(b, `,"report_only":`...), r.ReportOnly), '}')
	if cap(b) <= maxHashRoom {
		*room = b
	}
	sum := sha256.Sum256(b)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:]), nil
}
