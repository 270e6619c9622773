package deploy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// luggage carries a value from Read to each later call of a run, and compares things itself: a
// different size is changed by a replacement. One word of the size is the reason.
type luggage struct {
	diskHandler
	reads *int
	seen  *[]string // the carried values, by call
}

type bag struct{ n int }

func (l luggage) note(call string, carried any) {
	b, _ := carried.(*bag)
	if b == nil {
		b = &bag{}
	}
	*l.seen = append(*l.seen, fmt.Sprintf("%s %d", call, b.n))
}

func (l luggage) Read(
	c *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	out, err := l.diskHandler.Read(c, req)
	*l.reads++
	out.Carried = &bag{*l.reads}
	return out, err
}

func (l luggage) Diff(
	_ *provider.Context, want provider.Resource, seen provider.Observation,
) (map[string]diff.Diff, error) {
	l.note("diff", seen.Carried)
	out := map[string]diff.Diff{}
	for _, name := range []string{"zone", "size"} {
		if want.Attributes[name] != seen.Attributes[name] {
			out[name] = diff.Diff{Current: seen.Attributes[name], Desired: want.Attributes[name],
				Replace: name == "size"}
		}
	}
	return out, nil
}

func (l luggage) Noop(_ *provider.Context, planned provider.BatchChange) error {
	l.note("noop", planned.Observed.Carried)
	return nil
}

func (l luggage) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	l.note("create", req.Carried)
	return l.diskHandler.Create(c, req)
}

func (l luggage) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	l.note("update", req.Observed.Carried)
	return l.diskHandler.Update(c, req)
}

func (l luggage) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	l.note("delete", req.Observed.Carried)
	return l.diskHandler.Delete(c, req)
}

// luggageRig is a rig with that handler, for things that are named by the resource.
func luggageRig(t *testing.T) (*rig, *cloud, luggage) {
	t.Helper()
	c := &cloud{byName: true}
	r := diskRig(t, c)
	l := luggage{diskHandler{c}, new(int), new([]string)}
	r.e.Handlers["t::Disk"] = l
	return r, c, l
}

// TestCarried pins that each call of a run gets the value that Read of this run has returned.
func TestCarried(t *testing.T) {
	t.Parallel()
	r, c, l := luggageRig(t)
	seen := func() string {
		out := strings.Join(*l.seen, ", ")
		*l.seen = nil
		return out
	}
	big := disk(map[string]any{"size": int64(2)}, resource.Flags{})
	gone := disk(map[string]any{"size": int64(2)}, resource.Flags{})
	gone.Resources[0].Purged = true
	for _, tc := range []struct {
		why  string
		m    *model.Model
		want string
	}{
		{"what is missing", disk(nil, resource.Flags{}), "create 1"},
		{"a replacement: both calls", big, "diff 2, delete 2, create 2"},
		{"a purge", gone, "delete 3"},
	} {
		if row, _ := r.wants(c, tc.m); row.Status() != state.StatusDeployed {
			t.Fatalf("%s: %s (%s)", tc.why, row.Status(), row.Reason)
		}
		if got := seen(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.why, got, tc.want)
		}
	}
	if _, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: disk(nil, resource.Flags{})},
		deploy.CompareOptions{Read: true}); err != nil {
		t.Fatal(err)
	}
	if got := seen(); got != "noop 4" {
		t.Errorf("a plan: %q", got)
	}
}

// TestDifferReplaces pins that a replacement which the handler's comparison requires counts as one
// that an attribute requires: plans show it, limits count it, prevent_destroy refuses it.
func TestDifferReplaces(t *testing.T) {
	t.Parallel()
	r, c, _ := luggageRig(t)
	r.wants(c, disk(nil, resource.Flags{}))
	kept := disk(map[string]any{"size": int64(2)}, resource.Flags{PreventDestroy: true})
	d, err := r.e.Preview(context.Background(), "e", deploy.Export{Model: kept},
		deploy.CompareOptions{Read: true})
	if err != nil || len(d.Planned) != 1 || !d.Planned[0].Replace || !d.Planned[0].Failed {
		t.Errorf("the plan: %+v, %v", d.Planned, err)
	}
	row, calls := r.wants(c, kept)
	if calls != "" || row.Class != state.ClassNeedsChange ||
		!strings.HasPrefix(row.Reason, "size can only be changed by replacing") {
		t.Errorf("prevent_destroy: %s, %s, %s", calls, row.Class, row.Reason)
	}
	row, calls = r.wants(c, disk(map[string]any{"size": int64(2)}, resource.Flags{}))
	a := r.lastOf(diskID)
	if calls != "delete x, create" || row.Status() != state.StatusDeployed || !a.Replaced ||
		a.Change != diff.Updated || a.Changes["size"] != (diff.Diff{Current: int64(1), Desired: int64(2)}) {
		t.Errorf("replaced: %s, %s (%s), %+v", calls, row.Status(), row.Reason, a)
	}
}
