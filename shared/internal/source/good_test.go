package source

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// read loads a text that must be right as a file of a name, or as standard input when the name is
// "-".
func read(t *testing.T, name, text string) *model.Model {
	t.Helper()
	opts := Options{Path: "-", Stdin: strings.NewReader(text), Types: testTypes(t)}
	if name != "-" {
		opts.Path = filepath.Join(t.TempDir(), name)
		write(t, opts.Path, text)
	}
	m, _, err := Load(context.Background(), opts)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// same compares with numbers by value and type.
var same = cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })

// TestScalars pins what a scalar without quotes is: the core schema of YAML 1.2.
func TestScalars(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("9223372036854775808", 10)
	for _, c := range []struct {
		why   string
		text  string
		value any
	}{
		{"null has four spellings and nothing", "", nil}, {"", "~", nil}, {"", "null", nil},
		{"", "Null", nil}, {"", "NULL", nil},
		{"and no others", "nULL", "nULL"}, {"", "None", "None"}, {"", "nil", "nil"},
		{"true and false have three spellings each", "true", true}, {"", "True", true},
		{"", "TRUE", true}, {"", "false", false}, {"", "False", false}, {"", "FALSE", false},
		{"YAML 1.1 had more", "yes", "yes"}, {"", "no", "no"}, {"", "on", "on"}, {"", "off", "off"},
		{"", "y", "y"}, {"", "NO", "NO"}, {"", "tRUE", "tRUE"},
		{"integers", "0", int64(0)}, {"", "-7", int64(-7)}, {"", "+7", int64(7)},
		{"", "9223372036854775807", int64(9223372036854775807)},
		{"integers have no end", "9223372036854775808", huge},
		{"octal and hexadecimal", "0o644", int64(420)}, {"", "0xfF", int64(255)},
		{"without signs", "-0o7", "-0o7"}, {"", "+0x1", "+0x1"},
		{"and with their digits", "0o8", "0o8"}, {"", "0xg", "0xg"}, {"", "0o", "0o"},
		{"", "0x", "0x"},
		{"YAML 1.1 had binary, underscores and base 60", "0b1", "0b1"}, {"", "1_000", "1_000"},
		{"", "12:30", "12:30"}, {"", "12:30:45", "12:30:45"},
		{"floats", "1.5", 1.5}, {"", "1e3", 1000.0}, {"", "1E-2", 0.01}, {"", ".5", 0.5},
		{"", "5.", 5.0}, {"", "+1.0", 1.0},
		{"zero keeps its sign", "-0.0", math.Copysign(0, -1)}, {"", "-0", int64(0)},
		{"what rounds to zero is zero", "1e-999", 0.0},
		{"not quite floats", "1e", "1e"}, {"", ".", "."}, {"", "1.2.3", "1.2.3"}, {"", "e3", "e3"},
		{"", "--1", "--1"}, {"", "+-1", "+-1"}, {"", "1e3x", "1e3x"},
		{"not quite infinity", "inf", "inf"}, {"", "Infinity", "Infinity"}, {"", ".iNF", ".iNF"},
		{"", "nan", "nan"}, {"", "-.nan", "-.nan"},
		{"dates and times are text", "2024-01-01", "2024-01-01"},
		{"", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"},
		{"a version is text with two dots only", "1.10.0", "1.10.0"},
		{"quotes make text", `"0644"`, "0644"}, {"", `'no'`, "no"}, {"", `"null"`, "null"},
		{"", `""`, ""}, {"", `'it''s'`, "it's"},
		{"escapes in double quotes", `"\t\x41\u00e4\U0001f642\0"`, "\tAä🙂\x00"},
		{"tags that say what is clear", "!!str 0644", "0644"}, {"", "!!int 7", int64(7)},
		{"", "!!bool true", true}, {"", "!!null ~", nil}, {"", "!!float 1.5", 1.5},
		{"a bare tag makes text", "! 7", "7"},
		{"block text", "|\n        one\n          two\n", "one\n  two\n"},
		{"", "|-\n        one\n", "one"}, {"", ">\n        one\n        two\n", "one two\n"},
		{"text over lines", "one\n        two", "one two"},
		{"wide characters", "äöü 🙂", "äöü 🙂"},
		{"a comment needs a blank before it", "a#b # c", "a#b"},
		{"a colon needs a blank behind it", "http://x:80/y", "http://x:80/y"},
		{"lists and maps", "[1, {a: [b]}, []]",
			[]any{int64(1), map[string]any{"a": []any{"b"}}, []any{}}},
	} {
		m := read(t, "a.yaml",
			head+"  - type: std::Null\n    attributes:\n      name: x\n      a: "+c.text+"\n")
		if diff := cmp.Diff(c.value, m.Resources[0].Attributes["a"], same); diff != "" {
			t.Errorf("%s: %q (-want +got):\n%s", c.why, c.text, diff)
		}
	}
}

// TestMinusZero pins that -0.0 stays what it is, from a document to what is stored and back, and is
// the same intent as 0.0, which equals it.
func TestMinusZero(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"a.yaml": head +
		"  - {type: std::Null, attributes: {name: x, a: [-0.0, 0.0]}}\n",
		"a.json": `{"southbound": 1, "defaults": {"agent": "a"}, "resources": [
			{"type": "std::Null", "attributes": {"name": "x", "a": [-0.0, 0.0]}}]}`} {
		r := read(t, name, text).Resources[0]
		body, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := resource.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []map[string]any{r.Attributes, again.Attributes} {
			if got := fmt.Sprint(of["a"]); got != "[-0 0]" {
				t.Errorf("%s: %s", name, got)
			}
		}
		hash, err := r.Hash(resource.Agent{Name: "a"})
		if err != nil {
			t.Fatal(err)
		}
		r.Attributes["a"] = []any{0.0, 0.0}
		plain, err := r.Hash(resource.Agent{Name: "a"})
		if err != nil || hash != plain {
			t.Errorf("%s and %s, %v", hash, plain, err)
		}
	}
}

