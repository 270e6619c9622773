package pool_test

import (
	"errors"
	"testing"
	"time"

	"southbound/shared/transport/internal/pool"
)

type thing struct{ closed int }

func (t *thing) Close() { t.closed++ }

// TestPool pins that users of one key share one thing, that it is closed a while after the last has
// gone and never before, and that what could not be made is made anew.
func TestPool(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	p := pool.Pool[string, *thing]{Now: func() time.Time { return now }}
	made := 0
	take := func(key string) (*thing, func()) {
		t.Helper()
		v, give, err := p.Take(key, func() (*thing, error) { made++; return &thing{}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return v, give
	}
	if _, _, err := p.Take("a", func() (*thing, error) {
		return nil, errors.New("no")
	}); err == nil {
		t.Error("what was not made is there")
	}
	a, giveA := take("a")
	again, giveAgain := take("a")
	b, giveB := take("b")
	if a != again || a == b || made != 2 {
		t.Fatalf("%d made", made)
	}
	giveA()
	now = now.Add(time.Hour)
	take("c")
	if a.closed != 0 {
		t.Error("closed while it is used")
	}
	giveAgain()
	now = now.Add(10 * time.Minute)
	back, giveBack := take("a")
	if back != a || a.closed != 0 {
		t.Error("closed too early")
	}
	giveBack()
	now = now.Add(15 * time.Minute)
	take("c")
	if a.closed != 1 {
		t.Errorf("closed %d times", a.closed)
	}
	if newer, _ := take("a"); newer == a {
		t.Error("a closed one is given out")
	}
	p.Close()
	giveB()
	if b.closed != 1 {
		t.Errorf("closed %d times at the end", b.closed)
	}
}
