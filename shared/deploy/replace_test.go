package deploy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// cloud is a target that chooses the ids of its disks, or takes names when byName is set. What was
// made is in it, by id.
type cloud struct {
	byName bool
	choice bool // a resource selects the order of its replacement
	disks  map[string]map[string]any
	last   int
	calls  []string
	fail   map[string]error // by call: what it answers without effect
	after  map[string]error // what it answers after its effect
}

// call notes a call of a handler and carries it out.
func (c *cloud) call(what string, effect func()) error {
	c.calls = append(c.calls, what)
	if err := c.fail[what]; err != nil {
		return err
	}
	effect()
	return c.after[what]
}

// newest returns the id of the disk of a name that was made last.
func (c *cloud) newest(name any) string {
	out := ""
	for id, d := range c.disks {
		if d["name"] == name && (len(id) > len(out) || len(id) == len(out) && id > out) {
			out = id
		}
	}
	return out
}

func (c *cloud) ids() []string { return slices.Sorted(maps.Keys(c.disks)) }

// diskHandler is the handler of a cloud.
type diskHandler struct{ *cloud }

func (h diskHandler) Read(
	_ *provider.Context, req provider.ReadRequest,
) (out provider.Observation, err error) {
	id := h.newest(req.Resource.Attributes["name"])
	if d := h.disks[id]; d != nil {
		return provider.Observation{Exists: true,
			Attributes: map[string]any{"zone": d["zone"], "size": d["size"], "number": id}}, nil
	}
	return out, nil
}

func (h diskHandler) Create(
	_ *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.call("create", func() {
		h.last++
		id := fmt.Sprint("d", h.last)
		if h.byName {
			id = fmt.Sprint(req.Resource.Attributes["name"])
		}
		if h.disks[id] == nil { // what is there keeps its zone
			h.disks[id] = map[string]any{"zone": req.Resource.Attributes["zone"]}
		}
		h.set(id, req.Resource)
		h.disks[id]["token"] = req.Token
	})
}

func (h diskHandler) Update(
	_ *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.call("update", func() {
		h.set(h.newest(req.Resource.Attributes["name"]), req.Resource)
	})
}

func (h diskHandler) set(id string, r provider.Resource) {
	for _, name := range []string{"name", "size", "key"} {
		h.disks[id][name] = r.Attributes[name]
	}
}

func (h diskHandler) Delete(
	_ *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	id := fmt.Sprint(req.Observed.Attributes["number"])
	return provider.Result{}, h.call("delete "+id, func() { delete(h.disks, id) })
}

// finding can look up creates.
type finding struct{ diskHandler }

func (h finding) FindCreated(
	_ *provider.Context, req provider.CreateRequest,
) (found bool, err error) {
	for _, d := range h.disks {
		found = found || d["token"] == req.Token
	}
	return found, nil
}

// diskRig is a rig with a cloud and the type t::Disk.
func diskRig(t *testing.T, c *cloud) *rig {
	t.Helper()
	attributes := []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "zone", Type: "String", Default: "a", Behaviour: schema.Replace},
		{Name: "size", Type: "Integer", Default: 1},
		{Name: "key", Type: "Optional[String]", Behaviour: schema.WriteOnly},
		{Name: "number", Type: "String", Behaviour: schema.ReadOnly},
	}
	if c.choice {
		attributes = append(attributes, schema.Attribute{Name: schema.CreateBeforeDestroy,
			Type: "Boolean", Default: false, Behaviour: schema.Parameter})
	}
	types, err := schema.NewRegistry(schema.Type{Name: "t::Disk", Assigned: !c.byName,
		CreateFirst: !c.byName && !c.choice, Attributes: attributes})
	if err != nil {
		t.Fatal(err)
	}
	c.disks, c.fail, c.after = map[string]map[string]any{}, map[string]error{}, map[string]error{}
	r := newRig(t)
	r.e.Types, r.e.Handlers = types, map[string]provider.Handler{"t::Disk": finding{diskHandler{c}}}
	if c.byName {
		r.e.Handlers["t::Disk"] = diskHandler{c}
	}
	return r
}

const diskID = resource.ID("t::Disk[a,name=x]")

func disk(attrs map[string]any, flags resource.Flags) *model.Model {
	all := map[string]any{"name": "x"}
	maps.Copy(all, attrs)
	return modelOf(resource.Resource{ID: diskID, Type: "t::Disk", Agent: "a", Attributes: all,
		Flags: flags})
}

