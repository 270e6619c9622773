// Package ci tests the recipes for pipelines: their steps are run as the shells of runners run
// them.
package ci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/shared/buildtest"
)

// program is southbound, built for these tests.
var program string

func TestMain(m *testing.M) {
	code := 1
	defer func() { os.Exit(code) }()
	dir, err := os.MkdirTemp("", "southbound-ci-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "southbound")
	if err := buildtest.Into(context.Background(), dir, nil, buildtest.Southbound); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	code = m.Run()
}

// shells are those of runners, as far as this machine has them.
func shells() []string {
	out := []string{"sh"}
	for _, s := range []string{"bash", "dash", "busybox"} {
		if _, err := exec.LookPath(s); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// job is a workspace in which the script runs.
type job struct {
	t      *testing.T
	shell  string
	dir    string
	env    []string
	stdout bytes.Buffer
	stderr bytes.Buffer
}

func newJob(t *testing.T, files map[string]string, env ...string) *job {
	t.Helper()
	j := &job{t: t, shell: "sh", dir: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(j.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range os.Environ() {
		// where these tests run in a pipeline themselves, nothing of it is meant for the script
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GITHUB_") &&
			!strings.HasPrefix(name, "CI") && !strings.HasPrefix(name, "GITLAB_") &&
			!strings.HasPrefix(name, "SOUTHBOUND_") {
			j.env = append(j.env, v)
		}
	}
	j.env = append(append(j.env, "SOUTHBOUND_BIN="+program), env...)
	return j
}

func (j *job) command(args ...string) *exec.Cmd {
	j.t.Helper()
	script, err := filepath.Abs("southbound-ci.sh")
	if err != nil {
		j.t.Fatal(err)
	}
	words := append([]string{script}, args...)
	if j.shell == "busybox" {
		words = append([]string{"sh"}, words...)
	}
	cmd := exec.CommandContext(j.t.Context(), j.shell, words...)
	cmd.Dir, cmd.Env = j.dir, j.env
	j.stdout.Reset()
	j.stderr.Reset()
	cmd.Stdout, cmd.Stderr = &j.stdout, &j.stderr
	return cmd
}

// run runs the script and demands an exit code.
func (j *job) run(code int, args ...string) {
	j.t.Helper()
	cmd := j.command(args...)
	_ = cmd.Run() // the code says more
	if got := cmd.ProcessState.ExitCode(); got != code {
		j.t.Errorf("%s: exit code %d, expected %d\n%s\n%s", strings.Join(args, " "), got, code,
			&j.stdout, &j.stderr)
	}
}

// shellRun runs a line of a recipe and demands an exit code.
func (j *job) shellRun(code int, shell, line string) {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), shell, "-e", "-c", line)
	cmd.Dir, cmd.Env = j.dir, j.env
	j.stdout.Reset()
	j.stderr.Reset()
	cmd.Stdout, cmd.Stderr = &j.stdout, &j.stderr
	_ = cmd.Run() // the code says more
	if got := cmd.ProcessState.ExitCode(); got != code {
		j.t.Errorf("%s: exit code %d, expected %d\n%s\n%s", line, got, code, &j.stdout, &j.stderr)
	}
}

func (j *job) file(name string) string {
	j.t.Helper()
	b, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil {
		j.t.Error(err)
	}
	return string(b)
}

// has demands parts of a text.
func (j *job) has(what, text string, parts ...string) {
	j.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			j.t.Errorf("%s has no %q:\n%s\n%s", what, p, text, &j.stderr)
		}
	}
}

const (
	good = "southbound: 1\ndefaults: {agent: here}\nresources:\n" +
		"  - {type: fs::File, attributes: {path: %s/motd, content: hello}}\n" +
		"  - {type: std::Null, attributes: {name: a}}\n"
	bad = "southbound: 1\ndefaults: {agent: here}\nresources:\n" +
		"  - {type: fs::Fil, attributes: {path: /a}}\n" +
		"  - {type: std::Null, attributes: {name: a, nam: b}}\n"
	ill = "southbound: 1\ndefaults: {agent: here}\nresources:\n  - type: std::Null\n" +
		"    attributes: {name: root, fail: \"no luck | 100%\\n::error::not ours\"}\n" +
		"  - type: std::Null\n    attributes: {name: leaf}\n" +
		"    requires: [\"std::Null[here,name=root]\"]\n"
	slow = "southbound: 1\ndefaults: {agent: here}\nresources:\n" +
		"  - {type: std::Null, attributes: {name: first, delay_ms: %d}}\n" +
		"  - {type: std::Null, attributes: {name: second}, requires: " +
		"[\"std::Null[here,name=first]\"]}\n"
)

// TestGood plans, exports, and plans again, in every shell.
func TestGood(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			target := t.TempDir()
			j := newJob(t, map[string]string{"my site/a.yaml": fmt.Sprintf(good, target),
				"my site/southbound.yaml": "environment: prod\n"},
				"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=summary", "GITHUB_OUTPUT=output")
			j.env = append(j.env, "GITHUB_STEP_SUMMARY="+filepath.Join(j.dir, "summary"),
				"GITHUB_OUTPUT="+filepath.Join(j.dir, "output"))
			j.shell = shell
			j.run(0, "plan", "my site")
			j.has("the summary", j.file("summary"), "## Southbound plan my site", "**1** to create",
				"+ create fs::File[here,path=", `+   content: "hello"`)
			j.has("the output", j.file("output"), "exit-code=0\n", "changes=true\n")
			j.run(5, "plan", "my site", "--exit-code")
			j.run(0, "export", "my site")
			if text, err := os.ReadFile(filepath.Join(target, "motd")); string(text) != "hello" {
				t.Errorf("%q, %v", text, err)
			}
			j.has("the summary", j.file("southbound-ci/summary.md"),
				"✅ Version 1 of <code>prod</code>: 2 resources, 2 changed", "**2** deployed")
			j.run(0, "plan", "my site")
			j.has("the summary", j.file("southbound-ci/summary.md"),
				"✅ Nothing would change; 2 resources as described.")
			if out := j.file("output"); !strings.HasSuffix(out, "summary.md\n") ||
				strings.Count(out, "changes=false") != 2 {
				t.Errorf("the output is %s", out)
			}
			if strings.Contains(j.stdout.String(), "::error") {
				t.Errorf("annotations of nothing: %s", &j.stdout)
			}
			j.run(0, "validate", "my site/a.yaml")
			j.run(0, "apply", "my site")
		})
	}
}

