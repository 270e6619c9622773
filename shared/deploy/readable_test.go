package deploy_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestUnreadableSecrets pins that a plan and an export are refused if the process that serves an
// agent cannot read a kind of its secrets: one problem for each agent and kind, with the cure, and
// nothing is stored.
func TestUnreadableSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Readable = func(a resource.Agent, source resource.SecretSource) error {
		if !source.Machine || a.Options["far"] == nil {
			return nil
		}
		return fault.New(fault.Unsupported, "", "agent %s cannot read %s", a.Name, source.Scheme).
			WithHint("run %s elsewhere", a.Name)
	}
	on := func(agent, name, source string) resource.Resource {
		x := res(name)
		x.Agent, x.Set = agent, "s"
		x.ID = resource.NewID("t::T", agent, resource.Key{Name: "name", Value: name})
		x.Attributes["value"] = resource.Secret{Source: source}
		return x
	}
	far := func(name string) resource.Agent {
		return resource.Agent{Name: name, Transport: "local", Described: true,
			Options: map[string]any{"far": true}}
	}
	near := resource.Agent{Name: "near", Transport: "local", Described: true}
	all := []resource.Agent{far("b"), far("c"), near}
	b := far("b")
	b.Options = map[string]any{"far": true, "token": resource.Secret{Source: "env:T"}}
	for _, c := range []struct {
		why    string
		agents []resource.Agent
		rs     []resource.Resource
		want   []string
	}{
		{"a store that functions read", all,
			[]resource.Resource{on("b", "x", "ssm:/a"), on("near", "y", "ssm:/a")}, nil},
		{"a runner reads it", all, []resource.Resource{on("near", "x", "command:true"),
			on("undescribed", "y", "vault:a/b#c")}, nil},
		{"each agent and kind once, at its first secret", all, []resource.Resource{
			on("b", "x", "command:true"), on("b", "y", "command:false"), on("b", "z", "command:true"),
			on("c", "x", "command:true"), on("c", "y", "vault:a/b#c"), on("near", "x", "sops:a#b")},
			[]string{"t::T[b,name=x]: value: agent b cannot read command; it has 3 such secrets",
				"t::T[c,name=x]: value: agent c cannot read command",
				"t::T[c,name=y]: value: agent c cannot read vault"}},
		{"an option of an agent", []resource.Agent{b}, nil, []string{"agent b cannot read env"}},
	} {
		m := modelOf(c.rs...)
		m.Agents = c.agents
		var got []string
		for _, p := range m.UnreadableSecrets(m.Agents, r.e.Readable) {
			got = append(got, p.String())
		}
		r.same(c.why, got, c.want...)
	}
	refused := modelOf(on("b", "x", "command:true"))
	refused.Agents = all
	_, plan := r.e.Preview(t.Context(), "e", deploy.Export{Model: refused}, deploy.CompareOptions{})
	_, export := r.e.Export(t.Context(), "e", deploy.Export{Model: refused})
	check := r.e.Check(t.Context(), "e", deploy.Export{Model: refused})
	for what, err := range map[string]error{"plan": plan, "export": export, "check": check} {
		problems, _ := diag.Of(err)
		if len(problems) != 1 || problems[0].Hint != "run b elsewhere" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if env, err := r.home.Env(t.Context(), "e"); err != nil || env.Last != 0 {
		t.Errorf("version %d was stored, %v", env.Last, err)
	}
	// A partial export takes agents that it does not describe from the version.
	first := modelOf(on("near", "x", "env:PATH"))
	first.Agents = all
	r.export(deploy.Export{Model: first})
	part := modelOf(on("c", "y", "command:true"))
	part.Resources[0].Set = "t"
	_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: part, Partial: true})
	if problems, _ := diag.Of(err); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "agent c cannot read command") {
		t.Errorf("a partial export: %v", err)
	}
}