// wants releases a model, runs it, and returns the row and the calls that were made.
func (r *rig) wants(c *cloud, m *model.Model) (state.Row, string) {
	r.t.Helper()
	c.calls = nil
	r.export(deploy.Export{Model: m})
	r.drain()
	return r.diskRow(), strings.Join(c.calls, ", ")
}

func (r *rig) diskRow() state.Row {
	r.t.Helper()
	row, err := r.e.Row(context.Background(), "e", diskID)
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

// again checks everything once more.
func (r *rig) again(c *cloud) (state.Row, string) {
	r.t.Helper()
	c.calls = nil
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
	return r.diskRow(), strings.Join(c.calls, ", ")
}

func (r *rig) lastOf(id resource.ID) state.Action {
	r.t.Helper()
	all, err := r.home.Actions(context.Background(), "e", state.ActionQuery{Resource: id})
	if err != nil || len(all) == 0 {
		r.t.Fatal(err, len(all))
	}
	return slices.MaxFunc(all, func(a, b state.Action) int { return strings.Compare(a.ID, b.ID) })
}

// TestReplaceDeletesFirst pins that a thing is replaced where an attribute can only be changed so,
// and that a run that ends between the two calls is made good.
func TestReplaceDeletesFirst(t *testing.T) {
	t.Parallel()
	c := &cloud{byName: true}
	r := diskRig(t, c)
	if row, calls := r.wants(c, disk(nil, resource.Flags{})); calls != "create" ||
		row.Status() != state.StatusDeployed {
		t.Fatal(calls, row.Status(), row.Reason)
	}
	zoneB := disk(map[string]any{"zone": "b", "size": int64(2)}, resource.Flags{})
	for _, read := range []bool{false, true} {
		d, err := r.e.Preview(
			t.Context(),
			"e",
			deploy.Export{Model: zoneB},
			deploy.CompareOptions{Read: read},
		)
		if err != nil || len(d.Planned) != 1 || d.Planned[0].Action != "update" ||
			!d.Planned[0].Replace {
			t.Errorf("the plan, with reality read %v: %+v, %v", read, d.Planned, err)
		}
	}
	none := &deploy.Limits{}
	_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: zoneB, Limits: none})
	if !fault.Is(err, fault.Refused) {
		t.Errorf("it is deleted, although nothing may be: %v", err)
	}
	row, calls := r.wants(c, zoneB)
	if calls != "delete x, create" || row.Status() != state.StatusDeployed ||
		c.disks["x"]["zone"] != "b" {
		t.Errorf("replaced: %s, %s (%s), %v", calls, row.Status(), row.Reason, c.disks)
	}
	a := r.lastOf(diskID)
	if a.Change != diff.Updated || !a.Replaced ||
		a.Changes["zone"] != (diff.Diff{Current: "a", Desired: "b"}) || len(a.Changes) != 2 {
		t.Errorf("the record: %+v", a)
	}
	if row, calls := r.again(c); calls != "" || row.Status() != state.StatusDeployed {
		t.Errorf("and once more: %s, %s", calls, row.Status())
	}
	c.fail["create"] = errors.New("no room")
	row, calls = r.wants(c, disk(map[string]any{"zone": "c"}, resource.Flags{}))
	if calls != "delete x, create" || row.Status() != state.StatusFailed || len(c.disks) != 0 {
		t.Errorf("cut off between: %s, %s, %v", calls, row.Status(), c.disks)
	}
	if a := r.lastOf(diskID); a.Change != diff.Purged {
		t.Errorf("the record of what was cut off: %+v", a)
	}
	delete(c.fail, "create")
	if row, calls := r.again(c); calls != "create" || row.Status() != state.StatusDeployed ||
		c.disks["x"]["zone"] != "c" {
		t.Errorf("made good: %s, %s, %v", calls, row.Status(), c.disks)
	}
}

