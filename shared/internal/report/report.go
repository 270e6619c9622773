// Package report renders the --json output of commands for pipelines: as Markdown or text for
// people, and as annotations of GitHub and GitLab.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Report holds the output of commands, in the types in which they write it.
type Report struct {
	Title    string
	Failures []api.Failure
	Plan     []api.PlanLine
	Planned  map[string]int  // by action; nil: no plan
	Result   *api.Report     // of apply or export; nil: none
	Status   *api.StatusLine // of an environment; nil: none
	Wrong    []api.Resource  // resources that are not as intended
	Unfold   bool            // show equal changes on several agents separately
	// Place returns the position of a resource's description; nil: not known.
	Place func(id string) diag.Pos
}

// maxLine is the maximum size of one object in bytes.
const maxLine = 16 << 20

// Read adds the output of a command. It returns Invalid for text that is not JSON. It also returns
// Invalid for objects of commands that have no report, since a report without them would show no
// problem.
func (r *Report) Read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		known, err := r.add(text)
		if err != nil {
			return fault.New(fault.Invalid, "read",
				"line %d is not output of a command with --json",
				n).WithHint("give the standard output of a command, and that alone")
		}
		if !known {
			return fault.New(fault.Invalid, "read",
				"line %d is output of a command that has no report", n).
				WithHint("there are those of plan, dryrun, diff, apply, export, deploy, repair, " +
					"release, validate, resources and status")
		}
	}
	return fault.Wrap(fault.Invalid, "read", lines.Err())
}

// add adds a line, and reports whether its type is known.
func (r *Report) add(text []byte) (known bool, err error) {
	read, err := api.ReadLine(text)
	if err != nil {
		return false, err // the caller names the command
	}
	switch v := read.(type) {
	case *api.ErrorLine:
		r.Failures = append(r.Failures, v.Error)
	case *api.PlanEnd:
		r.Planned = v.Summary
	case *api.PlanLine:
		r.Plan = append(r.Plan, *v)
	case *api.Report:
		r.Result = v
	case *api.Resource:
		if isWrong(v.Status) {
			r.Wrong = append(r.Wrong, *v)
		}
	case *api.StatusLine:
		r.status(v)
	}
	return read != nil, nil
}

// status adds the status of an environment, and its resources with problems.
func (r *Report) status(s *api.StatusLine) {
	r.Status = s
	for i := range s.Problems {
		p := &s.Problems[i]
		w := api.Resource{ID: p.ID, Status: p.Status, Reason: p.Reason}
		if n := len(p.Because); n > 0 {
			var names []string
			for _, id := range p.Because[:min(n, maxNamed)] {
				names = append(names, string(id))
			}
			w.Reason += fmt.Sprintf("\nbecause of it %d not done: %s", n, strings.Join(names, ", "))
			if n > maxNamed {
				w.Reason += ", …"
			}
		}
		r.Wrong = append(r.Wrong, w)
	}
}

// maxNamed is the maximum number of named resources that were not processed because of another
// resource.
const maxNamed = 10

// isWrong reports whether a status requires attention.
func isWrong(status state.Status) bool { return slices.Contains(api.Unhealthy(), status) }

// severe reports whether a resource itself has a problem, rather than a resource that it depends
// on.
func severe(w *api.Resource) bool {
	return w.Status == state.StatusFailed || w.Status == state.StatusUnavailable
}

// at returns the position of a resource's description.
func (r *Report) at(id resource.ID) diag.Pos {
	if r.Place == nil {
		return diag.Pos{}
	}
	return r.Place(string(id))
}

// Finding is a problem to annotate.
type Finding struct {
	diag.Pos
	Error    bool // false: a warning
	Check    string
	Resource string
	Message  string
	Hint     string
}

