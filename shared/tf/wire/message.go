package wire

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds how deep messages nest. The deepest real schemas have about ten levels, which are
// three messages each.
const maxDepth = 100

var errDepth = fmt.Errorf("messages nest deeper than %d levels", maxDepth)

// message is a message that is being written. Fields with zero values are left out, as proto3 does.
type message []byte

func (m *message) text(n protowire.Number, s string) {
	if s != "" {
		*m = protowire.AppendString(protowire.AppendTag(*m, n, protowire.BytesType), s)
	}
}

func (m *message) bytes(n protowire.Number, b []byte) {
	if len(b) > 0 {
		m.sub(n, b)
	}
}

func (m *message) number(n protowire.Number, v int64) {
	if v != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, n, protowire.VarintType), uint64(v))
	}
}

// sub writes a message as a field, even an empty one.
func (m *message) sub(n protowire.Number, sub message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, n, protowire.BytesType), sub)
}

// value writes a value, unless it is absent.
func (m *message) value(n protowire.Number, v DynamicValue) {
	if v.Absent() {
		return
	}
	var sub message
	sub.bytes(1, v.Msgpack)
	sub.bytes(2, v.JSON)
	m.sub(n, sub)
}

// identity writes the identity of a resource, unless it is absent.
func (m *message) identity(n protowire.Number, v DynamicValue) {
	if v.Absent() {
		return
	}
	var sub message
	sub.value(1, v)
	m.sub(n, sub)
}

// rawState writes a stored state as JSON.
func (m *message) rawState(n protowire.Number, json []byte) {
	var sub message
	sub.bytes(1, json)
	m.sub(n, sub)
}

// writeOnly writes the capabilities of this client: it sends attributes that are write-only. It
// does not accept deferred answers.
func (m *message) writeOnly(n protowire.Number) {
	var sub message
	sub.number(2, 1)
	m.sub(n, sub)
}

// reader reads an answer. It keeps the first error.
type reader struct {
	protocol Protocol
	depth    int
	err      error
}

// field is one field of a message that is being read.
//
// Large: it has one method for each kind of message.
type field struct {
	r      *reader
	number protowire.Number
	kind   protowire.Type
	varint uint64
	data   []byte
}

// each calls f for each field of a message, in the order of the message.
func (r *reader) each(b []byte, f func(field)) {
	if r.depth++; r.depth > maxDepth {
		r.fail(errDepth)
	}
	defer func() { r.depth-- }()
	for len(b) > 0 && r.err == nil {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			r.fail(protowire.ParseError(size))
			return
		}
		b = b[size:]
		v := field{r: r, number: n, kind: kind}
		switch kind {
		case protowire.VarintType:
			v.varint, size = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v.data, size = protowire.ConsumeBytes(b)
		default:
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			r.fail(protowire.ParseError(size))
			return
		}
		b = b[size:]
		f(v)
	}
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// is reports whether the field has the expected encoding, and fails the reader if it does not.
func (v field) is(kind protowire.Type) bool {
	if v.kind != kind {
		v.r.fail(fmt.Errorf("field %d has the wire type %d instead of %d", v.number, v.kind, kind))
	}
	return v.kind == kind
}

// each calls f for each field of the message in this field.
func (v field) each(f func(field)) {
	if v.is(protowire.BytesType) {
		v.r.each(v.data, f)
	}
}

func (v field) text() string {
	if !v.is(protowire.BytesType) {
		return ""
	}
	return strings.ToValidUTF8(string(v.data), "\uFFFD")
}

// bytes returns a part of the answer itself; see copied.
func (v field) bytes() []byte {
	if !v.is(protowire.BytesType) || len(v.data) == 0 {
		return nil
	}
	return v.data
}

// copied returns bytes that do not keep the rest of the answer in memory.
func (v field) copied() []byte { return append([]byte(nil), v.bytes()...) }

func (v field) number64() int64 {
	v.is(protowire.VarintType)
	return int64(v.varint)
}

func (v field) flag() bool { return v.number64() != 0 }

func (v field) value() (out DynamicValue) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Msgpack = f.bytes()
		case 2:
			out.JSON = f.bytes()
		}
	})
	return out
}

func (v field) identity() (out DynamicValue) {
	v.each(func(f field) {
		if f.number == 1 {
			out = f.value()
		}
	})
	return out
}

// entry reads an entry of a map whose keys are texts.
func (v field) entry() (key string, value field) {
	value = field{r: v.r, kind: protowire.BytesType}
	v.each(func(f field) {
		switch f.number {
		case 1:
			key = f.text()
		case 2:
			value = f
		}
	})
	return key, value
}

func (v field) diagnostic() (out Diagnostic) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Severity = Severity(f.number64())
		case 2:
			out.Summary = f.text()
		case 3:
			out.Detail = f.text()
		case 4:
			out.Path = f.path()
		}
	})
	return out
}

func (v field) path() (out Path) {
	v.each(func(f field) {
		if f.number != 1 {
			return
		}
		step := Step{Kind: StepUnknown}
		f.each(func(f field) {
			switch f.number {
			case 1:
				step = Step{Kind: StepAttribute, Name: f.text()}
			case 2:
				step = Step{Kind: StepKey, Name: f.text()}
			case 3:
				step = Step{Kind: StepIndex, At: f.number64()}
			}
		})
		if n := len(out); n == 0 || out[n-1].Kind != StepUnknown {
			out = append(out, step)
		}
	})
	return out
}

// deferred fails the reader: this client does not allow providers to defer.
func (v field) deferred() {
	v.r.fail(errors.New("it defers the resource, which was not allowed"))
}
