package handlers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// pair is two resources of a type that contradict each other, so that one undoes the other.
type pair struct {
	why, typ string
	first    map[string]any // "DIR" in a text stands for the directory of the test
	second   map[string]any
	purged   bool // the second wants the thing to be gone
}

// contradictions has pairs of every type that changes a part of a file, or a file as a whole. DIR
// is reached as DIR/real and as DIR/link.
func contradictions() []pair {
	type m = map[string]any
	return []pair{
		{"one line for two that match", "fs::Line",
			m{"path": "DIR/real/f", "name": "1", "line": "Port 22", "match": "^Port "},
			m{"path": "DIR/real/f", "name": "2", "line": "Port 2222", "match": "^Port "}, false},
		{"a line that another removes", "fs::Line",
			m{"path": "DIR/real/f", "name": "1", "line": "Port 22"},
			m{"path": "DIR/real/f", "name": "2", "match": "^Port"}, true},
		{"a line by two paths", "fs::Line",
			m{"path": "DIR/real/f", "name": "1", "line": "Port 22", "match": "^Port "},
			m{"path": "DIR/link/f", "name": "1", "line": "Port 2222", "match": "^Port "}, false},
		{"a block by two paths", "fs::Line", m{"path": "DIR/real/f", "name": "1", "block": "a"},
			m{"path": "DIR/link/f", "name": "1", "block": "b"}, false},
		{"a setting by two paths", "fs::IniSetting",
			m{"path": "DIR/real/f", "section": "s", "setting": "k", "value": "1"},
			m{"path": "DIR/link/f", "section": "s", "setting": "k", "value": "2"}, false},
		{"a host by two paths", "net::HostEntry", m{"file": "DIR/real/f", "name": "x", "ip": "::1"},
			m{"file": "DIR/link/f", "name": "x", "ip": "::2"}, false},
		{"a job by two paths", "cron::Job",
			m{"file": "DIR/real/f", "name": "x", "schedule": "@daily", "command": "a"},
			m{"file": "DIR/link/f", "name": "x", "schedule": "@daily", "command": "b"}, false},
		{"a file by two paths", "fs::File", m{"path": "DIR/real/f", "content": "one"},
			m{"path": "DIR/link/f", "content": "two"}, false},
		{"a file's mode by two paths", "fs::File",
			m{"path": "DIR/real/f", "content": "one", "mode": "0644"},
			m{"path": "DIR/link/f", "content": "one", "mode": "0600"}, false},
		{"a file that is gone by another path", "fs::File", m{"path": "DIR/real/f"},
			m{"path": "DIR/link/f"}, true},
		{"a directory by two paths", "fs::Directory", m{"path": "DIR/real/d", "mode": "0755"},
			m{"path": "DIR/link/d", "mode": "0700"}, false},
		{"a link by two paths", "fs::Symlink", m{"path": "DIR/real/l", "target": "a"},
			m{"path": "DIR/link/l", "target": "b"}, false},
	}
}

// machine is a type with its handler, and a directory.
type machine struct {
	t    *testing.T
	dir  string
	def  provider.Definition
	typ  *schema.Compiled
	host *providertest.Host
}

func newMachine(t *testing.T, typ string) *machine {
	t.Helper()
	m := &machine{t: t, dir: t.TempDir(), host: providertest.NewHost(nil)}
	for _, d := range handlers.All() {
		if d.Type.Name == typ {
			m.def = d
		}
	}
	reg, err := schema.NewRegistry(m.def.Type)
	if err != nil {
		t.Fatal(err)
	}
	m.typ, _ = reg.Type(typ)
	for _, err := range []error{os.Mkdir(filepath.Join(m.dir, "real"), 0o755),
		os.Symlink("real", filepath.Join(m.dir, "link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if typ != "fs::File" {
		m.write("")
	}
	return m
}

func (m *machine) write(text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, "real/f"), []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// resource returns a resource; its id tells it from the other.
func (m *machine) resource(id string, of map[string]any, purged bool) provider.Resource {
	m.t.Helper()
	attrs := map[string]any{}
	for k, v := range of {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "DIR", m.dir)
		}
		attrs[k] = v
	}
	check := m.typ.Check
	if purged {
		check = m.typ.CheckPurged
	}
	full, problems := check(attrs)
	if len(problems) > 0 {
		m.t.Fatal(problems)
	}
	return provider.Resource{ID: resource.ID(m.typ.Name + "[here,name=" + id + "]"),
		Type: m.typ.Name, Agent: "here", Attributes: full, Purged: purged}
}

