package fulfil_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
)

// asRead says what instances follow as their records say it, and counts how often.
type asRead struct {
	inventory.Store
	n *int
}

func (s asRead) Followers(
	ctx context.Context, env string,
) (map[string]inventory.Following, error) {
	*s.n++
	out := map[string]inventory.Following{}
	all, err := s.Instances(ctx, env, inventory.Query{})
	for i := range all {
		if of, some := all[i].Following(); some {
			out[all[i].ID] = of
		}
	}
	return out, err
}

// TestFollowersAreTold holds that a notice of what was run reaches those who follow it at once,
// though they wait for nothing: of another's resources, and of what is in no set.
func TestFollowersAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, follows)
	dir := filepath.Join(w.srv, "dir")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w.order("site", "s", map[string]any{"name": "s"})
	w.order("view", "v", map[string]any{"name": "v", "site": "s"})
	w.work()
	w.state("v", "up")
	repair := func() {
		t.Helper()
		if _, err := w.engine.Repair(t.Context(), env,
			deploy.Request{RetryFailed: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	hears := func(c *fulfil.Config) { c.Followers = asRead{w.store, &reads} }
	old := w.visitor(w.store, hears)
	for _, c := range []struct {
		why, run, want string
		worker         *fulfil.Worker
		change         func() error
	}{
		{"what is in no set failed", inventory.Shared, "failed", old,
			func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }},
		{"it is well again, and another process hears of it", inventory.Shared, "up", nil,
			func() error { return errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)) }},
		{"another's resource failed, and one that was told before hears of it", "s", "failed", old,
			func() error {
				own := filepath.Join(w.srv, "s")
				return errors.Join(os.Remove(own), os.Mkdir(own, 0o700))
			}},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		repair()
		worker := c.worker
		if worker == nil {
			worker = w.visitor(w.store, hears)
		}
		left, err := worker.Visit(t.Context(), []string{c.run}, false, time.Time{})
		if err != nil || len(left) > 0 {
			t.Fatalf("%s: %v, left %v", c.why, err, left)
		}
		if r := w.read("v"); r.State != c.want {
			t.Errorf("%s: the view is %s, not %s", c.why, r.State, c.want)
		}
	}
	if _, err := old.Visit(t.Context(), []string{"s"}, false, time.Time{}); err != nil ||
		reads != 3 {
		t.Errorf("%v: who follows was read %d times, and not once in each turn", err, reads)
	}
}