// TestSameState wants the script to have the state of the same command, typed where the script is
// run.
func TestSameState(t *testing.T) {
	t.Parallel()
	j := newJob(t, map[string]string{"site/a.yaml": fmt.Sprintf(good, t.TempDir())})
	j.run(0, "export", "site")
	cmd := exec.CommandContext(t.Context(), program, "plan", "site", "--exit-code")
	cmd.Dir, cmd.Env = j.dir, j.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(j.dir, ".southbound")); err != nil {
		t.Error(err)
	}
}

// TestBad reports every problem at its line, and stores nothing.
func TestBad(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"validate", "plan", "export", "apply"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, map[string]string{"site/b,c.yaml": bad}, "GITHUB_ACTIONS=true",
				"SOUTHBOUND_CI_PREFIX=sub")
			j.run(2, command, "site")
			j.has("the annotations", j.stdout.String(),
				`::error file=sub/site/b%2Cc.yaml,line=4,col=12,title=Southbound%3A document::fs::Fil[here,path=/a]: unknown type "fs::Fil"`,
				"line=5,", `nam: std::Null has no attribute "nam"`)
			j.has("the summary", j.file("southbound-ci/summary.md"),
				"**2 problems**; nothing was stored", "b,c.yaml:4:12")
			if _, err := os.Stat(filepath.Join(j.dir, "site", ".southbound")); err == nil &&
				command != "plan" {
				t.Error("a data directory was made")
			}
			j.env = append(j.env, "GITHUB_ACTIONS=", "GITLAB_CI=true")
			j.run(2, command, "site/b,c.yaml")
			var issues []struct {
				Description, Fingerprint, Severity string
				Location                           struct {
					Path  string
					Lines struct{ Begin int }
				}
			}
			if err := json.Unmarshal([]byte(j.file("southbound-ci/gl-code-quality-report.json")),
				&issues); err != nil || len(issues) != 2 {
				t.Fatalf("%v, %v", err, issues)
			}
			if i := issues[0]; i.Location.Path != "sub/site/b,c.yaml" ||
				i.Location.Lines.Begin != 4 || i.Severity != "critical" ||
				i.Fingerprint == issues[1].Fingerprint {
				t.Errorf("%+v", i)
			}
		})
	}
}

// TestIll exports what fails: code 3, the root cause at its line, and what was skipped because of
// it.
func TestIll(t *testing.T) {
	t.Parallel()
	j := newJob(t, map[string]string{"site/a.yaml": ill}, "GITHUB_ACTIONS=true")
	for _, command := range []string{"export", "apply"} {
		j.run(3, command, "site")
		j.has("the annotations", j.stdout.String(),
			"::error file=site/a.yaml,line=4,col=5,title=Southbound%3A "+
				"failed::std::Null[here,name=root]: failed: no luck | 100%25%0A::error::not ours",
			"::warning file=site/a.yaml,line=6,col=5,title=Southbound%3A "+
				"skipped::std::Null[here,name=leaf]: skipped: requires std::Null[here,name=root]")
		if strings.Contains(j.stdout.String(), "\n::error::not ours") {
			t.Error("the text of a resource is a command of the runner")
		}
		j.has("the summary", j.file("southbound-ci/summary.md"),
			"❌ Version 1 of <code>default</code>",
			"| <code>std::Null&#91;here,name=root&#93;</code> | failed | no luck &#124; 100%<br>")
	}
}

