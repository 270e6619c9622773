package provider_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// world is a provider.Host with a clock that the test sets.
type world struct {
	mu        sync.Mutex
	now       time.Time
	lines     []provider.Line
	cache     *provider.Cache
	chosen    string
	why       string
	transport any
}

func newWorld() *world {
	w := &world{now: time.Unix(1000, 0)}
	w.cache = provider.NewCache(w.Now)
	return w
}

func (w *world) Log(l provider.Line)                                { w.lines = append(w.lines, l) }
func (w *world) Changed(string, diff.Diff)                          {}
func (w *world) Fact(string, resource.Data)                         {}
func (w *world) Files() provider.Files                              { return nil }
func (w *world) Transport() any                                     { return w.transport }
func (w *world) Secret(string)                                      {}
func (w *world) Provider(name, why string)                          { w.chosen, w.why = name, why }
func (w *world) Override(diff.Change)                               {}
func (w *world) Keep(context.Context, []byte, map[string]any) error { return nil }
func (w *world) Cache() *provider.Cache                             { return w.cache }
func (w *world) context(version int) *provider.Context {
	return provider.NewContext(context.Background(), w,
		provider.Options{ID: "t::T[a,name=x]", Version: version})
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// TestCacheAgainstAModel does what users of a cache do in random order and compares with a plain
// list of what ought to be kept.
func TestCacheAgainstAModel(t *testing.T) {
	t.Parallel()
	keeps := []provider.Keep{{}, {For: 10 * time.Second}, {Idle: 7 * time.Second},
		{For: 20 * time.Second, Idle: 5 * time.Second}, {Version: true}}
	for seed := range uint64(80) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld()
		type value struct {
			key, version int
			made, used   time.Time
			lent         int
		}
		live := map[*value]bool{}
		var current [5]*value
		var closed, wantClosed []*value
		var backs []func()
		var lent []*value
		newest, order := 1, map[*value]int{}
		expire := func() {
			var gone []*value
			for k, v := range current {
				if v == nil {
					continue
				}
				keep := keeps[k]
				if k == 0 {
					keep.Idle = time.Minute
				}
				if keep.For > 0 && w.now.Sub(v.made) >= keep.For || keep.Idle > 0 && v.lent == 0 &&
					w.now.Sub(v.used) >= keep.Idle || keep.Version && v.version < newest {
					current[k] = nil
					if v.lent == 0 {
						gone = append(gone, v)
					}
				}
			}
			slices.SortFunc(gone, func(a, b *value) int { return order[b] - order[a] })
			wantClosed = append(wantClosed, gone...)
		}
		for step := range 60 {
			switch rng.IntN(4) {
			case 0:
				w.pass(time.Duration(rng.IntN(9)) * time.Second)
			case 1:
				newest += rng.IntN(2)
			case 2:
				if len(backs) > 0 {
					i := rng.IntN(len(backs))
					v := lent[i]
					v.lent--
					if current[v.key] == v {
						v.used = w.now
					} else if v.lent == 0 {
						wantClosed = append(wantClosed, v)
					}
					backs[i]()
					backs[i]() // twice is once
					backs, lent = slices.Delete(backs, i, i+1), slices.Delete(lent, i, i+1)
				}
			case 3:
				k := rng.IntN(len(keeps))
				expire()
				var fresh *value
				got, back, err := provider.Borrow(w.context(newest),
					provider.Key{Name: "v", Args: []any{k}}, keeps[k],
					func(*provider.Context) (*value, error) {
						fresh = &value{key: k, version: newest, made: w.now, used: w.now}
						live[fresh], order[fresh] = true, len(order)
						return fresh, nil
					}, func(v *value) { closed = append(closed, v) })
				if err != nil {
					t.Fatal(err)
				}
				if had := current[k]; had != nil && (got != had || fresh != nil) {
					t.Fatalf("seed %d, step %d: %v was made anew", seed, step, keeps[k])
				} else if had == nil && (fresh == nil || got != fresh) {
					t.Fatalf("seed %d, step %d: %v has ended and was served", seed, step, keeps[k])
				}
				current[k] = got
				got.lent++
				got.used = w.now
				backs, lent = append(backs, back), append(lent, got)
			}
			if !slices.Equal(closed, wantClosed) {
				t.Fatalf("seed %d, step %d: closed %d, want %d, in that order", seed, step,
					len(closed), len(wantClosed))
			}
		}
		for _, back := range backs {
			back()
		}
		w.cache.Close()
		slices.SortFunc(closed, func(a, b *value) int { return order[a] - order[b] })
		if len(slices.Compact(closed)) != len(live) {
			t.Fatalf("seed %d: %d of %d were closed, or one twice", seed, len(closed), len(live))
		}
	}
}

func TestCacheMakesOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var mu sync.Mutex
	made := 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			v, err := provider.Cached(w.context(1), provider.Key{Name: "slow"}, provider.Keep{},
				func(*provider.Context) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					made++
					return made, nil
				})
			if v != 1 || err != nil {
				t.Errorf("%d %v", v, err)
			}
		})
	}
	wg.Wait()
}

func TestCacheKeepsNoErrors(t *testing.T) {
	t.Parallel()
	w := newWorld()
	try := 0
	build := func(*provider.Context) (int, error) {
		if try++; try == 1 {
			return 0, errors.New("down")
		}
		return try, nil
	}
	if _, err := provider.Cached(w.context(1), provider.Key{Name: "v"}, provider.Keep{},
		build); err == nil {
		t.Error("no error")
	}
	if v, err := provider.Cached(w.context(1), provider.Key{Name: "v"}, provider.Keep{},
		build); v != 2 || err != nil {
		t.Error(v, err)
	}
}

