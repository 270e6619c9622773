package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// downs is the test's handler, some of whose things cannot be read now.
type downs struct {
	handler
	down map[string]error
}

func (d downs) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	if err := d.down[nameOf(req.Resource)]; err != nil {
		return provider.Observation{}, fmt.Errorf("read: %w", err)
	}
	return d.handler.Read(ctx, req)
}

// TestKnownAfter makes random models of which some things drift and others are not available, and
// compares what plans and dry runs say with the graph: what is behind a change is known after it,
// and everything else that cannot be read would fail.
func TestKnownAfter(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 40))
		r := newRig(t)
		h := downs{handler{r.w}, map[string]error{}}
		r.e.Handlers["t::T"] = h
		const n = 9
		requires := make([][]int, n)
		var model []resource.Resource
		for i := range n {
			one := res(fmt.Sprint("r", i))
			for q := range i {
				if rng.IntN(3) == 0 {
					requires[i] = append(requires[i], q)
					one.Requires = append(one.Requires, id(fmt.Sprint("r", q)))
				}
			}
			model = append(model, one)
		}
		export := func() deploy.Export {
			return deploy.Export{Model: modelOf(slices.Clone(model)...)}
		}
		if seed%2 == 0 { // otherwise everything is new
			r.export(export())
			r.drain()
		}
		drifted, changes, stuck, behind := [n]bool{}, [n]bool{}, [n]bool{}, [n]bool{}
		for i := range n {
			name := fmt.Sprint("r", i)
			switch rng.IntN(3) {
			case 0:
				h.down[name] = fault.New(fault.Unavailable, "", "nothing listens")
			case 1:
				h.down[name] = nil
				delete(r.w.things, name)
			}
			drifted[i] = r.w.things[name] == ""
		}
		for i := range n {
			for _, q := range requires[i] {
				behind[i] = behind[i] || behind[q] || changes[q]
				stuck[i] = stuck[i] || stuck[q]
			}
			isDown := h.down[fmt.Sprint("r", i)] != nil
			changes[i] = drifted[i] && !isDown
			stuck[i] = stuck[i] || isDown && !behind[i]
		}
		check := func(what string, d deploy.DryRun, err error) {
			t.Helper()
			if err != nil || len(d.Planned) != n {
				t.Fatalf("seed %d: %s: %d, %v", seed, what, len(d.Planned), err)
			}
			for _, w := range d.Planned {
				i := int(nameOfID(w.ID)[1] - '0')
				isDown := h.down[nameOfID(w.ID)] != nil
				after := isDown && !stuck[i]
				if w.Failed != stuck[i] || !w.Failed && after != (len(w.After) > 0) {
					t.Errorf("seed %d: %s: %+v; stuck %t, after others %t", seed, what, w, stuck[i],
						after)
				}
				for _, of := range w.After {
					if !changes[nameOfID(of)[1]-'0'] {
						t.Errorf("seed %d: %s: %s is known after %s, which does not change", seed, what,
							w.ID, of)
					}
				}
				if after {
					seen[what+" "+w.Action]++
				}
			}
		}
		d, err := r.e.Preview(t.Context(), "e", export(), deploy.CompareOptions{Read: true})
		check("plan", d, err)
		if seed%2 == 0 {
			d, err = r.e.DryRun(t.Context(), "e", 0)
			check("dry run", d, err)
		}
	}
	for _, what := range []string{"plan create", "plan none", "dry run none"} {
		if seen[what] == 0 {
			t.Errorf("no seed has %q after another change: %v", what, seen)
		}
	}
}

// TestAfterNeedsUnavailable pins that another failure to read is one, whatever changes before.
func TestAfterNeedsUnavailable(t *testing.T) {
	t.Parallel()
	for kind, later := range map[fault.Kind]bool{fault.Unavailable: true, fault.Denied: false,
		fault.Invalid: false, fault.Timeout: false} {
		r := newRig(t)
		r.e.Handlers["t::T"] = downs{handler{r.w},
			map[string]error{"b": fault.New(kind, "", "no")}}
		d, err := r.e.Preview(t.Context(), "e",
			deploy.Export{Model: modelOf(res("a"), res("b<a"))}, deploy.CompareOptions{Read: true})
		if err != nil || len(d.Planned) != 2 || d.Planned[1].Failed == later {
			t.Errorf("%s: %+v, %v", kind, d.Planned, err)
		}
	}
}