// TestTimeout ends with 4 when the time ran out.
func TestTimeout(t *testing.T) {
	t.Parallel()
	j := newJob(t, map[string]string{"a.yaml": fmt.Sprintf(slow, 2000)},
		"SOUTHBOUND_CI_TIMEOUT=200ms")
	j.run(4, "export", "a.yaml")
	j.has("the summary", j.file("southbound-ci/summary.md"), "It could not be done", "ran out")
}

// TestCancelled stops a job as a runner does, by each signal: it ends with 130, keeps the state,
// and can be gone on with.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, shell := range shells() {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(shell+"/"+signal.String(), func(t *testing.T) {
				t.Parallel()
				j := newJob(t, map[string]string{"a.yaml": fmt.Sprintf(slow, 1500)})
				j.shell = shell
				cmd := j.command("export", "a.yaml")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				j.awaitRunning()
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // the code says more
				if code := cmd.ProcessState.ExitCode(); code != 130 {
					t.Errorf("exit code %d\n%s", code, &j.stderr)
				}
				j.has("the summary", j.file("southbound-ci/summary.md"), "🛑 **Cancelled.**",
					"southbound deploy")
				j.run(0, "export", "a.yaml")
				j.has("the summary", j.file("southbound-ci/summary.md"), "✅ Version 1 of",
					"**2** deployed")
			})
		}
	}
}

// awaitRunning waits until a resource is being deployed.
func (j *job) awaitRunning() {
	j.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		cmd := exec.CommandContext(j.t.Context(), program, "status", "--json")
		cmd.Dir, cmd.Env = j.dir, j.env
		out, err := cmd.Output()
		var status struct {
			Running int `json:"running"`
		}
		if err == nil && json.Unmarshal(out, &status) == nil && status.Running > 0 {
			return
		}
	}
	j.t.Fatal("nothing runs")
}

// forge is the part of GitHub's API that comments need.
type forge struct {
	mu       sync.Mutex
	comments []map[string]any
	calls    []string
	deny     bool
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body) // a GET has none
	switch {
	case f.deny || r.Header.Get("Authorization") != "Bearer t0ken":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodGet:
		page := f.comments
		if r.URL.Query().Get("page") != "1" {
			page = nil
		}
		_ = json.NewEncoder(w).Encode(page)
	case r.Method == http.MethodPost:
		f.comments = append(f.comments, map[string]any{"id": 1000 + len(f.comments),
			"body": body["body"]})
	default:
		f.comments[1]["body"] = body["body"]
	}
}

// refuse denies everything from now on, and returns what was asked for and said until now.
func (f *forge) refuse() (calls []string, comments []map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.deny = true
	return f.calls, f.comments
}

// TestComment keeps one comment on a pull request, and goes on without when it may not.
func TestComment(t *testing.T) {
	t.Parallel()
	f := &forge{
		comments: []map[string]any{
			{"id": 999, "body": "of a person, who says <!-- southbound -->"}}}
	server := httptest.NewServer(f)
	defer server.Close()
	j := newJob(t, map[string]string{"site/a.yaml": fmt.Sprintf(good, t.TempDir()),
		"event.json": `{"pull_request":{"number":7}}`}, "SOUTHBOUND_CI_COMMENT=true",
		"GITHUB_ACTIONS=true", "GITHUB_API_URL="+server.URL, "GITHUB_REPOSITORY=me/site",
		"GITHUB_TOKEN=t0ken")
	j.env = append(j.env, "GITHUB_EVENT_PATH="+filepath.Join(j.dir, "event.json"))
	for range 2 {
		j.run(0, "plan", "site")
	}
	const list, post, patch = "GET /repos/me/site/issues/7/comments",
		"POST /repos/me/site/issues/7/comments", "PATCH /repos/me/site/issues/comments/1001"
	calls, comments := f.refuse()
	if want := []string{list, post, list, patch}; !slices.Equal(calls, want) || len(comments) != 2 {
		t.Fatalf("%q, expected %q; %s", calls, want, &j.stderr)
	}
	j.has("the comment", fmt.Sprint(comments[1]["body"]),
		"<!-- southbound: Southbound-plan-site -->\n## Southbound plan site", "**1** to create")
	j.run(0, "plan", "site")
	j.has("what it says", j.stderr.String(), "pull-requests: write",
		"there is no comment; the job goes on")
	if strings.Contains(j.stdout.String()+j.stderr.String(), "t0ken") {
		t.Error("the token is shown")
	}
}

// TestUsage refuses what it does not understand.
func TestUsage(t *testing.T) {
	t.Parallel()
	j := newJob(t, map[string]string{"a.yaml": bad})
	for _, args := range [][]string{nil, {"deploy", "."}, {"plan"}, {"plan", ""},
		{"plan", "none"}} {
		j.run(1, args...)
		j.has("what it says", j.stderr.String(), "southbound-ci: ")
	}
	j.run(1, "plan", "a.yaml", "--no-such-flag")
	j.env = append(j.env, "SOUTHBOUND_BIN=/nowhere/southbound")
	j.run(1, "validate", "a.yaml")
}