// apply reads resources together, and changes together those that differ, as the engine does. It
// returns what was done for each.
func (m *machine) apply(released int, rs ...provider.Resource) (did []diff.Change, errs []error) {
	m.t.Helper()
	did, errs = make([]diff.Change, len(rs)), make([]error, len(rs))
	ctx := func(r provider.Resource) *provider.Context {
		return m.host.Context(m.t.Context(),
			provider.Options{ID: r.ID, Desired: r, Released: released})
	}
	var reads []provider.BatchRead
	for _, r := range rs {
		reads = append(reads, provider.BatchRead{Context: ctx(r),
			ReadRequest: provider.ReadRequest{Resource: r}})
	}
	reader, _ := provider.As[provider.BatchReader](m.def.Handler)
	var todo []provider.BatchChange
	var of []int
	for i, got := range reader.ReadBatch(m.t.Context(), reads) {
		c := provider.BatchChange{Context: ctx(rs[i]), Resource: rs[i], Observed: got.Observation}
		did[i], errs[i] = diff.NoChange, got.Err
		if d, ok := provider.As[provider.Differ](m.def.Handler); ok && got.Observation.Exists {
			c.Changes, _ = d.Diff(c.Context, rs[i], got.Observation)
		} else {
			c.Changes = diff.Compare(m.typ, rs[i].Attributes, got.Observation.Attributes)
		}
		switch {
		case got.Err != nil:
			continue
		case rs[i].Purged != got.Observation.Exists && (rs[i].Purged || len(c.Changes) == 0):
			continue
		case rs[i].Purged:
			c.Change = diff.Purged
		case !got.Observation.Exists:
			c.Change = diff.Created
		default:
			c.Change = diff.Updated
		}
		did[i] = c.Change
		todo, of = append(todo, c), append(of, i)
	}
	applier, _ := provider.As[provider.BatchApplier](m.def.Handler)
	for n, out := range applier.ApplyBatch(m.t.Context(), todo) {
		errs[of[n]] = out.Err
	}
	return did, errs
}

// TestNoResourceUndoesAnother pins that of two resources that contradict each other one is as
// described, the other fails and names it, and nothing changes at the applies that follow: in one
// batch, in two, and by another process.
func TestNoResourceUndoesAnother(t *testing.T) {
	for _, tc := range contradictions() {
		t.Run(tc.why, func(t *testing.T) {
			m := newMachine(t, tc.typ)
			one, two := m.resource("one", tc.first, false), m.resource("two", tc.second, tc.purged)
			refused := func(err error) {
				t.Helper()
				if err == nil || provider.ClassOf(err) != provider.NeedsChange ||
					!strings.Contains(err.Error(), string(one.ID)) {
					t.Fatalf("the second: %v", err)
				}
			}
			if _, errs := m.apply(1, one); errs[0] != nil {
				t.Fatal(errs)
			}
			for range 2 { // in another batch
				_, errs := m.apply(1, two)
				refused(errs[0])
			}
			for range 2 { // by another process
				m.host = providertest.NewHost(nil)
				did, errs := m.apply(1, one, two)
				refused(errs[1])
				if did[0] != diff.NoChange || errs[0] != nil {
					t.Fatalf("the first is not as described any longer: %v, %v", did, errs)
				}
			}
			// The first left the description: the second may be as described.
			if did, errs := m.apply(2, two); errs[0] != nil || did[0] == diff.NoChange {
				t.Fatalf("without the first: %v, %v", did, errs)
			}
			if did, errs := m.apply(2, two); errs[0] != nil || did[0] != diff.NoChange {
				t.Fatalf("again: %v, %v", did, errs)
			}
		})
	}
}