// TestCacheOutlivesAMaker: a maker that is cancelled, or panics, does not fail those who wait for
// it.
func TestCacheOutlivesAMaker(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"canceled", "panic"} {
		w := newWorld()
		begun, goOn := make(chan bool), make(chan bool)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			_, _ = provider.Cached(w.context(1), provider.Key{Name: "v"}, provider.Keep{},
				func(*provider.Context) (int, error) {
					close(begun)
					<-goOn
					if end == "panic" {
						panic(end)
					}
					return 0, fmt.Errorf("give up: %w", context.Canceled)
				})
		})
		<-begun
		wg.Go(func() {
			v, err := provider.Cached(w.context(1), provider.Key{Name: "v"}, provider.Keep{},
				func(*provider.Context) (int, error) { return 2, nil })
			if v != 2 || err != nil {
				t.Errorf("%s: %d %v", end, v, err)
			}
		})
		close(goOn)
		wg.Wait()
	}
}

// loop is a type that is made of itself.
type loop struct{ Next *loop }

func TestCacheKeys(t *testing.T) {
	t.Parallel()
	w := newWorld()
	type args struct {
		Root    string
		Verbose bool `json:"-"`
	}
	made := 0
	get := func(typ string, name string, a ...any) int {
		ctx := provider.NewContext(context.Background(), w,
			provider.Options{ID: resource.ID(typ + "[a,name=x]")})
		v, err := provider.Cached(ctx, provider.Key{Name: name, Args: a}, provider.Keep{},
			func(*provider.Context) (int, error) { made++; return made, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := get("t::T", "list", args{"/", false})
	for _, tc := range []struct {
		why  string
		same bool
		v    int
	}{
		{"an ignored argument", true, get("t::T", "list", args{"/", true})},
		{"another argument", false, get("t::T", "list", args{"/x", false})},
		{"another name", false, get("t::T", "lists", args{"/", false})},
		{"another type of resource", false, get("t::U", "list", args{"/", false})},
		{"more arguments", false, get("t::T", "list", args{"/", false}, nil)},
	} {
		if (tc.v == first) != tc.same {
			t.Errorf("%s: same = %t", tc.why, tc.v == first)
		}
	}
	type inner struct{ host string }
	for why, tc := range map[string]struct {
		arg  any
		says string
	}{
		"a field that JSON leaves out": {inner{"a"}, "has the field host, which is not exported"},
		"one further down": {map[string][]*struct{ Of inner }{},
			"has the field Of.host"},
		"what has a form of its own": {time.Unix(1, 0), ""},
		"one that was said not to count": {struct {
			host string `json:"-"`
		}{"a"}, ""},
		"a type that is made of itself, and no": {&loop{}, ""},
	} {
		_, err := provider.Cached(w.context(0), provider.Key{Name: why, Args: []any{tc.arg}},
			provider.Keep{}, func(*provider.Context) (int, error) { return 0, nil })
		if tc.says == "" && err != nil ||
			tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) ||
				provider.ClassOf(err) != provider.Terminal) {
			t.Errorf("%s: %v", why, err)
		}
	}
	text, err := provider.Cached(w.context(0),
		provider.Key{Name: "list", Args: []any{args{"/", false}}}, provider.Keep{},
		func(*provider.Context) (string, error) { return "text", nil })
	if text != "text" || err != nil {
		t.Error("a value of another Go type", text, err)
	}
	if _, err := provider.Cached(w.context(0), provider.Key{Name: "f", Args: []any{func() {}}},
		provider.Keep{}, func(*provider.Context) (int, error) {
			return 0, nil
		}); provider.ClassOf(err) != provider.Terminal {
		t.Error(err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	closed := 0
	for i := range 1500 {
		_, back, err := provider.Borrow(w.context(0), provider.Key{Name: "v", Args: []any{i}},
			provider.Keep{}, func(*provider.Context) (int, error) { return i, nil }, func(v int) {
				if v != closed && closed < 500 {
					t.Errorf("%d went instead of %d, which was used least recently", v, closed)
				}
				closed++
			})
		back()
		if err != nil {
			t.Fatal(err)
		}
	}
	if w.cache.Len() != 1000 || closed != 500 {
		t.Errorf("%d kept, %d closed", w.cache.Len(), closed)
	}
	w.pass(time.Hour)
	w.cache.Expire()
	if w.cache.Len() != 0 {
		t.Error(w.cache.Len())
	}
}

func TestCloseThatPanicsHarmsNobody(t *testing.T) {
	t.Parallel()
	w := newWorld()
	closed := false
	for i := range 2 {
		_, back, _ := provider.Borrow(w.context(0), provider.Key{Name: "v", Args: []any{i}},
			provider.Keep{}, func(*provider.Context) (int, error) { return i, nil }, func(v int) {
				if v == 1 {
					panic("broken")
				}
				closed = true
			})
		back()
	}
	w.cache.Close()
	w.cache.Close()
	if !closed {
		t.Error("the second was not closed")
	}
	w.cache = nil
	if v, err := provider.Cached(w.context(0), provider.Key{Name: "v"}, provider.Keep{},
		func(*provider.Context) (int, error) { return 5, nil }); v != 5 || err != nil {
		t.Error("without a cache a value is made each time", v, err)
	}
}