// TestMemberNames pins which names of members are text.
func TestMemberNames(t *testing.T) {
	t.Parallel()
	m := read(t, "a.yaml",
		head+"  - type: std::Null\n    attributes: {name: &n x, a: {yes: 1, no: 2, \"1\": 3, "+
			"'true': 4, 2024-01-01: 5, !!str 7: 6, *n : 8, \"<<\": 9}}\n")
	want := map[string]any{"yes": int64(1), "no": int64(2), "1": int64(3), "true": int64(4),
		"2024-01-01": int64(5), "7": int64(6), "x": int64(8), "<<": int64(9)}
	if diff := cmp.Diff(want, m.Resources[0].Attributes["a"]); diff != "" {
		t.Error(diff)
	}
}

// TestReadsAs holds inputs that read the same, however they are written, against JSON.
func TestReadsAs(t *testing.T) {
	t.Parallel()
	const one = `{"southbound": 1, "defaults": {"agent": "a"}, "resources": [{"type": "std::Null", "attributes": {"name": "x", "a": "é", "b": [1, "t"]}},
		{"type": "std::Null", "attributes": {"name": "y"}, "requires": ["std::Null[a,name=x]"]}]}`
	const yaml = head +
		"  - type: std::Null\n    attributes:\n      name: x\n      a: é\n      b:\n        - " +
		"1\n        - |-\n          t\n  - {type: std::Null, attributes: {name: \"y\"}, " +
		"requires: [\"std::Null[a,name=x]\"]}\n"
	for _, c := range []struct{ name, why, file, text string }{
		{"yaml", "the usual form", "a.yaml", yaml},
		{"yml", "the other extension", "a.yml", yaml},
		{"no extension", "what is named is read, as YAML", "site", yaml},
		{"JSON in a YAML file", "JSON is YAML", "a.yaml", one},
		{"byte order mark", "editors write it", "a.yaml", "\ufeff" + yaml},
		{"byte order mark in JSON", "editors write it", "a.json", "\ufeff" + one},
		{"CRLF", "from Windows", "a.yaml", strings.ReplaceAll(yaml, "\n", "\r\n")},
		{"CR", "YAML breaks lines there", "a.yaml", strings.ReplaceAll(yaml, "\n", "\r")},
		{"no line end", "editors leave it out", "a.yaml", strings.TrimSuffix(yaml, "\n")},
		{"directive", "it says what is true", "a.yaml",
			"# hi\n%YAML 1.2 # that is\n---\n" + yaml + "...\n"},
		{"tabs", "between tokens they are blanks", "a.yaml",
			strings.ReplaceAll(yaml, "{name: \"y\"}", "{name:\t\"y\"\t}\t")},
		{"aliases", "they stand for what they name", "a.yaml",
			"southbound: 1\ndefaults: {agent: &a a}\nresources:\n  - {type: &t std::Null, agent: " +
				"*a, attributes: {name: &x x, a: é, b: [1, t]}}\n  - {type: *t, attributes: " +
				"{name: y}, requires: &r [\"std::Null[a,name=x]\"]}\n"},
		{"several documents", "all are read, and empty ones passed over", "a.yaml",
			"---\n---\n" + head +
				"  - {type: std::Null, attributes: {name: x, a: é, b: [1, t]}}\n---\n# " +
				"nothing\n---\nsouthbound: 1\nresources: [{type: std::Null, agent: a, " +
				"attributes: {name: \"y\"}, requires: [\"std::Null[a,name=x]\"]}]\n"},
		{"JSON lines", "a document a line", "-",
			`{"southbound": 1, "defaults": {"agent": "a"}, "resources": [{"type": "std::Null", "attributes": {"name": "x", "a": "\u00e9", "b": [1, "t"]}}]}` +
				"\n\r\n" +
				`{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "attributes": {"name": "y"}, "requires": ["std::Null[a,name=x]"]}]}`},
		{"nothing stands for nothing", "empty members are those that are left out", "a.yaml",
			yaml + "agents:\n---\nsouthbound: 1\ndefaults:\nresources: []\n"},
		{"requires twice", "once is enough", "a.yaml",
			strings.ReplaceAll(yaml, "requires: [", "requires: [\"std::Null[a,name=x]\", ")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			want, got := read(t, "a.json", one), read(t, c.file, c.text)
			if diff := cmp.Diff(want.Resources, got.Resources); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		})
	}
}

