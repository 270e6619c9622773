package modtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// script is a running script.
type script struct {
	ctx         context.Context
	dir, module string
	bench       Bench

	compiled *Compiled // the result of the last compile; nil if it failed or did not run
	problems diag.Problems
	tried    bool // compile has run
	ran      *Ran // the result of the last dryrun or deploy
}

type command = func(ts *testscript.TestScript, neg bool, args []string)

// commands returns the commands of scripts in addition to those of testscript.
func (s *script) commands() map[string]command {
	return map[string]command{
		"compile": s.compile, "problem": s.problem,
		"resource": s.resource, "resources": s.resources,
		"dryrun": func(ts *testscript.TestScript, neg bool, args []string) {
			s.run(ts, neg, args, s.bench.DryRun)
		},
		"deploy": func(ts *testscript.TestScript, neg bool, args []string) {
			s.run(ts, neg, args, s.bench.Deploy)
		},
		"change":    s.change,
		"status":    s.status,
		"unchanged": s.unchanged,
		"expand":    expand,
	}
}

// compile compiles the model. Its output is standard output; warnings and problems are standard
// error.
func (s *script) compile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 {
		ts.Fatalf("usage: [!] compile")
	}
	c, err := s.bench.Compile(s.ctx)
	s.tried, s.compiled, s.problems, s.ran = true, nil, nil, nil
	_, _ = ts.Stdout().Write([]byte(c.Output))
	for _, w := range c.Warnings {
		fmt.Fprintf(ts.Stderr(), "warning: %s\n", s.shown(w))
	}
	if err == nil {
		s.compiled = c
		if neg {
			ts.Fatalf("the model compiles, and should not")
		}
		return
	}
	var more int
	if s.problems, more = diag.Of(err); len(s.problems) == 0 {
		fmt.Fprintln(ts.Stderr(), s.local(err.Error()))
	}
	for _, p := range s.problems {
		fmt.Fprintln(ts.Stderr(), s.shown(p))
	}
	if more > 0 {
		fmt.Fprintf(ts.Stderr(), "and %d more\n", more)
	}
	if !neg {
		ts.Fatalf("the model does not compile")
	}
}

// shown returns a problem with its related places.
func (s *script) shown(p diag.Problem) string {
	none := func(diag.Pos) (string, bool) { return "", false }
	return s.local(strings.Join(p.Lines(none), "\n"))
}

// local shortens paths below the folder of the script or of the module.
func (s *script) local(text string) string {
	for _, dir := range []string{s.dir, s.module} {
		text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
	}
	return text
}

// problem checks that the model has a problem: problem FILE[:LINE[:COLUMN]] TEXT...
func (s *script) problem(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] problem FILE[:LINE[:COLUMN]] TEXT...")
	}
	if !s.tried {
		ts.Fatalf("there is no model yet; `! compile` comes first")
	}
	found := slices.ContainsFunc(s.problems, func(p diag.Problem) bool {
		at := s.local(p.Pos.String())
		text := s.shown(p)
		return (at == args[0] || strings.HasPrefix(at, args[0]+":")) &&
			!slices.ContainsFunc(args[1:],
				func(part string) bool { return !strings.Contains(text, part) })
	})
	if found == neg {
		ts.Fatalf("%s; the problems are:\n%s", mismatch(neg, "problem", args[0]), s.all())
	}
}

func mismatch(neg bool, what, of string) string {
	if neg {
		return "there is such a " + what + " of " + of
	}
	return "there is no such " + what + " of " + of
}