// TestNoResourceUndoesAnotherOfItsBatch is the same for two that are made at once.
func TestNoResourceUndoesAnotherOfItsBatch(t *testing.T) {
	for _, tc := range contradictions() {
		if tc.purged || strings.Contains(tc.why, "mode") {
			continue // the second finds nothing to do
		}
		t.Run(tc.why, func(t *testing.T) {
			m := newMachine(t, tc.typ)
			one, two := m.resource("one", tc.first, false), m.resource("two", tc.second, false)
			_, errs := m.apply(1, one, two)
			if errs[0] != nil || errs[1] == nil ||
				!strings.Contains(errs[1].Error(), string(one.ID)) {
				t.Fatal(errs)
			}
			if did, errs := m.apply(1, one); errs[0] != nil || did[0] != diff.NoChange {
				t.Fatal(did, errs)
			}
		})
	}
}

// TestResourcesThatAgree pins that resources of one thing that do not contradict each other are all
// as described.
func TestResourcesThatAgree(t *testing.T) {
	for _, tc := range contradictions() {
		t.Run(tc.why, func(t *testing.T) {
			m := newMachine(t, tc.typ)
			other := map[string]any{}
			for k, v := range tc.first {
				if s, ok := v.(string); ok {
					v = strings.ReplaceAll(s, "/real/", "/link/")
				}
				other[k] = v
			}
			one, two := m.resource("one", tc.first, false), m.resource("two", other, false)
			for _, r := range []provider.Resource{one, two} {
				if _, errs := m.apply(1, r); errs[0] != nil {
					t.Fatal(errs)
				}
			}
			if did, errs := m.apply(1, one, two); errs[0] != nil || errs[1] != nil ||
				did[0] != diff.NoChange || did[1] != diff.NoChange {
				t.Fatal(did, errs)
			}
		})
	}
}

// TestPartsOfAFileGrow pins that the work for many parts of one file grows with their number, not
// with its square: memory is asked for in proportion.
func TestPartsOfAFileGrow(t *testing.T) {
	const few, times = 100, 4
	for typ, attrs := range map[string]func(i int) map[string]any{
		"fs::Line": func(i int) map[string]any {
			return map[string]any{"path": "DIR/real/f", "name": fmt.Sprint(i),
				"line": fmt.Sprintf("x%d = 1", i), "match": fmt.Sprintf("^x%d =", i)}
		},
		"fs::IniSetting": func(i int) map[string]any {
			return map[string]any{"path": "DIR/real/f", "section": "s", "setting": fmt.Sprint("x", i),
				"value": "1"}
		},
		"net::HostEntry": func(i int) map[string]any {
			return map[string]any{"file": "DIR/real/f", "name": fmt.Sprint("h", i), "ip": "::1"}
		},
		"cron::Job": func(i int) map[string]any {
			return map[string]any{"file": "DIR/real/f", "name": fmt.Sprint("j", i),
				"schedule": "@daily", "command": fmt.Sprint("/y ", i)}
		},
	} {
		t.Run(typ, func(t *testing.T) {
			cost := func(n int) float64 {
				m := newMachine(t, typ)
				var text strings.Builder
				var rs []provider.Resource
				for i := range n {
					fmt.Fprintf(&text, "%d 2 3 4 5 root /x %d\n", i%60, i)
					rs = append(rs, m.resource(fmt.Sprint(i), attrs(i), false))
				}
				return testing.AllocsPerRun(1, func() {
					m.write(text.String())
					if did, errs := m.apply(1, rs...); errs[0] != nil || did[n-1] != diff.Created {
						t.Fatal(did[n-1], errs[0])
					}
				})
			}
			if small, large := cost(few), cost(times*few); large > 2*times*small {
				t.Errorf("%d parts take %.0f allocations, %d take %.0f", few, small, times*few, large)
			}
		})
	}
}
