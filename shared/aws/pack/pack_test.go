package pack_test

import (
	"strings"
	"testing"

	"southbound/shared/aws/pack"
)

// TestPack pins that what was packed comes back, that the dictionary helps, and that neither damage
// nor another dictionary passes.
func TestPack(t *testing.T) {
	t.Parallel()
	const dictionary = `{"resource":"fs::File[web1,path=/srv/","outcome":"deployed","change":"created"}`
	p, err := pack.New(1, dictionary)
	if err != nil {
		t.Fatal(err)
	}
	other, err := pack.New(2, strings.ToUpper(dictionary))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "x", dictionary, strings.Repeat(dictionary, 1000)} {
		packed := p.Pack([]byte(text))
		if b, err := p.Unpack(packed); err != nil || string(b) != text {
			t.Errorf("%.20q: %v", text, err)
		}
		if text == dictionary && len(packed) >= len(other.Pack([]byte(text))) {
			t.Error("the dictionary does not help")
		}
		if b, err := other.Unpack(packed); err == nil && text != "" {
			t.Errorf("%.20q: with another dictionary it is %.20q", text, b)
		}
		packed[len(packed)-1] ^= 1
		if _, err := p.Unpack(packed); err == nil {
			t.Errorf("%.20q: damage passes", text)
		}
	}
}
