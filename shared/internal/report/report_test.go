package report

import (
	"encoding/json"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
)

// read returns a report of what commands have written.
func read(t *testing.T, text string) *Report {
	t.Helper()
	r := &Report{Title: "T"}
	if err := r.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return r
}

func markdown(t *testing.T, r *Report, limit int) string {
	t.Helper()
	var b strings.Builder
	if err := r.Markdown(&b, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const hostile = `{"id":"t::T[a,name=<script>|@all` + "`" +
	`*]","status":"failed","reason":"</td>\n::error::x [l](http://h) **b** 100%"}
{"id":"t::T[a,name=ok]","status":"deployed"}
{"id":"t::T[a,name=next]","status":"skipped","reason":"r"}
`

// TestHostile pins that texts of others are shown as texts, in every format.
func TestHostile(t *testing.T) {
	t.Parallel()
	r := read(t, hostile)
	r.Place = func(id string) diag.Pos {
		if strings.Contains(id, "next") {
			return diag.Pos{}
		}
		return diag.Pos{File: "a:b,c.yaml", Line: 3, Column: 1}
	}
	text := markdown(t, r, 0)
	for _, bad := range []string{"<script>", "</td>", "@all", "](http", "**b**", "`*]"} {
		if strings.Contains(text, bad) {
			t.Errorf("the Markdown has %q:\n%s", bad, text)
		}
	}
	if n := strings.Count(text, "\n| "); n != 3 {
		// the head and two rows: what is deployed is not a finding
		t.Errorf("%d rows:\n%s", n, text)
	}
	var b strings.Builder
	if err := r.GitHub(&b, "p"); err != nil {
		t.Fatal(err)
	}
	want := "::error file=p/a%3Ab%2Cc.yaml,line=3,col=1,title=Southbound%3A " +
		"failed::t::T[a,name=<script>|@all`*]: failed: </td>%0A::error::x [l](http://h) **b** " +
		"100%25\n" +
		"::warning title=Southbound%3A skipped::t::T[a,name=next]: skipped: r\n"
	if b.String() != want {
		t.Errorf("%s\nexpected\n%s", &b, want)
	}
}

// TestReloadsAndDifferences wants a plan to be summed up with what reloads, and what only differs.
func TestReloadsAndDifferences(t *testing.T) {
	t.Parallel()
	text := markdown(t, read(t, `{"summary":{"none":5,"reload":1,"differs":2}}`), 0)
	if !strings.Contains(text,
		"**1** to reload, **2** only compared, and different; 2 stay as they are.") {
		t.Error(text)
	}
}

// TestReplacements pins that a summary counts replacements apart from other updates.
func TestReplacements(t *testing.T) {
	t.Parallel()
	text := markdown(t, read(t, `{"id":"x","action":"update","changes":{},"replace":true}
{"summary":{"update":3,"replace":1,"none":1}}`), 0)
	if !strings.Contains(text, "**2** to update, **1** to replace; 1 stay as they are.") {
		t.Error(text)
	}
}

// TestFence pins that a value cannot end the block it is shown in.
func TestFence(t *testing.T) {
	t.Parallel()
	text := markdown(t,
		read(t, `{"id":"x","action":"update","changes":{"content":{"current":"a","desired":"`+
			"````"+`"}}}
{"id":"y","action":"none","changes":{}}
{"summary":{"update":1,"none":1}}`), 0)
	if !strings.Contains(text,
		"`````diff\n! update x\n-   content: \"a\"\n+   content: \"````\"\n`````\n") ||
		!strings.Contains(text, "**1** to update; 1 stay as they are.") ||
		strings.Contains(text, "none y") {
		t.Error(text)
	}
}

// TestDiffs pins how differences look: texts as unified diffs, and of secrets only that they
// change.
func TestDiffs(t *testing.T) {
	t.Parallel()
	text := markdown(t, read(t, `{"id":"x","action":"update","changes":{`+
		`"content":{"current":{"file":"a","size":1},"desired":{"file":"b","size":2},`+
		`"unified":"@@ -1,2 +1,2 @@\n same\n-old\n+new\n"},`+
		`"key":{"current":"<redacted>","desired":"<redacted>"},`+
		`"pass":{"current":null,"desired":"<redacted>"}}}
{"summary":{"update":1}}`), 0)
	want := "! update x\n    content:\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n" +
		"!   key: changed (secret)\n+   pass: set (secret)\n```\n"
	if !strings.Contains(text, want) {
		t.Errorf("%s\nlacks\n%s", text, want)
	}
}

// TestFailedStep pins that what a plan could not tell is a finding, and is not taken for what stays
// as it is.
func TestFailedStep(t *testing.T) {
	t.Parallel()
	r := read(t,
		`{"id":"t::T[a,name=x]","action":"none","changes":{},"reason":"permission denied","failed":true}
{"summary":{"none":0,"failed":1}}`)
	if f := r.Findings(); len(f) != 1 || f[0].Resource != "t::T[a,name=x]" ||
		!strings.Contains(f[0].Message, "permission denied") {
		t.Errorf("findings %+v", f)
	}
	if text := markdown(t, r, 0); !strings.Contains(text,
		"x failed t::T[a,name=x]\n# permission denied\n") {
		t.Error(text)
	}
}

// TestLimit pins that a long plan is cut short whole steps at a time, and says so.
func TestLimit(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for range 1000 {
		b.WriteString(
			`{"id":"t::T[a,name=x]","action":"create","changes":{"value":{"desired":"v"}}}` + "\n")
	}
	b.WriteString(`{"summary":{"create":1000}}`)
	text := markdown(t, read(t, b.String()), 5000)
	if len(text) > 5000 || !strings.HasSuffix(text, " more; the log of the job has all._\n") ||
		strings.Count(text, "```")%2 != 0 || !strings.Contains(text, "</details>") {
		t.Errorf("%d bytes: %s", len(text), text[len(text)-300:])
	}
}

// TestGitLab pins that a finding that has moved keeps its fingerprint, that two alike have two, and
// that what has no place is shown.
func TestGitLab(t *testing.T) {
	t.Parallel()
	report := func(line string) (out []issue) {
		p := `{"file":"a.yaml","line":` + line + `,"column":1,"message":"m","hint":"h"}`
		var b strings.Builder
		if err := read(t, `{"error":{"kind":"invalid","message":"","problems":[`+p+`,`+p+`]}}`+"\n"+
			`{"error":{"kind":"unavailable","message":"no store"}}`).GitLab(&b, "",
			"southbound.yaml"); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(b.String()), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	before, after := report("3"), report("7")
	if len(before) != 3 || before[0].Fingerprint != after[0].Fingerprint ||
		before[0].Fingerprint == before[1].Fingerprint {
		t.Errorf("%+v\n%+v", before, after)
	}
	if i := before[2]; i.Location.Path != "southbound.yaml" || i.Location.Lines.Begin != 1 ||
		i.Description != "no store" {
		t.Errorf("%+v", i)
	}
	var b strings.Builder
	if err := read(t, "").GitLab(&b, "", "x"); err != nil || b.String() != "[]\n" {
		t.Errorf("nothing is %q, %v", &b, err)
	}
}

// TestStatus wants what is wrong with an environment to be read from its status, with what is not
// done because of it and what waits, in every format.
func TestStatus(t *testing.T) {
	t.Parallel()
	r := read(t, `{"environment":"e","version":3,"counts":{"failed":1,"skipped":1,"deployed":4},`+
		`"scheduled":2,"problems":[{"id":"t::T[a,name=x]","status":"failed","reason":"no room",`+
		`"not_done_because_of_it":["t::T[a,name=y]"]}]}`)
	text := markdown(t, r, 0)
	for _, want := range []string{
		"❌ Version 3 of <code>e</code>: **4** deployed, **1** failed, **1** skipped; **2** to do.",
		"| failed | no room<br>because of it 1 not done: t::T&#91;a,name=y&#93; |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
	var b strings.Builder
	if err := r.Text(&b, ""); err != nil || b.String() !=
		"t::T[a,name=x]: failed: no room\n  because of it 1 not done: t::T[a,name=y]\n" {
		t.Errorf("%v, %s", err, &b)
	}
	if text := markdown(t, read(t, `{"environment":"e","version":1,"counts":{"deployed":1},`+
		`"scheduled":0,"problems":[]}`), 0); !strings.Contains(text, "✅ Version 1 of") {
		t.Error(text)
	}
}

// TestWrongResources wants a report of resources alone not to say that nothing is wrong.
func TestWrongResources(t *testing.T) {
	t.Parallel()
	text := markdown(t, read(t, hostile), 0)
	if !strings.Contains(text, "❌ **2 resources** with problems.") {
		t.Error(text)
	}
}

// TestReloadsOnly wants reloads alone to be summed up and listed.
func TestReloadsOnly(t *testing.T) {
	t.Parallel()
	text := markdown(t, read(t, `{"id":"t::T[a,name=x]","action":"none","changes":{},`+
		`"reload_for":["t::T[a,name=y]"]}`+"\n"+`{"summary":{"none":2,"reload":1}}`), 0)
	if !strings.Contains(text, "**1** to reload; 1 stay as they are.") ||
		!strings.Contains(text, "! reload t::T[a,name=x]") {
		t.Error(text)
	}
}

// TestRefusesOthers wants what no report is made of to be refused: it would say that nothing is
// wrong.
func TestRefusesOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"name":"a","transport":"ssh","lanes":1,"paused":true}`,
		`{"id":"1","resource":"x","outcome":"failed","action":"deploy"}`} {
		var r Report
		if err := r.Read(strings.NewReader(text)); !fault.Is(err, fault.Invalid) ||
			!strings.Contains(fault.HintOf(err), "status") {
			t.Errorf("%s: %v", text, err)
		}
	}
	read(t, `{"valid":true,"resources":3}`)
}

func TestReadOther(t *testing.T) {
	t.Parallel()
	var r Report
	if err := r.Read(strings.NewReader("{\"valid\":true}\nnot JSON")); !fault.Is(err,
		fault.Invalid) || !strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
}

// TestReadResult wants what apply answers to be read although its changes are of another kind than
// those of a plan.
func TestReadResult(t *testing.T) {
	t.Parallel()
	r := &Report{}
	if err := r.Read(
		strings.NewReader(
			`{"environment":"e","version":3,"author":"ann","resources":2,"changed":1,"unchanged":1,` +
				`"changes":[{"id":"std::Null[a,name=x]","change":"created","attributes":["value"]}],"counts":{"deployed":2},"duration_ms":5}` +
				"\n")); err != nil {
		t.Fatal(err)
	}
	if r.Result == nil || r.Result.Version != 3 || r.Result.Changed != 1 {
		t.Errorf("read as %+v", r.Result)
	}
}

// TestPlanAsText shows a plan as text: what changes, and no line that an id or a reason begins.
func TestPlanAsText(t *testing.T) {
	t.Parallel()
	r := read(t, `{"id":"t::T[a,name=x\n::error::id]","action":"create","changes":{"mode":{"current":null,"desired":"0644"}}}
{"id":"t::T[b,name=x\n::error::id]","action":"create","changes":{"mode":{"current":null,"desired":"0644"}}}
{"id":"t::T[a,name=y]","action":"update","reason":"why\n::error::reason","changes":{"size":{"current":1,"desired":2}},"reload_for":["t::T[a,name=\n::error::other]"]}
{"id":"t::T[a,name=z]","action":"update","failed":true,"reason":"broken\n::error::failed","changes":{}}
{"id":"t::T[a,name=same]","action":"none","changes":{}}
{"summary":{"create":2,"update":1,"failed":1,"none":1}}
`)
	var b strings.Builder
	if err := r.Text(&b, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"+ create t::T[a,name=x", "(the same on 2 agents: a, b)\n+   mode: \"0644\"",
		"! update t::T[a,name=y]\n# why\n# ::error::reason\n-   size: 1\n+   size: 2\n# reloads, since t::T",
		"2 to create, 1 to update, 1 would fail", "t::T[a,name=z]: would fail"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("expected %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "name=same") {
		t.Errorf("what stays is shown in\n%s", &b)
	}
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "::") {
			t.Errorf("%q begins a line of\n%s", line, &b)
		}
	}
}
