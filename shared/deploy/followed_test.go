package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// learned is the test's handler with a fact v: the value of the thing.
type learned struct{ handler }

func (l learned) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	v, exists := l.w.things[nameOf(req.Resource)]
	if !exists {
		return nil, nil
	}
	return map[string]any{"v": v}, nil
}

func learning(t *testing.T) *rig {
	r := newRig(t)
	r.e.Handlers["t::T"] = learned{handler{r.w}}
	return r
}

func factOf(name string) resource.Fact { return resource.Fact{Name: "v", Of: id(name)} }

// stepText describes a planned change: its action, the facts that it waits for, and its reason.
func stepText(w deploy.PlannedChange) string {
	out := []string{nameOfID(w.ID), w.Action}
	for _, f := range w.KnownAfter {
		word := "after"
		if f.MayChange {
			word = "may"
		}
		out = append(out, word+" "+f.Fact+f.Output+" of "+nameOfID(f.Of))
	}
	if w.Failed {
		out = append(out, "failed")
	}
	if w.Reason != "" {
		out = append(out, "("+w.Reason+")")
	}
	return strings.Join(out, " ")
}

// TestKnownAfterApply pins the planned changes of resources that lack facts, and that an apply makes
// them: it deploys each resource whose facts it learns, and no other undefined one.
func TestKnownAfterApply(t *testing.T) {
	t.Parallel()
	purged := func(r resource.Resource) resource.Resource { r.Purged = true; return r }
	text := func(parts ...any) resource.Text { return resource.Text{Parts: parts} }
	type list = []resource.Resource
	for _, c := range []struct {
		name        string
		before, now list
		noRead      string // the plan without reading; one line a resource
		read        string // the plan with reading, if it is another
		undefined   string // names, after the apply
	}{
		{name: "a chain that is new", now: list{res("a"), valued("b", factOf("a")),
			valued("c", text("x-", factOf("b"), "-y")), res("d<c")},
			noRead: "a create\nb create after v of a\nc create after v of b\nd create"},
		{name: "a parameter, and a fact beside it", now: list{res("a"),
			valued("b", text(factOf("a"), resource.Parameter{Name: "p"})), res("c<b"),
			valued("d", factOf("b"))},
			noRead: "a create\nb undefined (fact \"v\" of t::T[a,name=a] is not known)\n" +
				"c undefined (requires t::T[a,name=b], of which something is not known)\n" +
				"d undefined (fact \"v\" of t::T[a,name=b] is not known)", undefined: "b c d"},
		{name: "a resource that is not there", now: list{valued("b", factOf("a")), res("c<b")},
			noRead: "b undefined (fact \"v\" of t::T[a,name=a] is not known)\n" +
				"c undefined (requires t::T[a,name=b], of which something is not known)",
			undefined: "b c"},
		{name: "a resource that is purged", before: list{res("a")},
			now:       list{purged(res("a")), valued("b", factOf("a"))},
			noRead:    "a delete\nb undefined (fact \"v\" of t::T[a,name=a] is not known)",
			undefined: "b"},
		{name: "a name that an unchanged resource has never reported",
			before:    list{res("a"), valued("b", factOf("a"))},
			now:       list{res("a"), valued("b", resource.Fact{Name: "w", Of: id("a")})},
			noRead:    "a none\nb undefined (fact \"w\" of t::T[a,name=a] is not known)",
			undefined: "b"},
		{name: "an unchanged resource that is asked for the first time", before: list{res("a")},
			now:    list{res("a"), valued("b", factOf("a"))},
			noRead: "a none\nb create after v of a"},
		{name: "a literal that becomes a fact", before: list{valued("b", "one")},
			now:    list{valued("a", "one"), valued("b", factOf("a"))},
			noRead: "a create\nb update after v of a (may change: known after apply)"},
		{name: "a fact beside a literal that changes", before: list{valued("b", "one")},
			now: list{valued("a", "one"), func() resource.Resource {
				r := valued("b", factOf("a"))
				r.Attributes["note"] = "n"
				return r
			}()},
			noRead: "a create\nb update after v of a"},
		{name: "known facts of a resource that changes",
			before: list{valued("a", "one"), valued("b", factOf("a")), valued("c", factOf("b"))},
			now:    list{valued("a", "two"), valued("b", factOf("a")), valued("c", factOf("b"))},
			noRead: "a update\n" +
				"b none may v of a (value may change: fact \"v\" of t::T[a,name=a] is known after apply)\n" +
				"c none may v of b (value may change: fact \"v\" of t::T[a,name=b] is known after apply)"},
		{name: "a fact of a resource that waits for a parameter", now: list{res("a"), func() resource.Resource {
			r := valued("fail", factOf("a"))
			r.Attributes["value"] = resource.Parameter{Name: "p"}
			return r
		}(), valued("b", factOf("fail"))},
			noRead: "a create\nb undefined (fact \"v\" of t::T[a,name=fail] is not known)\n" +
				"fail undefined (parameter \"p\" is not known)", undefined: "fail b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := learning(t)
			copied := func(rs list) list { // an export resolves the references of its model
				out := make(list, len(rs))
				for i := range rs {
					out[i] = rs[i]
					out[i].Attributes = map[string]any{}
					for k, v := range rs[i].Attributes {
						out[i].Attributes[k] = v
					}
				}
				return out
			}
			if c.before != nil {
				r.release(copied(c.before)...)
			}
			if c.read == "" {
				c.read = c.noRead
			}
			asDryRun(t, r, deploy.Export{Model: modelOf(copied(c.now)...)}, c.read)
			var expect string
			for read, want := range map[bool]string{false: c.noRead, true: c.read} {
				d := author{rig: r}.preview(deploy.Export{Model: modelOf(copied(c.now)...)}, read)
				lines := map[string]bool{}
				for _, w := range d.Planned {
					lines[stepText(w)] = true
				}
				for _, line := range strings.Split(want, "\n") {
					if !lines[line] {
						t.Errorf("read %v: %q is not in the plan\n%v", read, line, lines)
					}
				}
				expect = d.State
			}
			r.export(deploy.Export{Model: modelOf(copied(c.now)...), Check: true, Expect: expect})
			r.drain()
			var open []string
			for _, q := range c.now {
				row := r.row(nameOfID(q.ID))
				if s := row.Status(); s == state.StatusUndefined || s == state.StatusBlocked {
					open = append(open, nameOfID(q.ID))
				}
			}
			if got := strings.Join(open, " "); got != c.undefined {
				t.Errorf("undefined after the apply: %q, want %q", got, c.undefined)
			}
		})
	}
}