// TestForms pins what values that are not literal become.
func TestForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "a.yaml"), `southbound: 1
defaults: {agent: a}
agents:
  a: {transport: ssh, host: {parameter: host}, key: {secret: "file:/k"}, lanes: 3}
resources:
  - type: std::Null
    attributes:
      name: x
      a:
        - {file: f}
        - {file: ../g}
        - {secret: "env:A"}
        - {secret: "ssm:/a:b", version: 7}
        - {version: v1, secret: "secretsmanager:x"}
        - {parameter: p}
        - {of: "fs::File[a,path=/x]", fact: f}
        - {value: {file: f, value: {secret: x}}}
        - {value: 7}
      b:
        {file: f, mode: x, of: y}
  - type: std::Null
    attributes: {name: y, a: {file: f, x: 1}, b: {fact: f}}
`)
	write(t, filepath.Join(dir, "sub", "f"), "abc")
	write(t, filepath.Join(dir, "g"), "")
	m, in, err := Load(context.Background(), Options{Path: dir, Types: testTypes(t)})
	if err != nil {
		t.Fatal(err)
	}
	abc := resource.File{Hash: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		Size: 3}
	empty := resource.File{Hash: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
	want := map[string]any{"name": "x", "a": []any{
		abc, empty, resource.Secret{Source: "env:A"},
		resource.Secret{Source: "ssm:/a:b", Version: "7"},
		resource.Secret{Source: "secretsmanager:x", Version: "v1"},
		resource.Parameter{Name: "p"}, resource.Fact{Name: "f", Of: "fs::File[a,path=/x]"},
		map[string]any{"file": "f", "value": map[string]any{"secret": "x"}}, int64(7),
	}, "b": map[string]any{"file": "f", "mode": "x", "of": "y"}}
	if diff := cmp.Diff(want, m.Resources[0].Attributes); diff != "" {
		t.Error(diff)
	}
	// A map with other members than those of a form is data.
	want = map[string]any{"name": "y", "a": map[string]any{"file": "f", "x": int64(1)},
		"b": map[string]any{"fact": "f"}}
	if diff := cmp.Diff(want, m.Resources[1].Attributes); diff != "" {
		t.Error(diff)
	}
	agents := []resource.Agent{{Name: "a", Transport: "ssh", Lanes: 3,
		Options: map[string]any{"host": resource.Parameter{Name: "host"},
			"key": resource.Secret{Source: "file:/k"}}}}
	if diff := cmp.Diff(agents, m.Agents); diff != "" {
		t.Error(diff)
	}
	if len(m.Files) != 2 || m.Files[abc.Hash].Size != 3 || string(m.Files[abc.Hash].Data) != "abc" {
		t.Errorf("files: %v", m.Files)
	}
	if diff := cmp.Diff([]Input{{Path: "g", Size: 0}, {Path: "sub/f", Size: 3}}, in.Files,
		cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".hash" },
			cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
}

