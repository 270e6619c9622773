package provider_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

type shape struct {
	Name   string `json:"name"`
	Size   uint16 `json:"size,omitempty"`
	Secret string `json:"-"`
	Next   *shape `json:"next,omitempty"`
	inner  int
	Plain  bool
}

type outer struct {
	shape
	Base
	At time.Time
}

// Base is embedded.
type Base struct{ ID int64 }

// raw writes itself as JSON.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// bad panics when it is asked for its text.
type bad struct{}

func (*bad) Error() string { panic("no text") }

type word string

func TestPlain(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var none *shape
	itself := map[string]any{"n": 1}
	itself["self"] = itself
	ring := &shape{Name: "a"}
	ring.Next = ring
	list := []any{1, nil}
	list[1] = list
	for _, c := range []struct {
		why      string
		in, want any
	}{
		{"nothing", nil, nil},
		{"values stay", []any{true, "a", int64(1), 2.5, map[string]any{"k": nil}},
			[]any{true, "a", int64(1), 2.5, map[string]any{"k": nil}}},
		{"numbers", []any{1, int8(-2), uint32(3), float32(0.1), uint64(math.MaxUint64)},
			[]any{int64(1), int64(-2), int64(3), 0.1, new(big.Int).SetUint64(math.MaxUint64)}},
		{"what JSON has no number for", []any{math.NaN(), math.Inf(1), float32(math.Inf(-1))},
			[]any{"NaN", "+Inf", "-Inf"}},
		{"numbers of JSON", []any{json.Number("12"), json.Number("1.5"), json.Number("1e999"),
			json.Number("x")}, []any{int64(12), 1.5, "1e999", "x"}},
		{"named types", []any{word("w"), []word{"a"}, map[word]word{"k": "v"}},
			[]any{"w", []any{"a"}, map[string]any{"k": "v"}}},
		{"lists and maps", []any{[]string(nil), [2]int{1, 2}, map[int]string{7: "x"},
			map[string]int(nil)},
			[]any{[]any{}, []any{int64(1), int64(2)}, map[string]any{"7": "x"}, map[string]any{}}},
		{"bytes, times, errors, texts",
			[]any{[]byte("hi"), at, time.Second * 90, errors.New("oh"), netip.MustParseAddr("::1")},
			[]any{"aGk=", "2026-01-02T03:04:05.000006Z", "1m30s", "oh", "::1"}},
		{"a time that JSON refuses", time.Date(12026, 1, 1, 0, 0, 0, 0, time.UTC),
			"12026-01-01T00:00:00Z"},
		{"structs", shape{Name: "n", Secret: "s", inner: 1, Next: &shape{Name: "m"}},
			map[string]any{"name": "n", "Plain": false,
				"next": map[string]any{"name": "m", "Plain": false}}},
		{"structs within", outer{Base: Base{4}, At: at},
			map[string]any{"ID": int64(4), "At": "2026-01-02T03:04:05.000006Z"}},
		{"pointers", []any{none, &shape{}, (*big.Int)(nil)},
			[]any{nil, map[string]any{"name": "", "Plain": false}, nil}},
		{"what writes itself", []any{raw(`{"a":[1,2.5]}`), raw(`{`)},
			[]any{map[string]any{"a": []any{int64(1), 2.5}}, "{"}},
		{"references", []any{resource.File{Hash: "h", Size: 2}, resource.Parameter{Name: "p"}},
			[]any{resource.File{Hash: "h", Size: 2}, resource.Parameter{Name: "p"}}},
		{"what is not a value", []any{func() {}, make(chan int), complex(1, 2)},
			[]any{"(a func())", "(a chan int)", "(a complex128)"}},
		{"a text that panics", &bad{}, "(a *provider_test.bad that cannot be shown)"},
		{"a map that holds itself", itself,
			map[string]any{"n": int64(1), "self": "(holds itself)"}},
		{"a pointer that holds itself", ring,
			map[string]any{"name": "a", "Plain": false, "next": "(holds itself)"}},
		{"a list that holds itself", list, []any{int64(1), "(holds itself)"}},
		{"the same twice is not that", []any{ring.Name, list[:1], list[:1]},
			[]any{"a", []any{int64(1)}, []any{int64(1)}}},
	} {
		if got := provider.Plain(c.in); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v, want %#v", c.why, got, c.want)
		}
	}
}

// TestPlainIsBounded cuts off what is very wide or very deep, and leaves texts alone.
func TestPlainIsBounded(t *testing.T) {
	t.Parallel()
	wide := make([]any, 1<<20)
	hash := map[int]int{}
	for i := range 1 << 14 {
		hash[i] = i
	}
	deep := any("end")
	for range 1 << 16 {
		deep = []any{deep}
	}
	fan := []any{deep} // all ways through it are 10^64
	for range 64 {
		fan = []any{fan, fan, fan, fan, fan, fan, fan, fan, fan, fan}
	}
	text := strings.Repeat("x", 1<<20)
	for why, v := range map[string]any{"wide": wide, "a wide map": hash, "deep": deep, "both": fan,
		"bytes": make([]byte, 1<<20)} {
		for of, f := range map[string]func(any) any{"plain": provider.Plain,
			"observed": provider.Observed} {
			b, err := json.Marshal(f(v))
			if limit := 32 << 10; err != nil || of == "plain" && len(b) > limit {
				t.Errorf("%s, %s: %d bytes, %v", why, of, len(b), err)
			}
		}
	}
	if got := provider.Plain(text); got != text {
		t.Error("a text was cut, perhaps within a secret")
	}
	if got, _ := provider.Observed(wide).([]any); len(got) > 1<<20+1 || len(got) < 1<<20-1 {
		t.Errorf("%d items were observed", len(got))
	}
}