// all returns all problems as text.
func (s *script) all() string {
	if len(s.problems) == 0 {
		return "  none"
	}
	var b strings.Builder
	for _, p := range s.problems {
		b.WriteString("  " + strings.ReplaceAll(s.shown(p), "\n", "\n  ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// filterOf parses a selection of resources: a type, an id, a glob of ids, or a term such as
// agent=a.
func filterOf(text string) (state.Filter, error) {
	if !strings.ContainsAny(text, "[*?=") {
		text = "type=" + text
	}
	return state.ParseFilter([]string{text})
}

// selected returns the selected resources of the model.
func (s *script) selected(ts *testscript.TestScript, text string) []resource.Resource {
	if s.compiled == nil {
		ts.Fatalf("there is no model; `compile` comes first")
	}
	f, err := filterOf(text)
	ts.Check(err)
	var out []resource.Resource
	for _, r := range s.compiled.Resources {
		if f.Picks(r.ID, r.Set) {
			out = append(out, r)
		}
	}
	return out
}

// ids returns the ids of the resources of the model, for messages.
func (s *script) ids() string {
	if len(s.compiled.Resources) == 0 {
		return "the model has no resources"
	}
	var b strings.Builder
	b.WriteString("the resources of the model are:")
	for _, r := range s.compiled.Resources {
		b.WriteString("\n  " + string(r.ID))
	}
	return b.String()
}

// resources checks the number of resources: resources NUMBER [WHICH].
func (s *script) resources(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: resources NUMBER [TYPE|ID|GLOB|TERM]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	which := "*"
	if len(args) > 1 {
		which = args[1]
	}
	if got := s.selected(ts, which); len(got) != want {
		ts.Fatalf("there are %d resources %s, and not %d; %s", len(got), which, want, s.ids())
	}
}

// resource checks a resource of the model: resource WHICH [JSON].
func (s *script) resource(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 || neg && len(args) > 1 {
		ts.Fatalf("usage: resource TYPE|ID|GLOB|TERM [JSON|FILE]  or  ! resource TYPE|ID|GLOB|TERM")
	}
	got := s.selected(ts, args[0])
	switch {
	case neg && len(got) == 0:
		return
	case neg:
		ts.Fatalf("there is a resource %s: %s", args[0], got[0].ID)
	case len(got) == 0:
		ts.Fatalf("there is no resource %s; %s", args[0], s.ids())
	case len(got) > 1:
		ts.Fatalf("there are %d resources %s; %s", len(got), args[0], s.ids())
	}
	if len(args) > 1 {
		if diff, err := lacks(wanted(ts, args[1]), members(&got[0])); err != nil || diff != "" {
			ts.Check(err)
			ts.Fatalf("%s is not as expected:\n%s", got[0].ID, diff)
		}
	}
}

// wanted returns a JSON argument, or the content of the file that the argument names.
func wanted(ts *testscript.TestScript, arg string) string {
	if strings.HasPrefix(arg, "{") || strings.HasPrefix(arg, "[") {
		return arg
	}
	return ts.ReadFile(arg)
}

// members returns the attributes and flags of a resource, and its requires.
func members(r *resource.Resource) map[string]any {
	out := map[string]any{}
	for name, v := range r.Attributes {
		if !strings.HasPrefix(name, "_") {
			out[name] = v
		}
	}
	for name, v := range map[string]bool{
		"purged": r.Purged, "purge_on_delete": r.PurgeOnDelete, "report_only": r.ReportOnly,
		"send_event": r.SendEvent, "receive_events": r.ReceiveEvents,
	} {
		out[name] = v
	}
	out["requires"] = append([]resource.ID{}, r.Requires...)
	return out
}

// run does a dry run or a deployment. Its report is standard output.
func (s *script) run(
	ts *testscript.TestScript, neg bool, args []string,
	do func(context.Context, []string) (*Ran, error),
) {
	if s.compiled == nil {
		ts.Fatalf("there is no model; `compile` comes first")
	}
	if len(args) == 1 && !strings.ContainsAny(args[0], "[*?=") {
		args = []string{"type=" + args[0]}
	}
	ran, err := do(s.ctx, args)
	if err != nil {
		problems, _ := diag.Of(err)
		if s.problems = problems; !neg {
			ts.Fatalf("%s", s.local(err.Error()))
		}
		fmt.Fprintln(ts.Stderr(), s.local(err.Error()))
		return
	}
	s.ran = ran
	_, _ = ts.Stdout().Write([]byte(ran.Text))
	if len(ran.Outcomes) == 0 {
		ts.Fatalf("nothing is selected; %s", s.ids())
	}
	bad := unwell(ran.Outcomes)
	switch {
	case neg && bad == "":
		ts.Fatalf("all went well, and should not")
	case !neg && bad != "":
		ts.Fatalf("not all went well:\n%s", bad)
	}
}

// unwell lists the resources whose status is not good.
func unwell(all []Outcome) string {
	var lines []string
	for _, o := range all {
		switch o.Status {
		case "", state.StatusDeployed, state.StatusNonCompliant:
		default:
			lines = append(lines, fmt.Sprintf("  %s %s: %s", o.Status, o.ID, o.Reason))
		}
	}
	return strings.Join(lines, "\n")
}

// outcomes returns the outcomes of the selected resources. It fails if there are none.
func (s *script) outcomes(ts *testscript.TestScript, text string) []Outcome {
	if s.ran == nil {
		ts.Fatalf("nothing was deployed yet; `dryrun` or `deploy` comes first")
	}
	f, err := filterOf(text)
	ts.Check(err)
	var out []Outcome
	names := ""
	for _, o := range s.ran.Outcomes {
		names += "\n  " + string(o.ID)
		if f.Picks(o.ID, "") {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		ts.Fatalf("there was no %s among:%s", text, names)
	}
	return out
}

// changeOf returns the change for a word of a dry run or of a deployment; "" for other words.
func changeOf(word string) diff.Change {
	switch word {
	case "create", "created":
		return diff.Created
	case "update", "updated":
		return diff.Updated
	case "delete", "purged":
		return diff.Purged
	case "none":
		return diff.NoChange
	}
	return ""
}

// change checks actual or planned changes: change WORD WHICH [JSON].
func (s *script) change(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 || neg && len(args) > 2 || changeOf(args[0]) == "" {
		ts.Fatalf("usage: [!] change created|updated|purged|none TYPE|ID|GLOB|TERM [JSON|FILE]")
	}
	for _, o := range s.outcomes(ts, args[1]) {
		if (o.Change == changeOf(args[0])) == neg {
			ts.Fatalf("%s is %s:\n%s", o.ID, o.Change, shownChanges(o))
		}
		if len(args) < 3 {
			continue
		}
		got := map[string]any{}
		for name, d := range o.Changes {
			got[name] = []any{d.Current, d.Desired}
		}
		diff, err := lacks(wanted(ts, args[2]), got)
		ts.Check(err)
		if diff != "" {
			ts.Fatalf("the changes of %s are not as expected:\n%s", o.ID, diff)
		}
	}
}

func shownChanges(o Outcome) string {
	if len(o.Changes) == 0 {
		return "  nothing differs"
	}
	var lines []string
	for name, d := range o.Changes {
		lines = append(lines, fmt.Sprintf("  %s: %s -> %s", name, text(d.Current), text(d.Desired)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// status checks the status of resources: status WORD WHICH [TEXT...].
func (s *script) status(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] status deployed|failed|skipped|... TYPE|ID|GLOB|TERM [TEXT...]")
	}
	if _, err := state.ParseFilter([]string{"status=" + args[0]}); err != nil {
		ts.Fatalf("%v", err)
	}
	for _, o := range s.outcomes(ts, args[1]) {
		if (string(o.Status) == args[0]) == neg {
			ts.Fatalf("%s is %s: %s", o.ID, o.Status, o.Reason)
		}
		for _, part := range args[2:] {
			if !strings.Contains(o.Reason, part) {
				ts.Fatalf("%s is %s for another reason: %s", o.ID, o.Status, o.Reason)
			}
		}
	}
}

// unchanged checks that resources have no actual or planned changes.
func (s *script) unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: unchanged [TYPE|ID|GLOB|TERM]")
	}
	which := "*"
	if len(args) > 0 {
		which = args[0]
	}
	var lines []string
	for _, o := range s.outcomes(ts, which) {
		if o.Change != diff.NoChange {
			lines = append(lines, fmt.Sprintf("%s is %s:\n%s", o.ID, o.Change, shownChanges(o)))
		}
	}
	if len(lines) > 0 {
		ts.Fatalf("there was something to do: %s", strings.Join(lines, "\n"))
	}
}

// expand replaces script variables, such as $WORK, in files.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: expand FILE...")
	}
	for _, name := range args {
		var missing error
		out := os.Expand(ts.ReadFile(name), func(v string) string {
			value := ts.Getenv(v)
			if value == "" {
				missing = errors.Join(missing, fmt.Errorf("%s: $%s is not set", name, v))
			}
			return value
		})
		ts.Check(missing)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(out), 0o600))
	}
}
