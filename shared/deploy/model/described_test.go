package model_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// TestCheckDescribed pins which agents of an export have to be described.
func TestCheckDescribed(t *testing.T) {
	t.Parallel()
	in := func(names ...string) model.Describing { return model.Describing{Version: 7, Names: names} }
	kept := func(names ...string) model.Describing {
		return model.Describing{Version: 7, Names: names, Kept: true}
	}
	for name, c := range map[string]struct {
		described []string // by the model
		over      model.Describing
		named     []string // by resources
		want      []string // a part of each problem, in order
		hint      string   // a part of the hint of the first
	}{
		"no agent is described": {named: []string{"a", "b"}},
		"all are":               {described: []string{"a", "b"}, named: []string{"b", "a", "a"}},
		"more are":              {described: []string{"a", "b"}, named: []string{"a"}},
		"nothing is named":      {described: []string{"a"}, over: in("b")},
		"one is not": {described: []string{"web1", "web2"}, named: []string{"web1", "wbe2"},
			want: []string{`"wbe2" is not described, and other`},
			hint: `did you mean "web2"?`},
		"two are not, often": {described: []string{"web1"}, named: []string{"x", "y", "x", "y"},
			want: []string{`"x"`, `"y"`},
			hint: "describe how it is reached"},
		"the version in force does": {over: in("web1"), named: []string{"here"},
			want: []string{`"here" is not described, and version 7`}},
		"it is described no longer": {over: in("web1"), named: []string{"web1"},
			want: []string{`"web1" is described in version 7, and no longer here`},
			hint: "export the documents that describe it"},
		"a description is kept": {over: kept("web1"), named: []string{"web1"}},
		"the model adds one":    {described: []string{"db1"}, over: kept("web1"), named: []string{"db1", "web1"}},
		"neither has it": {described: []string{"db1"}, over: kept("web1"), named: []string{"web2"},
			want: []string{`"web2" is not described, and other`},
			hint: `did you mean "web1"?`},
		"only a kept version has any": {over: kept("web1"), named: []string{"wbe1"},
			want: []string{`"wbe1" is not described, and version 7`},
			hint: `did you mean "web1"?`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model.Model{}
			for _, a := range c.described {
				m.Agents = append(m.Agents, resource.Agent{Name: a, Transport: "ssh", Lanes: 1})
			}
			for _, a := range c.named {
				m.Resources = append(m.Resources, resource.Resource{Agent: a,
					ID: resource.NewID("std::Null", a, resource.Key{Name: "name", Value: "x"})})
			}
			coded := resource.Resource{Agent: "python", Attributes: map[string]any{
				model.CodeAttribute: resource.File{Hash: "h"}}}
			m.Resources = append(m.Resources, coded) // its handler runs here, for any agent
			got := model.CheckDescribed(m, c.over)
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i].Message, want) || i == 0 && !strings.Contains(got[i].Hint, c.hint) {
					t.Errorf("problem %d is %q with the hint %q, want %q and %q", i, got[i].Message,
						got[i].Hint, want, c.hint)
				}
			}
		})
	}
}
