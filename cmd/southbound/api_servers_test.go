//go:build servers

package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"southbound/localstack/server"
)

var (
	examples = flag.Int("examples", 6,
		"how many requests of each kind are made up for an operation of the API")
	seed = flag.Int("api-seed", 1, "of the requests")
)

// TestSchemathesis asks the running program for what its description of the API says, and for what
// it does not: there is no answer of 5xx, nothing valid is refused, nothing invalid is accepted,
// and answers are as they are described. Links lead from answers to the next requests.
func TestSchemathesis(t *testing.T) {
	t.Parallel()
	tool, err := server.InstallSchemathesis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // so that what is compiled of the hooks is not left in the sources
	about := filepath.Join(dir, "about")
	if err := os.CopyFS(about, os.DirFS("testdata/api")); err != nil {
		t.Fatal(err)
	}
	address := listen(t, build(t), filepath.Join(dir, "data"), filepath.Join(about, "model.yaml"))
	token, err := os.ReadFile(filepath.Join(dir, "data", "api-token"))
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(dir, "report.json")
	cmd := exec.CommandContext(t.Context(), tool, "--config-file",
		filepath.Join(about, "schemathesis.toml"), "run",
		address+"/openapi.json", "--header",
		"Authorization: Bearer "+strings.TrimSpace(string(token)), "--seed", strconv.Itoa(*seed),
		"--max-examples", strconv.Itoa(*examples), "--checks", "all", "--no-color", "--report",
		"json", "--report-json-path", report)
	cmd.Dir = dir
	// What is not asked through a proxy need not look through all variables for one at each request.
	// What Python compiles of the tool, and which characters there are, is kept for the next run.
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH="+about,
		"PYTHONDONTWRITEBYTECODE=", "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1",
		"HYPOTHESIS_STORAGE_DIRECTORY="+filepath.Join(filepath.Dir(tool), "hypothesis"))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	t.Logf("%s of CPU", cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	checkReport(t, report)
}

// checkReport wants all operations to have been asked for, and links to have been followed.
func checkReport(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Operations struct{ Total, Tested int }
		Phases     map[string]struct{ Status string }
		Cases      struct{ Generated int } `json:"test_cases"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	for _, phase := range []string{"coverage", "fuzzing", "stateful"} {
		if report.Phases[phase].Status != "success" {
			t.Errorf("phase %s: %+v", phase, report.Phases[phase])
		}
	}
	if n := report.Operations; n.Tested != n.Total || n.Total < 35 ||
		report.Cases.Generated < 1000 {
		t.Errorf("%d of %d operations, %d requests", n.Tested, n.Total, report.Cases.Generated)
	}
}

// listen applies a model and serves its API on loopback; it returns the address.
func listen(t *testing.T, bin, data, model string) string {
	t.Helper()
	if out, err := exec.Command(bin, "apply", model, "--data", data).CombinedOutput(); err != nil &&
		!strings.Contains(string(out), "version 1") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(bin, "parameter", "set", "p", "1", "--data", data).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, "run", "--data", data, "--listen", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = cmd.Wait() })
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, at, is := strings.Cut(lines.Text(), "listening on "); is {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			address, _, _ := strings.Cut(at, ";")
			return address
		}
	}
	t.Fatal("it does not listen")
	return ""
}