// TestReplaceCreatesFirst pins that the old one is deleted whenever a run ends, and that there is
// one in the end.
func TestReplaceCreatesFirst(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why         string
		fail, after map[string]error
		calls       string // of the run that replaces
		there       []string
		next        string // of the one after it
		left        []string
	}{
		{"nothing goes wrong", nil, nil, "create, delete d1", []string{"d2"}, "", []string{"d2"}},
		{"the create is refused", map[string]error{"create": errors.New("no")}, nil, "create",
			[]string{"d1"}, "create, delete d1", []string{"d2"}},
		{"the answer to the create is lost", nil, map[string]error{"create": errors.New("lost")},
			"create", []string{"d1", "d2"}, "delete d1", []string{"d2"}},
		{"the delete is refused", map[string]error{"delete d1": errors.New("in use")}, nil,
			"create, delete d1", []string{"d1", "d2"}, "delete d1", []string{"d2"}},
		{"the answer to the delete is lost", nil, map[string]error{"delete d1": errors.New("lost")},
			"create, delete d1", []string{"d2"}, "delete d1", []string{"d2"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			c := &cloud{}
			r := diskRig(t, c)
			r.wants(c, disk(nil, resource.Flags{}))
			maps.Copy(c.fail, tc.fail)
			maps.Copy(c.after, tc.after)
			if row, calls := r.wants(c, disk(map[string]any{"zone": "b"},
				resource.Flags{})); calls != tc.calls || !slices.Equal(c.ids(), tc.there) {
				t.Fatalf("%s, %v, %s (%s)", calls, c.ids(), row.Status(), row.Reason)
			}
			clear(c.fail)
			clear(c.after)
			row, calls := r.again(c)
			if tc.next == "delete d1" && slices.Equal(tc.there, []string{"d2"}) && calls == "" {
				calls = tc.next
			}
			if calls != tc.next || !slices.Equal(c.ids(), tc.left) ||
				row.Status() != state.StatusDeployed || len(row.Notes) > 0 || row.Creating != "" {
				t.Fatalf("then %s, %v, %s (%s), notes %q", calls, c.ids(), row.Status(), row.Reason,
					row.Notes)
			}
			if _, calls := r.again(c); calls != "" {
				t.Errorf("and once more: %s", calls)
			}
		})
	}
}

// TestReplacedWhileReplacing pins that another intent that comes in the middle leaves one thing, as
// it is wanted, and that purging leaves none.
func TestReplacedWhileReplacing(t *testing.T) {
	t.Parallel()
	for why, last := range map[string]*model.Model{
		"another zone": disk(map[string]any{"zone": "c"}, resource.Flags{}),
		"back":         disk(nil, resource.Flags{}),
		"purged":       disk(nil, resource.Flags{Purged: true}),
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			c := &cloud{}
			r := diskRig(t, c)
			r.wants(c, disk(nil, resource.Flags{}))
			c.after["create"] = errors.New("lost")
			r.wants(c, disk(map[string]any{"zone": "b"}, resource.Flags{}))
			clear(c.after)
			row, calls := r.wants(c, last)
			res := last.Resources[0]
			if row.Status() != state.StatusDeployed {
				t.Fatal(calls, row.Status(), row.Reason)
			}
			want := 1
			if res.Purged {
				want = 0
			}
			if len(c.disks) != want {
				t.Fatalf("%s: there is %v", calls, c.disks)
			}
			for _, d := range c.disks {
				if zone, _ := res.Attributes["zone"].(string); d["zone"] != cmp.Or(zone, "a") {
					t.Errorf("%s: %v", calls, d)
				}
			}
			if _, calls := r.again(c); calls != "" {
				t.Errorf("and once more: %s", calls)
			}
		})
	}
}

// TestPreventDestroy pins that a thing that may not be destroyed is not replaced, that plans say so
// before, and what documents cannot say.
func TestPreventDestroy(t *testing.T) {
	t.Parallel()
	c := &cloud{byName: true}
	r := diskRig(t, c)
	keep := resource.Flags{PreventDestroy: true}
	r.wants(c, disk(nil, keep))
	moved := disk(map[string]any{"zone": "b"}, keep)
	const says = "zone can only be changed by replacing the object, and prevent_destroy forbids that"
	for _, read := range []bool{false, true} {
		d, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: moved},
			deploy.CompareOptions{Read: read})
		if err != nil || !d.Planned[0].Failed || !strings.Contains(d.Planned[0].Reason, says) {
			t.Errorf("the plan, with reality read %v: %+v, %v", read, d.Planned, err)
		}
	}
	row, calls := r.wants(c, moved)
	if calls != "" || row.Status() != state.StatusFailed || row.Class != provider.NeedsChange ||
		!strings.Contains(row.Reason, says) {
		t.Errorf("%s, %s: %s", calls, row.Status(), row.Reason)
	}
	if row, calls := r.wants(c, disk(map[string]any{"zone": "b"},
		resource.Flags{})); calls != "delete x, create" || row.Status() != state.StatusDeployed {
		t.Errorf("taken away: %s, %s: %s", calls, row.Status(), row.Reason)
	}
	for _, flags := range []resource.Flags{{PreventDestroy: true, Purged: true},
		{PreventDestroy: true, PurgeOnDelete: true}} {
		if problems := r.e.Validate(disk(nil, flags)); len(problems) != 1 ||
			!strings.Contains(problems[0].Message, "contradict each other") {
			t.Errorf("%+v: %v", flags, problems)
		}
	}
}

