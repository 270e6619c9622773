package value

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"github.com/zclconf/go-cty/cty/msgpack"

	"southbound/shared/fault"
)

// maxExponent bounds numbers, whose digits are written without an exponent.
const maxExponent = 16384

// FromMsgpack reads a value that a provider sent. It returns Damaged if the bytes are not one
// complete value of the type. The value may contain unknown values.
func (t *Type) FromMsgpack(b []byte) (cty.Value, error) {
	if err := scan(b); err != nil {
		return cty.NilVal, damaged(err)
	}
	return t.decoded(func() (cty.Value, error) { return msgpack.Unmarshal(b, t.root.ty) })
}

// FromJSON reads a stored state, or a value that a provider sent as JSON. It returns Damaged if the
// text is not one value of the type. Attributes that are absent are null.
func (t *Type) FromJSON(text []byte) (cty.Value, error) {
	return t.decoded(func() (cty.Value, error) { return ctyjson.Unmarshal(text, t.root.ty) })
}

// Msgpack encodes a value of the type, which may contain unknown values.
func (t *Type) Msgpack(v cty.Value) ([]byte, error) {
	b, err := msgpack.Marshal(v, t.root.ty)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode value", "%s", describe(err))
	}
	return b, nil
}

// JSON encodes a value of the type. It returns Invalid if a part of the value is unknown.
func (t *Type) JSON(v cty.Value) ([]byte, error) {
	if !v.IsWhollyKnown() {
		return nil, fault.New(fault.Invalid, "encode value", "a part of it is unknown")
	}
	b, err := ctyjson.Marshal(v, t.root.ty)
	if err != nil {
		return nil, fault.New(fault.Internal, "encode value", "%s", describe(err))
	}
	return b, nil
}

// decoded completes the checks of the decoder. The decoder panics for elements of different types,
// and accepts objects without some attributes.
func (t *Type) decoded(decode func() (cty.Value, error)) (v cty.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = cty.NilVal, damaged(fmt.Errorf("its parts do not fit together"))
		}
	}()
	v, err = decode()
	if err != nil {
		return cty.NilVal, damaged(fmt.Errorf("%s", describe(err)))
	}
	if errs := v.Type().TestConformance(t.root.ty); len(errs) > 0 {
		return cty.NilVal, damaged(fmt.Errorf("%s", describe(errs[0])))
	}
	err = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		if v.IsKnown() && !v.IsNull() && v.Type() == cty.Number {
			f := v.AsBigFloat()
			if e := f.MantExp(nil); f.IsInf() || e > maxExponent || e < -maxExponent {
				return false, fmt.Errorf("%s: the number is too large or too small", Pointer(p))
			}
		}
		return true, nil
	})
	if err != nil {
		return cty.NilVal, damaged(err)
	}
	return v, nil
}

func damaged(err error) error {
	return fault.New(fault.Damaged, "read value of a provider", "%v", err).
		WithHint("report it to the author of the provider")
}

// describe returns the text of an error with its path. Values are not part of the text.
func describe(err error) string {
	if e, ok := err.(cty.PathError); ok && len(e.Path) > 0 {
		return Pointer(e.Path) + ": " + e.Error()
	}
	return err.Error()
}

// scan checks that b is exactly one msgpack value, whose lengths do not exceed the bytes that are
// there. The decoder allocates by these lengths, and calls itself for each level.
func scan(b []byte) error {
	pending := []uint64{1} // number of values that are missing on each level
	for len(pending) > 0 {
		last := len(pending) - 1
		if pending[last] == 0 {
			pending = pending[:last]
			continue
		}
		pending[last]--
		if len(b) == 0 {
			return fmt.Errorf("the msgpack value ends too early")
		}
		skip, items, err := item(b)
		if err != nil {
			return err
		}
		if skip > uint64(len(b)) || items > uint64(len(b))-skip {
			return fmt.Errorf("the msgpack value ends too early")
		}
		b = b[skip:]
		if items > 0 {
			if len(pending) > 4*maxDepth {
				return fmt.Errorf("the msgpack value has more than %d levels", 4*maxDepth)
			}
			pending = append(pending, items)
		}
	}
	if len(b) > 0 {
		return fmt.Errorf("%d bytes follow the msgpack value", len(b))
	}
	return nil
}

// item returns the length in bytes of the msgpack value at the start of b, without its elements,
// and the number of elements that follow.
func item(b []byte) (skip, items uint64, err error) {
	c := b[0]
	size := func(bytes int) uint64 {
		if len(b) <= bytes {
			return math.MaxUint32
		}
		var full [8]byte
		copy(full[8-bytes:], b[1:1+bytes])
		return binary.BigEndian.Uint64(full[:])
	}
	switch {
	case c <= 0x7f, c >= 0xe0: // a small number
		return 1, 0, nil
	case c <= 0x8f:
		return 1, 2 * uint64(c&0x0f), nil
	case c <= 0x9f:
		return 1, uint64(c & 0x0f), nil
	case c <= 0xbf:
		return 1 + uint64(c&0x1f), 0, nil
	}
	switch c {
	case 0xc0, 0xc2, 0xc3: // nil, false, true
		return 1, 0, nil
	case 0xc4, 0xd9: // bytes, text
		return 2 + size(1), 0, nil
	case 0xc5, 0xda:
		return 3 + size(2), 0, nil
	case 0xc6, 0xdb:
		return 5 + size(4), 0, nil
	case 0xc7, 0xc8, 0xc9: // extension: length, type, content
		bytes := 1 << (c - 0xc7)
		return 2 + uint64(bytes) + size(bytes), 0, nil
	case 0xca, 0xce, 0xd2:
		return 5, 0, nil
	case 0xcb, 0xcf, 0xd3:
		return 9, 0, nil
	case 0xcc, 0xd0:
		return 2, 0, nil
	case 0xcd, 0xd1:
		return 3, 0, nil
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // extension of 1, 2, 4, 8 or 16 bytes
		return 2 + 1<<(c-0xd4), 0, nil
	case 0xdc:
		return 3, size(2), nil
	case 0xdd:
		return 5, size(4), nil
	case 0xde:
		return 3, 2 * size(2), nil
	case 0xdf:
		return 5, 2 * size(4), nil
	}
	return 0, 0, fmt.Errorf("the byte %#x begins no msgpack value", c)
}
