package python

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/lang/types"
)

// maxFrame is the maximum size in bytes of a frame: the request or the result of one call.
const maxFrame = 64 << 20

// maxDepth is the maximum nesting depth of values in a frame.
const maxDepth = 1000

// reference stands for a reference that Python code has made. The object itself stays in Python.
type reference struct {
	index int64
	class string
	of    string // the name of the type of its value
}

// ReferenceName implements types.Reference.
func (r reference) ReferenceName() string { return r.class }

// Of implements types.Reference.
func (r reference) Of() types.Type { return types.Builtin(r.of) }

// function stands for a function that Python code has returned. The function itself stays in
// Python.
type function struct {
	index int64
	name  string
}

// MarshalJSON implements json.Marshaler.
func (f function) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"function": f.name})
}

// omitted stands for an argument whose default is known only in Python.
type omitted struct{}

// tagged appends a tag and its value as JSON: {"e": ...}.
func tagged(b []byte, tag string, of func([]byte) []byte) []byte {
	b = append(b, `{"`...)
	b = append(b, tag...)
	b = append(b, `":`...)
	return append(of(b), '}')
}

// appendValue appends the encoding of a value.
func appendValue(b []byte, v types.Value) []byte {
	switch v := v.(type) {
	case nil, types.Null:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case *big.Int:
		return v.Append(b, 10)
	case float64:
		return appendFloat(b, v)
	case string:
		return appendText(b, v)
	case *types.List:
		b = append(b, '[')
		for i, item := range v.Items {
			b = appendValue(comma(b, i), item)
		}
		return append(b, ']')
	case *types.Dict:
		return tagged(b, "d", func(b []byte) []byte { return appendDict(b, v) })
	case types.Object:
		return tagged(b, "e", func(b []byte) []byte {
			b = strconv.AppendInt(append(b, '['), int64(v.Number()), 10)
			return append(appendText(append(b, ','), v.Type().FullName()), ']')
		})
	case *types.Unknown:
		return tagged(b, "u", func(b []byte) []byte { return appendUnknown(b, v) })
	case reference:
		return tagged(b, "r", func(b []byte) []byte { return strconv.AppendInt(b, v.index, 10) })
	case function:
		return tagged(b, "p", func(b []byte) []byte { return strconv.AppendInt(b, v.index, 10) })
	case types.Reference:
		return tagged(b, "o", func(b []byte) []byte { return appendOther(b, v) })
	case omitted:
		return append(b, `{"x":0}`...)
	}
	return append(b, "null"...) // there are no other kinds of values
}

// appendUnknown appends the reason why a value is unknown; for a fact also its resource and name.
func appendUnknown(b []byte, v *types.Unknown) []byte {
	if v.Of == nil {
		return appendText(b, v.Why)
	}
	b = append(appendText(append(b, '['), v.Why), ',')
	b = append(strconv.AppendInt(b, int64(v.Of.Number()), 10), ',')
	return append(appendText(b, v.Fact), ']')
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

func appendDict(b []byte, d *types.Dict) []byte {
	b = append(b, '{')
	for i, k := range d.Keys() {
		v, _ := d.Get(k)
		b = append(appendText(comma(b, i), k), ':')
		b = appendValue(b, v)
	}
	return append(b, '}')
}

func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `{"f":"nan"}`...)
	case math.IsInf(f, 1):
		return append(b, `{"f":"inf"}`...)
	case math.IsInf(f, -1):
		return append(b, `{"f":"-inf"}`...)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !strings.ContainsAny(string(b[n:]), ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// appendText appends a string as JSON.
func appendText(b []byte, s string) []byte {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] < 0x80
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	text, _ := json.Marshal(s) // a string can always be encoded
	return append(b, text...)
}

// writeFrame writes a frame.
func writeFrame(w io.Writer, body []byte) error {
	if len(body) > maxFrame {
		return fmt.Errorf("%d bytes are too many for one call: at most %d", len(body), maxFrame)
	}
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, len(body)+4), uint32(len(body)))
	_, err := w.Write(append(frame, body...))
	return err
}

// readFrame reads a frame into a buffer, which it returns.
func readFrame(r io.Reader, b []byte) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if n > maxFrame {
		return nil, errors.New("a frame is too large")
	}
	if cap(b) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	_, err := io.ReadFull(r, b)
	return b, err
}
