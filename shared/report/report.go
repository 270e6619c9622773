// Package report renders what the commands write with --json for those who look at it in a pipeline: people, as Markdown or text, and the annotations
// of GitHub and GitLab.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/plan"
)

// Report is what commands have reported.
type Report struct {
	Title    string
	Failures []Failure
	Plan     []Step
	Planned  map[string]int // by action; nil: there was no plan
	Result   *Result        // of apply or export; nil: there was none
	Wrong    []Wrong
	// Place returns where a resource is described; nil: not known.
	Place func(id string) diag.Pos
}

// Failure is an error object.
type Failure struct {
	Kind     fault.Kind     `json:"kind"`
	Message  string         `json:"message"`
	Hint     string         `json:"hint"`
	Problems []diag.Problem `json:"problems"`
}

// Step is a line of a plan.
type Step struct {
	ID      string               `json:"id"`
	Action  string               `json:"action"`
	Reason  string               `json:"reason"`
	Failed  bool                 `json:"failed"`
	Changes map[string]plan.Diff `json:"changes"`
}

// word says what becomes of a resource.
func (s *Step) word() string {
	if s.Failed {
		return "failed"
	}
	return s.Action
}

// Result is what apply and export answer.
type Result struct {
	Environment string         `json:"environment"`
	Version     int            `json:"version"`
	Resources   int            `json:"resources"`
	Changed     int            `json:"changed"`
	Unchanged   int            `json:"unchanged"`
	Removed     int            `json:"removed"`
	Repaired    int            `json:"repaired"`
	Counts      map[string]int `json:"counts"`
	DurationMS  int64          `json:"duration_ms"`
}

// Wrong is a resource that is not as it should be.
type Wrong struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// line is an object that a command has written: what tells which one it is. Members of one name may be of different
// kinds: the changes of a step are differences, those of a result are resources.
type line struct {
	Error   *Failure       `json:"error"`
	Summary map[string]int `json:"summary"`
	ID      string         `json:"id"`
	Action  string         `json:"action"`
	Status  string         `json:"status"`
	Reason  string         `json:"reason"`
	Counts  *struct{}      `json:"counts"`
}

// mostLine bounds the size of one object, in bytes.
const mostLine = 16 << 20

// Read adds what a command has written. Objects of commands that have no report are ignored; text that is not JSON is Invalid.
func (r *Report) Read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), mostLine)
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if err := r.add(text); err != nil {
			return fault.New(fault.Invalid, "read", "line %d is not what a command writes with --json", n).WithHint("give the standard output of a command, and that alone")
		}
	}
	return fault.Wrap(fault.Invalid, "read", lines.Err())
}

func (r *Report) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	switch {
	case l.Error != nil:
		r.Failures = append(r.Failures, *l.Error)
	case l.Summary != nil:
		r.Planned = l.Summary
	case l.Action != "" && l.ID != "":
		r.Plan = append(r.Plan, Step{})
		return json.Unmarshal(text, &r.Plan[len(r.Plan)-1])
	case l.Counts != nil:
		r.Result = new(Result)
		return json.Unmarshal(text, r.Result)
	case l.Status != "" && l.ID != "":
		if isWrong(l.Status) {
			r.Wrong = append(r.Wrong, Wrong{l.ID, l.Status, l.Reason})
		}
	}
	return nil
}

// isWrong reports whether a status needs somebody to look.
func isWrong(status string) bool {
	switch status {
	case "failed", "unavailable", "skipped", "blocked", "undefined":
		return true
	}
	return false
}

// severe reports whether something is wrong with a resource itself, and not with another that it depends on.
func (w *Wrong) severe() bool { return w.Status == "failed" || w.Status == "unavailable" }

// at returns where a resource is described.
func (r *Report) at(id string) diag.Pos {
	if r.Place == nil {
		return diag.Pos{}
	}
	return r.Place(id)
}

// Finding is one thing to annotate.
type Finding struct {
	diag.Pos
	Error    bool // or a warning
	Check    string
	Resource string
	Message  string
	Hint     string
}

// Findings returns everything that is wrong: problems of documents first, then resources.
func (r *Report) Findings() []Finding {
	var out []Finding
	for i := range r.Failures {
		f := &r.Failures[i]
		for _, p := range f.Problems {
			message := p.Message
			if p.Attribute != "" {
				message = p.Attribute + ": " + message
			}
			out = append(out, Finding{p.Pos, true, "document", p.Resource, message, p.Hint})
		}
		if len(f.Problems) == 0 {
			out = append(out, Finding{diag.Pos{}, true, string(f.Kind), "", f.Message, f.Hint})
		}
	}
	for i := range r.Plan {
		if s := &r.Plan[i]; s.Failed {
			out = append(out, Finding{r.at(s.ID), true, "plan", s.ID, "would fail, or could not be read: " + s.Reason, ""})
		}
	}
	for i := range r.Wrong {
		w := &r.Wrong[i]
		out = append(out, Finding{r.at(w.ID), w.severe(), w.Status, w.ID, w.Status + ": " + w.Reason, ""})
	}
	return out
}

// text returns a finding in words.
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