// TestAgentsOfPlans pins what plans say of agents: where new ones are, how others are reached in
// another way, and that another secret alone changes none of their resources.
func TestAgentsOfPlans(t *testing.T) {
	t.Parallel()
	at := func(transport string, options map[string]any) *resource.Agent {
		return &resource.Agent{Name: "a", Transport: transport, Lanes: 1, Options: options}
	}
	secret := func(name string) resource.Secret { return resource.Secret{Source: "env:" + name} }
	type options = map[string]any
	for name, c := range map[string]struct {
		before, now *resource.Agent // nil: not described
		fresh       bool            // nothing was exported before
		want        deploy.AgentChange
	}{
		"this machine": {fresh: true, want: deploy.AgentChange{Place: "this machine", New: true}},
		"another one": {now: at("http", options{"host": "h1", "user": "u", "port": int64(22)}), fresh: true,
			want: deploy.AgentChange{Place: "http u@h1:22", New: true}},
		"no credential": {now: at("http", options{"url": "https://u:pass@h2/x"}), fresh: true,
			want: deploy.AgentChange{Place: "http https://h2", New: true}},
		"a secret host": {now: at("http", options{"host": secret("HOME")}), fresh: true,
			want: deploy.AgentChange{Place: "http", New: true}},
		"the same":      {before: at("http", options{"host": "h"}), now: at("http", options{"host": "h"})},
		"described now": {now: at("local", options{})},
		"another place": {before: at("http", options{"host": "h1"}),
			now:  at("http", options{"host": "h2"}),
			want: deploy.AgentChange{Place: "http h2", How: "host h1 -> h2"}},
		"a secret": {before: at("http", options{"host": "h", "password": secret("HOME")}),
			now:  at("http", options{"host": "h", "password": secret("PATH")}),
			want: deploy.AgentChange{Place: "http h", How: "password", Rotated: true, Rechecked: 3}},
		"a new secret": {before: at("http", options{"host": "h"}),
			now:  at("http", options{"host": "h", "password": secret("PATH")}),
			want: deploy.AgentChange{Place: "http h", How: "password"}},
		"and the place": {before: at("http", options{"host": "h", "password": secret("HOME")}),
			now:  at("http", options{"host": "g", "password": secret("PATH")}),
			want: deploy.AgentChange{Place: "http g", How: "host h -> g, password"}},
		"a transport": {before: at("http", options{"password": secret("HOME")}),
			now:  at("local", options{"password": secret("PATH")}),
			want: deploy.AgentChange{Place: "this machine", How: "transport http -> local, password"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.typeOver("local", "http")
			r.e.Connector = places{}
			export := func(a *resource.Agent) deploy.Export {
				m := modelOf(res("x"), res("y<x"), valued("z", "z"))
				if a != nil {
					m.Agents = []resource.Agent{*a}
				}
				return deploy.Export{Model: m}
			}
			if !c.fresh {
				r.export(export(c.before))
				r.drain()
			}
			for _, read := range []bool{false, true} {
				d, err := r.e.Preview(t.Context(), "e", export(c.now), deploy.CompareOptions{Read: read})
				if err != nil {
					t.Fatal(err)
				}
				want := []deploy.AgentChange{c.want}
				if want[0].Name = "a"; c.want == (deploy.AgentChange{}) {
					want = nil
				}
				if !slices.Equal(d.Agents, want) {
					t.Errorf("read %t: %+v, want %+v", read, d.Agents, want)
				}
				marked := 0
				for _, w := range d.Planned {
					if w.Rechecked {
						marked++
						if w.Action != "none" || !strings.Contains(w.Reason, "password of agent a changes") {
							t.Errorf("read %t: %+v", read, w)
						}
					}
				}
				if marked != c.want.Rechecked {
					t.Errorf("read %t: %d are marked as checked again: %+v", read, marked, d.Planned)
				}
			}
			r.export(export(c.now)) // and they are
			r.drain()
			for _, row := range []string{"x", "y", "z"} {
				if got := r.row(row); got.Status() != state.StatusDeployed {
					t.Errorf("%s is %s: %s", row, got.Status(), got.Why())
				}
			}
		})
	}
}