// asDryRun wants a dry run of a version that is not released to say of each resource what the plan of
// its model says, but for the reasons.
func asDryRun(t *testing.T, r *rig, x deploy.Export, plan string) {
	t.Helper()
	x.NoRelease = true
	d, err := r.e.DryRun(t.Context(), "e", r.export(x).Version)
	if err != nil {
		t.Fatal(err)
	}
	short := func(line string) string { before, _, _ := strings.Cut(line, " ("); return before }
	lines := map[string]bool{}
	for _, w := range d.Planned {
		if lines[short(stepText(w))] = true; w.Action == "undefined" && len(w.KnownAfter) > 0 {
			t.Errorf("a dry run says %s", stepText(w))
		}
	}
	for line := range strings.SplitSeq(plan, "\n") {
		if !lines[short(line)] {
			t.Errorf("%q is not in the dry run\n%v", short(line), lines)
		}
	}
}

// TestChainOfFacts pins that one apply converges a long chain of facts, and that the plan has said
// so of each link.
func TestChainOfFacts(t *testing.T) {
	t.Parallel()
	r := learning(t)
	const links = 50
	chain := func(first string) []resource.Resource {
		out := []resource.Resource{valued("n0", first)}
		for i := 1; i < links; i++ {
			out = append(out, valued(fmt.Sprintf("n%d", i), factOf(fmt.Sprintf("n%d", i-1))))
		}
		return out
	}
	for _, value := range []string{"one", "two"} {
		d := author{rig: r}.preview(deploy.Export{Model: modelOf(chain(value)...)}, false)
		waits := 0
		for _, w := range d.Planned {
			waits += len(w.KnownAfter)
		}
		if waits != links-1 {
			t.Errorf("%s: %d links wait for a fact, want %d", value, waits, links-1)
		}
		r.release(chain(value)...)
		for i := range links {
			name := fmt.Sprintf("n%d", i)
			if r.want(name, state.StatusDeployed); r.w.things[name] != value {
				t.Fatalf("%s is %q, want %q", name, r.w.things[name], value)
			}
		}
	}
}

// TestFactsOfAResourceThatCameBack pins that resources get the new value of a fact whose resource
// was purged and made again, although its type reports facts on request only.
func TestFactsOfAResourceThatCameBack(t *testing.T) {
	t.Parallel()
	r := learning(t)
	owner := func(value string, purged bool) resource.Resource {
		out := valued("a", value)
		out.Set, out.Purged = "own", purged
		return out
	}
	r.release(owner("one", false), valued("b", factOf("a")))
	for _, step := range []resource.Resource{owner("one", true), owner("two", false)} {
		r.export(deploy.Export{Model: modelOf(step), Partial: true})
		r.drain()
	}
	if r.want("b", state.StatusDeployed); r.w.things["b"] != "two" {
		t.Errorf("b is %q, want the new value of the fact", r.w.things["b"])
	}
}

// withFacts gives some resources of a model a text with the fact of an earlier one.
func (a author) withFacts(m func() *model.Model) func() *model.Model {
	of := map[int]any{}
	for i := range m().Resources {
		if i == 0 || a.one(2) {
			continue
		}
		text, err := resource.NewText("x", resource.Fact{Name: "v", Of: m().Resources[a.IntN(i)].ID})
		if err != nil {
			a.t.Fatal(err)
		}
		of[i] = text
	}
	return func() *model.Model {
		out := m()
		for i := range out.Resources {
			r := &out.Resources[i]
			r.SendEvent, r.ReportOnly = false, false
			if v := of[i]; v != nil {
				r.Attributes["value"] = v
			}
		}
		return out
	}
}
