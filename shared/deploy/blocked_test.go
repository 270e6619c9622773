package deploy_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// TestBlockedNamesWhatIsNotKnown pins that what is blocked names what it waits for now, also when something else that it waited for has become known,
// and that what requires it names the same.
func TestBlockedNamesWhatIsNotKnown(t *testing.T) {
	r := newRig(t)
	lacks := func(name string) resource.Resource {
		out := res(name)
		out.Attributes["note"] = resource.Parameter{Name: "of-" + name}
		return out
	}
	r.export(deploy.Export{Model: model(lacks("a"), lacks("b"), res("c<a,b"), res("d<c"))})
	for _, step := range []struct {
		set  string // the parameter that becomes known
		want resource.ID
	}{{"", id("a")}, {"of-a", id("b")}} {
		if step.set != "" {
			if err := r.e.SetParameters(context.Background(), "e", deploy.Parameter{Name: step.set, Value: "x", Source: "user"}); err != nil {
				t.Fatal(err)
			}
			r.drain()
		}
		for _, name := range []string{"c", "d"} {
			row := r.row(name)
			if want := "requires " + string(step.want) + ", of which something is not known"; !slices.Equal(row.Causes, []resource.ID{step.want}) || row.Reason != want {
				t.Errorf("after %q: %s names %v (%s), want %s", step.set, name, row.Causes, row.Reason, step.want)
			}
		}
	}
}

// TestSkippedNamesWhatFailsLater pins that what is skipped names all root causes, also one that had succeeded and fails while nobody asks for what requires
// it.
func TestSkippedNamesWhatFailsLater(t *testing.T) {
	r := newRig(t)
	r.w.fail["a"] = errors.New("no")
	r.export(deploy.Export{Model: model(res("a"), res("b"), res("c<a,b"))})
	r.drain()
	r.w.fail["b"] = errors.New("no")
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{Filter: deploy.Filter{ID: string(id("b"))}}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("b", deploy.StatusFailed)
	if row := r.row("c"); !slices.Equal(row.Causes, []resource.ID{id("a"), id("b")}) {
		t.Errorf("c is %s because of %v, want a and b", row.Status(), row.Causes)
	}
}
