package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"southbound/handlers"
	"southbound/shared/cli"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/local"
)

// stored is what an export leaves in a data directory, apart from times, and from what counts how
// often it was planned.
type stored struct {
	Out      string
	Code     int
	Version  state.Version
	Graph    string
	Settings state.Settings
	Known    bool // the fingerprint
	Rows     []state.Row
}

// exportTo exports a directory, and returns what was stored.
func exportTo(t *testing.T, data, path string, args ...string) stored {
	t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"export", "--data", data, path}, args...)
	s := stored{Code: cli.Main(handlers.All(), args, strings.NewReader(""), &out, &errs)}
	s.Out = out.String() + errs.String()
	home, err := local.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = home.Close() }()
	env, err := home.Env(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	s.Graph, s.Settings, s.Known = env.Graph, env.Settings, env.Fingerprint != ""
	versions, err := home.Versions(t.Context(), "default", env.Last)
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) > 0 {
		s.Version = versions[0]
		s.Version.At = env.Wave.At
	}
	if s.Rows, err = home.ScanRows(t.Context(), "default", "", 1000); err != nil {
		t.Fatal(err)
	}
	for i := range s.Rows {
		s.Rows[i].Generation, s.Rows[i].Rev = min(s.Rows[i].Ticket(), 1), 0
		s.Rows[i].Observed = 0
	}
	return s
}

// scene is a directory of documents that edits change.
type scene struct {
	*rand.Rand
	dir     string
	json    bool // the documents that are edited
	items   []sceneItem
	agent   string
	lanes   int
	set     int
	timer   int
	content int
	keys    int
}

type sceneItem struct{ name, form, value, more int }

// sceneForms write items; of some, attributes mean something to other resources.
var sceneForms = []string{
	"  - type: std::Null\n    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: std::Null\n    agents: [a, b]\n    requires: [\"std::Null[k,name=key]\"]\n" +
		"    attributes: {name: n%[1]d, value: v%[2]d}\n",
	"  - type: fs::File\n    send_event: %[4]t\n" +
		"    attributes: {path: /nowhere/d%[3]d/f%[1]d, mode: \"064%[5]d\", content: {file: " +
		"text}}\n",
	"  - type: fs::Directory\n    purge_on_delete: %[4]t\n" +
		"    attributes: {path: /nowhere/d%[1]d, recurse_purge: %[4]t, mode: \"075%[5]d\"}\n",
	"  - type: fs::Symlink\n    attributes: {path: /nowhere/d%[3]d/l%[1]d, target: /t%[2]d}\n",
	"  - type: acct::User\n    report_only: %[4]t\n    attributes: {name: n%[1]d, group: g%[5]d}\n",
	"  - type: acct::Group\n    attributes: {name: g%[1]d, gid: %[2]d}\n",
	"  - type: std::Null\n    prevent_destroy: true\n" +
		"    attributes: {name: n%[1]d, value: {parameter: p%[3]d}}\n",
	"  - type: std::Null\n    purged: %[4]t\n    set: s%[3]d\n" +
		"    attributes: {name: n%[1]d, value: v%[2]d}\n",
}

