package python

import (
	"encoding/json"
	"fmt"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Tests describe a run of tests in Python.
type Tests struct {
	Args []string // of pytest
	// Module and Dir are the name and the folder of the module under test. Project is the folder of
	// the model that tests write, and Paths are the folders with modules V1. All folders are
	// absolute.
	Module, Dir, Project string
	Paths                []string
	Run                  string // a regular expression of names; "": all
	// Compile compiles the model in Project with this host. It returns errors in the model as
	// diag.Problems.
	Compile func() (result *eval.Result, warnings diag.Problems, err error)
	// Done is called after each test.
	Done func(Test)
}

// Test is the result of a test in Python.
type Test struct {
	File, Name, Outcome string
	Line                int
	Why, Text           string // of a failed or skipped test
	Took                time.Duration
}

// defaultTests is the time limit of all tests; the context can end them earlier.
const defaultTests = 24 * time.Hour

// session is a run of tests.
type session struct {
	Tests
	host  *Host
	after *exporting // answers questions about the last model; nil: there is none
}

// Pytest runs tests with pytest and the fixtures of the host, and returns the exit code of pytest.
// The tests and the models that they compile share this process.
func (h *Host) Pytest(t Tests) (code int, err error) {
	message, err := json.Marshal([]any{"pytest", t.Args, map[string]any{
		"module": t.Module, "path": t.Dir, "project": t.Project, "modulepath": t.Paths,
		"run": t.Run,
	}})
	if err != nil {
		return 0, fault.Wrap(fault.Internal, "run tests in Python", err)
	}
	s := &session{Tests: t, host: h}
	h.Limit(defaultTests)
	kind, v, err := h.converse(message, "pytest", s.answer)
	switch {
	case err != nil:
		return 0, asFault(err)
	case kind == "missing" && len(v) == 2 && text(v[0]) == "pytest":
		return 0, fault.New(fault.Invalid, "test the module",
			"tests in Python need pytest, which the virtual environment of %s does not have",
			h.sources.python).
			WithHint("`southbound module test --install` installs it")
	case kind == "missing" && len(v) == 2:
		return 0, h.sources.missing(text(v[0]), text(v[1]))
	case kind != "ok" || len(v) != 1:
		return 0, fmt.Errorf("%w: %s", errFrame, kind)
	}
	n, _ := v[0].(int64)
	return int(n), nil
}

// answer answers the requests of tests.
func (s *session) answer(kind string, v []types.Value, b []byte) ([]byte, bool, error) {
	switch {
	case kind == "compile":
		return s.compile()
	case kind == "test" && len(v) == 7:
		line, _ := v[3].(int64)
		seconds, _ := v[6].(float64)
		s.Done(Test{
			File: text(v[0]), Name: text(v[1]), Outcome: text(v[2]), Line: int(line),
			Why:  text(v[4]),
			Text: text(v[5]), Took: time.Duration(seconds * float64(time.Second)),
		})
		return nil, true, nil
	case kind == "print" || s.after == nil:
		return s.host.quiet(kind, v, b)
	}
	return s.after.answer(kind, v, b)
}

// compile compiles the model of a test.
func (s *session) compile() ([]byte, bool, error) {
	h := s.host
	clear(h.objects)
	s.after = nil
	h.Limit(defaultCall)
	result, warnings, err := s.Compile()
	h.Limit(defaultTests)
	if result == nil {
		result = &eval.Result{}
	}
	if err != nil {
		select {
		case <-h.exited:
			return nil, false, err
		default:
		}
		b, err := json.Marshal([]any{"problems", result.Output, problemsOf(err)})
		return b, true, err
	}
	s.after = newExporting(h, result)
	said := ""
	for _, w := range warnings {
		said += "warning: " + w.String() + "\n"
	}
	b, err := json.Marshal([]any{"compiled", result.Output, said})
	return b, true, err
}

// problemsOf returns the errors in a model with their places and codes, in the format for tests.
func problemsOf(err error) [][4]any {
	none := func(diag.Pos) (string, bool) { return "", false }
	var out [][4]any
	problems, _ := diag.Of(err)
	for _, p := range problems {
		text := ""
		for _, line := range p.Lines(none) {
			text += line + "\n"
		}
		out = append(out, [4]any{text, p.File, p.Line, p.Code})
	}
	if len(problems) == 0 {
		out = append(out, [4]any{err.Error(), "", 0, ""})
	}
	return out
}
