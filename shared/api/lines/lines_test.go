package lines

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/api/actions"
	"southbound/shared/api/agents"
	"southbound/shared/api/environments"
	"southbound/shared/api/problem"
	"southbound/shared/api/resources"
	"southbound/shared/api/results"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestReadLine wants every line that a command writes back as it was written.
func TestReadLine(t *testing.T) {
	t.Parallel()
	r := &Report{Environment: "e", Version: 1, Resources: 2,
		Counts: map[state.Status]int{state.StatusFailed: 1}}
	r.Tell([]Changed{{ID: "t::T[a,n=x]", Change: diff.Updated, Attributes: []string{"zone"},
		Replaced: true}})
	step := results.PlanLineOf(&deploy.PlannedChange{ID: "t::T[a,n=x]", Action: "update", Replace: true,
		Changes: map[string]diff.Diff{"zone": {Current: "a", Desired: "b"}}})
	for _, want := range []any{
		r, &step, &PlanEnd{Summary: map[string]int{"update": 1}},
		&ErrorLine{Error: problem.FailureOf(fault.New(fault.Refused, "apply", "no"))},
		&resources.Resource{ID: "t::T[a,n=x]", Status: state.StatusFailed, Reason: "why"},
		&StatusLine{Environment: "e", Counts: map[state.Status]int{state.StatusFailed: 1},
			PausedAgents: []string{}, Agents: []agents.Agent{}, Problems: []resources.Problem{{ID: "t::T[a,n=x]",
				Status: state.StatusFailed, Because: []resource.ID{"t::T[a,n=y]"}}}},
		&ValidLine{Valid: true, Resources: 2},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nis read as %+v, %v", text, got, err)
		}
	}
	for _, other := range []any{
		actions.Action{ID: "1", Resource: "t::T[a,n=x]", Action: state.ActionDeploy,
			Outcome: state.StatusDeployed}, versions.Version{Version: 1}, agents.Agent{Name: "a"},
		map[string]any{"environment": "e", "counts": map[string]int{}},
	} {
		text, err := json.Marshal(other)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Read(text); err != nil || got != nil {
			t.Errorf("%s\nis read as %+v, %v", text, got, err)
		}
	}
	if _, err := Read([]byte("done")); !fault.Is(err, fault.Invalid) {
		t.Errorf("text is %v", err)
	}
}

// TestDocumentedMembers wants every member of what commands write in the page that says so.
func TestDocumentedMembers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ = bytes.Cut(page, []byte("## JSON\n"))
	for _, c := range []struct {
		from, to string
		of       any
	}{
		{"\napply, export, ", "\nresources ", Report{}},
		{"\napply, export, ", "\nresources ", Changed{}},
		{"\nresources ", "\nresource ", resources.Resource{}},
		{"\nplan, dryrun ", "\nstatus ", results.PlanLine{}},
		{"\nplan, dryrun ", "\nstatus ", PlanEnd{}},
		{"\nversions ", "\nforget ", versions.Version{}},
	} {
		_, row, found := strings.Cut(string(page), c.from)
		row, _, ends := strings.Cut(row, c.to)
		if !found || !ends {
			t.Errorf("there is nothing from %q to %q", c.from, c.to)
			continue
		}
		for _, name := range members(reflect.TypeOf(c.of)) {
			if !strings.Contains(row, `"`+name+`"`) {
				t.Errorf("what %q says does not have %q of %T", strings.TrimSpace(c.from), name,
					c.of)
			}
		}
	}
	for _, status := range environments.Statuses() {
		if !strings.Contains(string(page), `"`+string(status)+`"`) {
			t.Errorf("the page does not have the count %q", status)
		}
	}
}

// members returns the names that a type has in JSON.
func members(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, members(f.Type)...)
		case name != "-":
			out = append(out, name)
		}
	}
	return out
}