// TestReportedIsNotReplaced pins that what is only to be compared is left alone.
func TestReportedIsNotReplaced(t *testing.T) {
	t.Parallel()
	c := &cloud{byName: true}
	r := diskRig(t, c)
	r.wants(c, disk(nil, resource.Flags{}))
	if row, calls := r.wants(c, disk(map[string]any{"zone": "b"},
		resource.Flags{ReportOnly: true})); calls != "" ||
		row.Status() != state.StatusNonCompliant {
		t.Errorf("%s, %s: %s", calls, row.Status(), row.Reason)
	}
}

// TestWriteOnly pins when an attribute that no reading shows is written: with the thing, when what
// is said of it is another, and whenever nobody knows.
func TestWriteOnly(t *testing.T) {
	t.Parallel()
	c := &cloud{byName: true, disks: nil}
	r := diskRig(t, c)
	key := func(v any, more ...any) *model.Model {
		m := map[string]any{"key": v}
		if len(more) > 0 {
			m["size"] = more[0]
		}
		return disk(m, resource.Flags{})
	}
	step := func(why, want string, row state.Row, calls string) {
		t.Helper()
		if calls != want || row.Status() != state.StatusDeployed {
			t.Errorf("%s: %q and not %q, %s (%s)", why, calls, want, row.Status(), row.Reason)
		}
	}
	then := func(why, want string) func(row state.Row, calls string) {
		return func(row state.Row, calls string) { t.Helper(); step(why, want, row, calls) }
	}
	then("it is made with it", "create")(r.wants(c, key("k1")))
	then("nobody reads it", "")(r.again(c))
	then("another value", "update")(r.wants(c, key("k2")))
	if a := r.lastOf(diskID); a.Changes["key"] != (diff.Diff{Desired: "k2"}) ||
		len(a.Changes) != 1 {
		t.Errorf("the record: %+v", a.Changes)
	}
	then("something else changes", "update")(r.wants(c, key("k2", int64(2))))
	if a := r.lastOf(diskID); len(a.Changes) != 1 {
		t.Errorf("the record: %+v", a.Changes)
	}
	read := deploy.CompareOptions{Read: true}
	if d, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: key("k3", int64(2))},
		read); err != nil ||
		d.Planned[0].Action != "update" ||
		len(d.Planned[0].Changes) != 1 {
		t.Errorf("a dry run: %+v, %v", d.Planned, err)
	}
	then("it is replaced", "delete x, create")(r.wants(c,
		disk(map[string]any{"key": "k2", "zone": "b", "size": int64(2)}, resource.Flags{})))
	then("nothing is left to do", "")(r.again(c))
	c.after["update"] = provider.Errorf(provider.Terminal, "lost")
	if row, _ := r.wants(c, disk(map[string]any{"key": "k4", "zone": "b", "size": int64(2)},
		resource.Flags{})); row.Status() != state.StatusFailed {
		t.Error(row.Status())
	}
	clear(c.after)
	then("back to what was written last with success, which it is not any more",
		"update")(r.wants(c, disk(map[string]any{"key": "k2", "zone": "b", "size": int64(2)},
		resource.Flags{})))
	clear(c.disks)
	then("it is gone", "create")(r.again(c))
	then("nothing is left to do then", "")(r.again(c))
	c.disks["x"]["key"] = nil
	then("it is not wanted any more",
		"")(r.wants(c, disk(map[string]any{"zone": "b", "size": int64(2)}, resource.Flags{})))
	then("it is again", "update")(r.wants(c,
		disk(map[string]any{"key": "k2", "zone": "b", "size": int64(2)}, resource.Flags{})))
}