// TestMembers pins what resources take from their document and what they say themselves.
func TestMembers(t *testing.T) {
	t.Parallel()
	m := read(t, "a.yaml", `southbound: 1
defaults: {agent: a, set: s, purged: true, purge_on_delete: true, report_only: true, send_event: true, receive_events: false, managed: false}
resources:
  - {type: std::Null, attributes: {name: left out}}
  - {type: std::Null, attributes: {name: from defaults}, managed: true}
  - {type: std::Null, attributes: {name: own}, managed: true, agent: b, set: t, purged: false, purge_on_delete: false, report_only: false, send_event: false, receive_events: true}
---
southbound: 1
resources:
  - {type: std::Null, agent: "a,b]", attributes: {name: "x=1\\"}}
  - {type: net::Port, agent: c, attributes: {port: 80, host: h}}
  - {type: test::Zone, agent: c, attributes: {name: z, must: x}, requires: ["std::Null[a,name=c]", "std::Null[a,name=b]", "std::Null[a,name=c]"]}
`)
	want := []resource.Resource{
		{ID: "std::Null[a,name=from defaults]", Agent: "a", Set: "s",
			Flags: resource.Flags{Purged: true, PurgeOnDelete: true, ReportOnly: true,
				SendEvent: true}},
		{ID: "std::Null[b,name=own]", Agent: "b", Set: "t",
			Flags: resource.Flags{ReceiveEvents: true}},
		{ID: `std::Null[a\,b\],name=x\=1\\]`, Agent: "a,b]",
			Flags: resource.Flags{ReceiveEvents: true}},
		{ID: "net::Port[c,host=h,port=80]", Agent: "c", Flags: resource.Flags{ReceiveEvents: true}},
		{ID: "test::Zone[c,name=z,region=eu]", Agent: "c",
			Flags:    resource.Flags{ReceiveEvents: true},
			Requires: []resource.ID{"std::Null[a,name=b]", "std::Null[a,name=c]"}},
	}
	for i := range m.Resources {
		m.Resources[i].Type, m.Resources[i].Attributes = "", nil
	}
	if diff := cmp.Diff(want, m.Resources); diff != "" {
		t.Error(diff)
	}
}