// Findings returns all problems: problems of documents first, then problems of resources.
func (r *Report) Findings() []Finding {
	var out []Finding
	for i := range r.Failures {
		f := &r.Failures[i]
		for _, p := range f.Problems {
			message := p.Message
			if p.Attribute != "" {
				message = p.Attribute + ": " + message
			}
			at := diag.Pos{File: p.File, Line: p.Line, Column: p.Column}
			out = append(out, Finding{at, true, "document", p.Resource, message, p.Hint})
		}
		if len(f.Problems) == 0 {
			out = append(out, Finding{diag.Pos{}, true, string(f.Kind), "", f.Message, f.Hint})
		}
	}
	for i := range r.Plan {
		if s := &r.Plan[i]; s.Failed {
			out = append(out, Finding{r.at(s.ID), true, "plan", string(s.ID),
				"would fail, or could not be read: " + s.Reason, ""})
		}
	}
	for i := range r.Wrong {
		w := &r.Wrong[i]
		out = append(out, Finding{r.at(w.ID), severe(w), string(w.Status), string(w.ID),
			string(w.Status) + ": " + w.Reason, ""})
	}
	return out
}

// findings returns Findings with equal findings on several agents merged.
func (r *Report) findings() []Finding {
	all := r.Findings()
	var out []Finding
	for _, g := range Fold(all, func(f *Finding) (string, string) {
		of := resource.ID(f.Resource)
		if r.Unfold || f.Resource == "" || !strings.Contains(f.Resource, "[") {
			return "", ""
		}
		return fmt.Sprintf("%s %t %s %s %s %s", f.Pos, f.Error, f.Check, Anywhere(of),
			AnywhereIn(f.Message, of), f.Hint), of.Agent()
	}) {
		f := all[g[0]]
		f.Resource += Same(agentsOf(g, func(i int) resource.ID { return resource.ID(all[i].Resource) }))
		out = append(out, f)
	}
	return out
}

// agentsOf returns the agents of a group, or nil if it has only one item.
func agentsOf(g Folded, id func(i int) resource.ID) []string {
	if len(g) < 2 {
		return nil
	}
	var out []string
	for _, i := range g {
		out = append(out, id(i).Agent())
	}
	return out
}

// steps groups the changes of a plan, with equal changes on several agents merged. It omits
// unchanged resources.
func (r *Report) steps() []Folded {
	var out []Folded
	for _, g := range Fold(r.Plan, func(l *api.PlanLine) (string, string) {
		if r.Unfold {
			return "", ""
		}
		return StepKey(l)
	}) {
		if r.Plan[g[0]].Word() != "none" {
			out = append(out, g)
		}
	}
	return out
}

// wrongs groups the resources with problems, with equal problems on several agents merged.
func (r *Report) wrongs() []Folded {
	return Fold(r.Wrong, func(w *api.Resource) (string, string) {
		if r.Unfold {
			return "", ""
		}
		return fmt.Sprintf("%s %s %s", Anywhere(w.ID), w.Status, AnywhereIn(w.Reason, w.ID)),
			w.ID.Agent()
	})
}

// StepKey identifies a planned change independent of the agent. The key is "" if the change cannot
// be compared.
func StepKey(l *api.PlanLine) (key, agent string) {
	of, other := l.ID, *l
	other.ID, other.Reason = resource.ID(Anywhere(of)), AnywhereIn(l.Reason, of)
	other.ReloadFor = slices.Clone(l.ReloadFor)
	for i, id := range other.ReloadFor {
		other.ReloadFor[i] = resource.ID(AnywhereIn(string(id), of))
	}
	other.MovedFrom = resource.ID(AnywhereIn(string(l.MovedFrom), of))
	b, err := json.Marshal(other)
	if err != nil {
		return "", ""
	}
	if len(l.KnownAfter) > 0 { // facts of resources on the same agent
		return AnywhereIn(string(b), of), of.Agent()
	}
	return string(b), of.Agent()
}

// text formats a finding as text.
func (f *Finding) text() string {
	out := f.Message
	if f.Resource != "" {
		out = f.Resource + ": " + out
	}
	if f.Hint != "" {
		out += "\n" + f.Hint
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
