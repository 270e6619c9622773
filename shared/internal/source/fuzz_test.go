package source

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Every fuzz target checks the same: reading never panics; the places of problems are in the file;
// an accepted document is exported again, as JSON, as JSON lines and as YAML, and gives the same
// resources each time.

func FuzzYAML(f *testing.F) {
	seeds(f, documentProblems(), resourceProblems(), valueProblems(), yamlProblems())
	for _, text := range goodYAML() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { holds(t, "a.yaml", text) })
}

func FuzzJSON(f *testing.F) {
	seeds(f, jsonProblems())
	f.Add([]byte(`{"resources":[{}`))
	f.Add([]byte(`{"resources":[{},`))
	for _, text := range goodJSON() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { holds(t, "a.json", text) })
}

func FuzzJSONLines(f *testing.F) {
	seeds(f, linesProblems(), jsonProblems())
	f.Add([]byte(strings.Join(goodJSON(), "\n")))
	f.Fuzz(func(t *testing.T, text []byte) { holds(t, "-", text) })
}

// goodYAML are documents with everything that is accepted.
func goodYAML() []string {
	return []string{
		`southbound: 1
defaults: {agent: "a,b]", set: s, send_event: true}
agents:
  "a,b]": {transport: ssh, host: {parameter: h}, port: 22, lanes: 3, key: {secret: "env:K"}}
  c:
    transport: local
resources:
  - &r
    type: std::Null
    attributes: &n
      name: "x=1\\, ü🙂"
      a: [1, -0.5, 1e3, 0x1f, 0o17, 99999999999999999999, ~, true, "0644", no, 2024-01-01, {b: {c: []}}]
      b: |+
        - not an item
          text

    requires:
      - net::Port[c,host=h,port=80]
  - {type: net::Port, agent: c, set: t, attributes: {port: 80, host: h, open: false}, purged: true, purge_on_delete: true}
  - type: fs::File
    attributes: {path: /x, content: {file: f}, mode: {secret: "file:/k", version: 3}, size: {fact: s, of: "std::Null[c,name=y]"}}
    report_only: true
    receive_events: false
---
# nothing
---
southbound: 1
resources: [{type: std::Null, agent: c, managed: false}, {type: std::Null, agent: c, attributes: {name: 'y', a: {value: {file: f}}, b: {file: f, x: 1}}}]
`,
		strings.ReplaceAll(head+"  - {type: std::Null, attributes: {name: &x x, a: *x}}\n- {}\n",
			"- {}\n", "agents: {a: {lanes: 2}}\n"),
		"\ufeff%YAML 1.2\n---\n" + strings.ReplaceAll(head+
			"  - type: std::Null\n    attributes:\n      name: >-\n        a\n        b\n", "\n",
			"\r\n"),
	}
}

// goodJSON are documents with everything that is accepted, a line each.
func goodJSON() []string {
	return []string{
		`{"southbound": 1, "defaults": {"agent": "a,b]", "set": "s"}, "agents": {"a,b]": {"transport": "ssh", "host": {"parameter": "h"}, "lanes": 3}}, ` +
			`"resources": [{"type": "std::Null", "attributes": {"name": "x=1\\, \u00fc\ud83d\ude42", "a": [1, -0.5, 1E3, 99999999999999999999, null, true, {"b": {"c": []}}], "b": "a\n\u0001\u007f\u2028"}, ` +
			`"requires": ["net::Port[c,host=h,port=80]"]}, {"type": "fs::File", "attributes": {"path": "/x", "content": {"file": "f"}, "mode": {"secret": "env:K", "version": "7"}}, "report_only": true}]}`,
		`{"southbound": 1, "resources": [{"type": "net::Port", "agent": "c", "attributes": {"port": 80, "host": "h"}, "purged": true, "managed": true}, {"type": "std::Null", "agent": "c", "managed": false}]}`,
	}
}

// seeds adds the texts of tables that are not long; more are in testdata.
func seeds(f *testing.F, tables ...[]badCase) {
	f.Helper()
	for _, table := range tables {
		for _, c := range table {
			// which takes long, and so do its descendants
			if len(c.text) < 2000 && c.name != "alias bomb" {
				f.Add([]byte(c.text))
			}
		}
	}
}

// longestText is the longest text that is tried: a long one finds nothing that a short one does
// not.
const longestText = 20_000

