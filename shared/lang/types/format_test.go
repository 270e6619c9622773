package types_test

import (
	"encoding/json"
	"math/big"
	"os"
	"strconv"
	"testing"

	"southbound/shared/lang/types"
)

// TestFormat holds formats against what format() of Python 3.13 returns, null where that raises.
func TestFormat(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/formats.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][4]*string // the type, the value, the format, the text
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 2000 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		got, err := types.Format(python(t, *c[0], *c[1]), *c[2])
		switch {
		case c[3] == nil && err == nil:
			t.Errorf("%s %s in %q is %q, and Python refuses it", *c[0], *c[1], *c[2], got)
		case c[3] != nil && (err != nil || got != *c[3]):
			t.Errorf("%s %s in %q: got %q, %v, want %q", *c[0], *c[1], *c[2], got, err, *c[3])
		}
	}
}

// python returns the value of a type of Python that str() shows so.
func python(t *testing.T, kind, text string) types.Value {
	t.Helper()
	switch kind {
	case "int":
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			t.Fatalf("%q is not a whole number", text)
		}
		return types.Integer(n)
	case "bool":
		return text == "True"
	case "float":
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return text
}