// inJSON returns a text in YAML as JSON, on one line.
func inJSON(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func newScene(t *testing.T, seed uint64) *scene {
	t.Helper()
	s := &scene{
		Rand:  rand.New(rand.NewPCG(seed, 7)),
		dir:   t.TempDir(),
		json:  seed%2 == 1,
		agent: "a",
		lanes: 1,
	}
	fallback := len(sceneForms) - 2*min(s.IntN(4), 1)
	for i := range 5 + s.IntN(6) {
		s.items = append(s.items, sceneItem{name: i, form: s.IntN(fallback)})
	}
	return s
}

func (s *scene) write(t *testing.T) {
	t.Helper()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	half := len(s.items) / 2
	for i, items := range [][]sceneItem{s.items[:half], s.items[half:]} {
		text := fmt.Sprintf("southbound: 1\ndefaults: {agent: %s}\n"+
			"agents:\n  a: {transport: local, lanes: %d}\nresources:\n", s.agent, s.lanes)
		for _, it := range items {
			text += fmt.Sprintf(sceneForms[it.form], it.name, it.value, it.more%2, it.more%3 == 2,
				it.value%5)
		}
		if s.json {
			write(fmt.Sprintf("d%d.json", i), inJSON(t, text))
		} else {
			write(fmt.Sprintf("d%d.yaml", i), text)
		}
	}
	write("key.yaml", fmt.Sprintf("southbound: 1\nresources:\n  - type: std::Null\n    agent: k\n"+
		"    attributes: {name: key, value: %q}\n", fmt.Sprint(s.keys)))
	write("text", strings.Repeat("x", s.content))
	project := fmt.Sprintf("settings: {deploy_timer: %q}\n", fmt.Sprint(s.timer))
	if s.set > 1 {
		project += fmt.Sprintf("defaults: {set: p%d}\n", s.set/2)
	}
	write("southbound.yaml", project)
}

func (s *scene) edit() {
	it := &s.items[s.IntN(len(s.items))]
	switch s.IntN(40) {
	case 0:
		s.agent = []string{"a", "b"}[s.IntN(2)]
	case 1:
		s.lanes++
	case 2:
		s.set++
	case 3:
		s.timer++
	case 4, 5:
		s.content++
	case 6:
		s.keys++
	case 7:
		it.form = s.IntN(len(sceneForms) - 2)
	case 8, 9:
		it.more++
	case 10:
		s.items = append(s.items, sceneItem{name: 100 + s.IntN(100)})
	case 11:
		if len(s.items) > 4 {
			s.items = s.items[1:]
		}
	default:
		it.value++
	}
}

// TestChangesAsWhole exports random edits, with what earlier exports have noted and without, and
// wants both to store and to plan the same.
func TestChangesAsWhole(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		s := newScene(t, seed)
		with, without := filepath.Join(t.TempDir(), "with"), filepath.Join(t.TempDir(), "without")
		for step := range 12 {
			s.write(t)
			var args []string
			if s.IntN(8) == 0 {
				args = []string{"--retry-failed"}
			}
			got := exportTo(t, with, s.dir, args...)
			if err := os.RemoveAll(filepath.Join(without, "inputs")); err != nil {
				t.Fatal(err)
			}
			want := exportTo(t, without, s.dir, args...)
			if diff := deploytest.Diff(want, got); diff != "" {
				t.Fatalf(
					"seed %d, step %d: with what was noted (+) it is not as without (-):\n%s",
					seed,
					step,
					diff,
				)
			}
			for range 1 + s.IntN(2) {
				s.edit()
			}
		}
	}
}

// TestChangeOfOthers changes one resource in a way that means something to others, or to the
// version as a whole, and wants what an export of everything gives.
func TestChangeOfOthers(t *testing.T) {
	t.Parallel()
	const more = "  - {type: fs::Directory, attributes: {path: /nowhere/a}}\n" +
		"  - {type: fs::Directory, attributes: {path: /nowhere/b, recurse_purge: %s}}\n" +
		"  - {type: fs::File, attributes: {path: /nowhere/b/f, content: {file: text}, mode: " +
		"\"%s\"}}\n" +
		"  - {type: acct::Group, attributes: {name: a}}\n" +
		"  - {type: acct::Group, attributes: {name: b}}\n" +
		"  - {type: acct::User, attributes: {name: x, group: %s}}\n" +
		"  - {type: std::Null, attributes: {name: n, value: %s}}\n"
	was := []any{"false", "0644", "a", "v"}
	for _, c := range []struct {
		why     string
		at      int
		now     any
		content string
	}{
		{"nothing else is concerned", 3, "w", "one"},
		{"a group that a user requires by its type", 2, "b", "one"},
		{"a directory that keeps what is managed in it", 0, "true", "one"},
		{"what is in a directory", 1, "0600", "one"},
		{"the content of a file", 3, "v", "two"},
		{"both", 1, "0600", "two"},
		{"a value that is not known", 3, "{parameter: p}", "one"},
		{"something wrong", 1, "rwx", "one"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			with, without := filepath.Join(
				t.TempDir(),
				"with",
			), filepath.Join(t.TempDir(), "without")
			now := slices.Clone(was)
			now[c.at] = c.now
			for _, step := range []struct {
				values  []any
				content string
			}{{was, "one"}, {now, c.content}, {was, "one"}} {
				text := "southbound: 1\ndefaults: {agent: a}\nresources:\n" + fmt.Sprintf(
					more,
					step.values...)
				for name, text := range map[string]string{"d.yaml": text, "text": step.content} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text),
						0o600); err != nil {
						t.Fatal(err)
					}
				}
				got := exportTo(t, with, dir)
				if err := os.RemoveAll(filepath.Join(without, "inputs")); err != nil {
					t.Fatal(err)
				}
				if diff := deploytest.Diff(exportTo(t, without, dir), got); diff != "" {
					t.Fatalf("with what was noted (+) it is not as without (-):\n%s", diff)
				}
			}
		})
	}
}