func holds(t *testing.T, name string, text []byte) {
	t.Helper()
	if len(text) > longestText {
		return
	}
	dir := t.TempDir()
	for file, content := range map[string]string{"f": "some bytes", "index.html": "<p>"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	opts := Options{Path: "-", Types: testTypes(t)}
	if name != "-" {
		opts.Path = filepath.Join(dir, name)
		if err := os.WriteFile(opts.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if name == "a.yaml" {
		countsEnough(t, text)
	}
	opts.Stdin = bytes.NewReader(text)
	m, in, err := Load(context.Background(), opts)
	whole := outcomeOf(t, m, in, err)
	for _, p := range whole.Problems {
		checkProblem(t, opts.Path, text, p)
	}
	if whole.Problems == nil && whole.Fault == "" {
		for _, as := range []string{"b.json", "b.yaml", "-"} {
			checkAgain(t, dir, as, m)
		}
	}
}

// outcome is a model, or the problems of its documents.
type outcome struct {
	Problems diag.Problems
	Fault    string
}

func outcomeOf(tb testing.TB, m *model.Model, in Inputs, err error) outcome {
	tb.Helper()
	if err == nil {
		return outcome{}
	}
	if m != nil || len(in.Documents) > 0 {
		tb.Errorf("an error came with a model: %v", err)
	}
	problems, ok := err.(diag.Problems) // Load returns it as it is
	if !ok {
		return outcome{Fault: err.Error()}
	}
	return outcome{Problems: problems}
}

// checkProblem wants a problem to be one of the file, at a place in it, with something to do.
func checkProblem(t *testing.T, file string, text []byte, p diag.Problem) {
	t.Helper()
	if p.File != file || p.Message == "" || p.Hint == "" || !utf8.ValidString(p.Message) ||
		strings.ContainsAny(p.Message, "\x00\n\r") {
		t.Errorf("problem %+v", p)
	}
	if len(p.Message) > 2000 {
		t.Errorf("a message of %d bytes", len(p.Message))
	}
	if p.Line == 0 && p.Column == 0 {
		return // about the whole file
	}
	if bytes.ContainsAny(text, "\r\u0085\u2028\u2029") {
		return // they are line breaks in YAML and none in JSON
	}
	lines := bytes.Split(bytes.TrimPrefix(text, byteOrderMark), []byte("\n"))
	if p.Line < 1 || p.Line > len(lines) {
		t.Errorf("%v is beyond %d lines", p, len(lines))
	} else if n := len([]rune(string(lines[p.Line-1]))); p.Column < 1 || p.Column > n+1 {
		t.Errorf("%v is beyond %d columns", p, n)
	}
}

// checkAgain exports a model again and wants the same resources and agents.
func checkAgain(t *testing.T, dir, as string, m *model.Model) {
	t.Helper()
	text := export(t, dir, m)
	if as == "-" && len(m.Files) > 0 {
		return // standard input is read where the test runs, and the files are not there
	}
	opts := Options{Path: "-", Stdin: bytes.NewReader(text), Types: testTypes(t)}
	if as != "-" {
		opts.Path = filepath.Join(dir, as)
		if err := os.WriteFile(opts.Path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again, _, err := Load(context.Background(), opts)
	if err != nil {
		t.Fatalf("%s: %v\n%s", as, err, text)
	}
	cleared := func(rs []resource.Resource) []resource.Resource {
		out := make([]resource.Resource, len(rs)) // nil and empty are the same here
		copy(out, rs)
		for i := range out {
			if len(out[i].Requires) == 0 {
				out[i].Requires = nil
			}
		}
		return out
	}
	if diff := cmp.Diff(cleared(m.Resources), cleared(again.Resources), same); diff != "" {
		t.Fatalf("%s: other resources (-first +again):\n%s\n%s", as, diff, text)
	}
	if diff := cmp.Diff(m.Agents, again.Agents, same); diff != "" {
		t.Fatalf("%s: other agents (-first +again):\n%s\n%s", as, diff, text)
	}
}

var fileForm = regexp.MustCompile(`\{"file":"([0-9a-f]{64})","size":\d+\}`)

// export writes a model as a document. Files are looked for by their bytes.
func export(t *testing.T, dir string, m *model.Model) []byte {
	t.Helper()
	type resourceText struct {
		Type          string                     `json:"type"`
		Agent         string                     `json:"agent"`
		Set           string                     `json:"set,omitempty"`
		Attributes    map[string]json.RawMessage `json:"attributes"`
		Requires      []resource.ID              `json:"requires,omitempty"`
		Purged        bool                       `json:"purged"`
		PurgeOnDelete bool                       `json:"purge_on_delete"`
		ReportOnly    bool                       `json:"report_only"`
		SendEvent     bool                       `json:"send_event"`
		ReceiveEvents bool                       `json:"receive_events"`
	}
	doc := struct {
		Southbound int                                   `json:"southbound"`
		Agents     map[string]map[string]json.RawMessage `json:"agents"`
		Resources  []resourceText                        `json:"resources"`
	}{1, map[string]map[string]json.RawMessage{}, []resourceText{}}
	for _, r := range m.Resources {
		doc.Resources = append(doc.Resources,
			resourceText{r.Type, r.Agent, r.Set, members(t, r.Attributes), r.Requires, r.Purged,
				r.PurgeOnDelete, r.ReportOnly, r.SendEvent, r.ReceiveEvents})
	}
	for _, a := range m.Agents {
		o := members(t, a.Options)
		o["transport"], _ = json.Marshal(a.Transport)
		o["lanes"] = fmt.Appendf(nil, "%d", a.Lanes)
		doc.Agents[a.Name] = o
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		t.Fatal(err)
	}
	return fileForm.ReplaceAllFunc(out.Bytes(), func(form []byte) []byte {
		hash := string(fileForm.FindSubmatch(form)[1])
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if content, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil &&
				sumOf(content) == hash {
				return fmt.Appendf(nil, `{"file":%q}`, e.Name())
			}
		}
		return form
	})
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func members(t *testing.T, values map[string]any) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	for k, v := range values {
		text, err := resource.CanonicalValue(v)
		if err != nil {
			t.Fatalf("%s: %v", k, err)
		}
		out[k] = text
	}
	return out
}
