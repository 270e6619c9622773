package exportcmd

import (
	"slices"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/deploy/model"
	"southbound/shared/lang/python/packages"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestAgentsInFunction pins which agents an export describes for the Python function, and which
// resources get the packages.
func TestAgentsInFunction(t *testing.T) {
	t.Parallel()
	types, err := provider.NewRegistry(handlers.All())
	if err != nil {
		t.Fatal(err)
	}
	r := func(typ, agent, key string, coded bool) resource.Resource {
		out := resource.Resource{Type: typ, Agent: agent,
			ID:         resource.NewID(typ, agent, resource.Key{Name: key, Value: "x"}),
			Attributes: map[string]any{key: "x"}}
		if coded {
			out.Attributes[model.CodeAttribute] = resource.File{Hash: "c"}
		}
		return out
	}
	for _, test := range []struct {
		name      string
		agents    []resource.Agent
		resources []resource.Resource
		function  []string // names of the agents that the function serves, sorted
		described string   // all agents with their transports
		packed    int      // resources that have packages
	}{
		{"only resources with code", nil, []resource.Resource{r("disk::Note", "a", "path", true),
			r("fs::File", "a", "path", true)}, []string{"a"}, "a:function", 2},
		{"with a type that has no place", nil, []resource.Resource{
			r("disk::Note", "a", "path", true), r("std::Null", "a", "name", false)},
			[]string{"a"}, "a:function", 1},
		{"with a type that acts on a machine", nil, []resource.Resource{
			r("disk::Note", "a", "path", true), r("fs::File", "a", "path", false)}, nil, "", 0},
		{"described as a machine", []resource.Agent{{Name: "a", Transport: "local"}},
			[]resource.Resource{r("disk::Note", "a", "path", true)}, nil, "a:local", 0},
		{"described as a function", []resource.Agent{{Name: "a", Transport: "function", Lanes: 4}},
			[]resource.Resource{r("disk::Note", "a", "path", true)}, []string{"a"}, "a:function", 1},
		{"several", []resource.Agent{{Name: "b", Transport: "local"}}, []resource.Resource{
			r("disk::Note", "a", "path", true), r("disk::Note", "b", "path", true),
			r("fs::File", "c", "path", false)}, []string{"a"}, "b:local a:function", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := &model.Model{Agents: test.agents, Resources: test.resources, Fingerprint: "f"}
			found := inFunction(m, types)
			var names, described []string
			for name := range found {
				names = append(names, name)
			}
			slices.Sort(names)
			for _, a := range m.Agents {
				described = append(described, a.Name+":"+a.Transport)
			}
			if !slices.Equal(names, test.function) ||
				strings.Join(described, " ") != test.described {
				t.Errorf("served: %v; described: %v", names, described)
			}
			addPackages(m, found, &packages.Bundle{Hash: "p", Size: 3})
			packed := 0
			for i := range m.Resources {
				if f := model.PackagesOf(&m.Resources[i]); f == (resource.File{Hash: "p", Size: 3}) {
					packed++
				}
			}
			if packed != test.packed || m.Fingerprint == "f" || m.Files["p"].Size != 3 {
				t.Errorf("%d resources have packages, want %d; %+v", packed, test.packed, m.Files)
			}
		})
	}
}
