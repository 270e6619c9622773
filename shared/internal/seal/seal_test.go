package seal

import (
	"bytes"
	"context"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func ring(keys ...Key) Ring {
	return Ring{Keys: func(context.Context) ([]Key, error) { return keys, nil }}
}

// TestSeal pins which ring opens a sealed state, and for whom.
func TestSeal(t *testing.T) {
	t.Parallel()
	const id, other = resource.ID("t::T[a,name=x]"), resource.ID("t::T[a,name=y]")
	first, second := NewKey(), NewKey()
	plain := bytes.Repeat([]byte("s3cret "), 1000)
	sealed, err := ring(first).Seal(t.Context(), "e", id, plain)
	if err != nil || bytes.Contains(sealed, []byte("s3cret")) || len(sealed) > 200 {
		t.Fatalf("%d bytes, %v", len(sealed), err)
	}
	twice, err := ring(first).Seal(t.Context(), "e", id, plain)
	if err != nil || bytes.Equal(twice, sealed) {
		t.Errorf("two seals of one state are equal: %v", err)
	}
	name, err := KeyOf(sealed)
	if again, _ := KeyOf(twice); err != nil || len(name) != 2*nameSize || again != name {
		t.Errorf("the key is named %q and %q, %v", name, again, err)
	}
	if _, err := KeyOf([]byte("no state")); !fault.Is(err, fault.Damaged) {
		t.Error(err)
	}
	flip := func(i int) []byte {
		out := bytes.Clone(sealed)
		out[i] ^= 1
		return out
	}
	for name, c := range map[string]struct {
		ring   Ring
		env    string
		id     resource.ID
		sealed []byte
		want   fault.Kind // Unknown: it opens
	}{
		"Opens":      {ring(first), "e", id, sealed, fault.Unknown},
		"Rotated":    {ring(second, first), "e", id, sealed, fault.Unknown},
		"OtherKey":   {ring(second), "e", id, sealed, fault.NotFound},
		"OtherID":    {ring(first), "e", other, sealed, fault.Damaged},
		"OtherEnv":   {ring(first), "f", id, sealed, fault.Damaged},
		"Form":       {ring(first), "e", id, flip(0), fault.Damaged},
		"KeyName":    {ring(first), "e", id, flip(1), fault.NotFound},
		"Nonce":      {ring(first), "e", id, flip(headSize), fault.Damaged},
		"Ciphertext": {ring(first), "e", id, flip(len(sealed) - 1), fault.Damaged},
		"Short":      {ring(first), "e", id, sealed[:headSize-1], fault.Damaged},
		"Cut":        {ring(first), "e", id, sealed[:len(sealed)-1], fault.Damaged},
		"Empty":      {ring(first), "e", id, nil, fault.Damaged},
	} {
		got, err := c.ring.Open(t.Context(), c.env, c.id, c.sealed)
		if c.want == fault.Unknown && (err != nil || !bytes.Equal(got, plain)) ||
			c.want != fault.Unknown && !fault.Is(err, c.want) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestBounds pins that the largest state opens, and that a small one cannot expand beyond it.
func TestBounds(t *testing.T) {
	t.Parallel()
	for size, opens := range map[int]bool{0: true, state.MaxKept: true, 3 * state.MaxKept: false} {
		k := NewKey()
		sealed, err := ring(k).Seal(t.Context(), "e", "x", make([]byte, size))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ring(k).Open(t.Context(), "e", "x", sealed); (err == nil) != opens ||
			opens && len(got) != size {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
}

// TestKeyText pins the form of keys.
func TestKeyText(t *testing.T) {
	t.Parallel()
	k := NewKey()
	if got, err := ParseKey(" " + k.Text() + "\n"); err != nil || got != k {
		t.Error(err)
	}
	for _, bad := range []string{"", "abc", k.Text()[2:], k.Text() + "00", "z" + k.Text()[1:]} {
		if _, err := ParseKey(bad); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
