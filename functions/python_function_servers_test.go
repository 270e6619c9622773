//go:build servers

package functions_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/python/packages"
	"southbound/shared/resource"
)

// pythonWorld is a stack with a Python function, and a resource with a handler in Python.
type pythonWorld struct {
	t     *testing.T
	stack *hometest.Stack
	home  *home.Home
	env   string // virtual environment with the library and modules
	temp  string // /tmp of the function
	path  string // of the note
	f     *lambda
}

func newPythonWorld(t *testing.T) *pythonWorld {
	t.Helper()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &pythonWorld{t: t, env: env, stack: hometest.New(t, handlers.All()), temp: t.TempDir(),
		path: filepath.Join(t.TempDir(), "note")}
	w.home = w.stack.Open(t, nil)
	return w
}

// begin starts the function as Lambda does: its runtime starts the script in place of its own
// program, with an interpreter that has no packages.
func (w *pythonWorld) begin(environ ...string) {
	w.t.Helper()
	task := w.t.TempDir()
	script, err := os.ReadFile("../infra/build/start")
	if err != nil {
		w.t.Fatal(err)
	}
	program, err := os.Readlink(filepath.Join(w.env, "bin", "python"))
	if err != nil {
		w.t.Fatal(err)
	}
	runtime := fmt.Sprintf("#!/bin/sh\nexec %q %q /var/runtime/bootstrap.py\n",
		filepath.Join(task, "start"), program)
	for name, text := range map[string]string{"start": string(script), "runtime": runtime} {
		if err := os.WriteFile(filepath.Join(task, name), []byte(text), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(bin, "handler"), filepath.Join(task, "bootstrap")); err != nil {
		w.t.Fatal(err)
	}
	name := w.stack.Config.Prefix + "-python"
	w.f = start(w.t, w.stack, filepath.Join(task, "runtime"), append([]string{
		"LAMBDA_TASK_ROOT=" + task, "AWS_LAMBDA_FUNCTION_NAME=" + name, "TMPDIR=" + w.temp,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "PATH=" + os.Getenv("PATH"),
		home.EnvPythonFunction + "=" + name, home.EnvPythonRuntime + "=python3.13"}, environ...)...)
	w.f.timeout = 15 * time.Minute
}

// bundle returns the packages of the environment, with one more module.
func (w *pythonWorld) bundle(name, text string) state.Blob {
	w.t.Helper()
	uv, err := server.InstallUV(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Setenv("PATH", filepath.Dir(uv)+":"+os.Getenv("PATH"))
	cache, err := os.UserCacheDir()
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := packages.Build(w.t.Context(), packages.Options{Env: w.env,
		Cache:     filepath.Join(cache, "southbound", "packages"),
		Variables: server.UVEnvironment,
		Platform:  packages.Platform{Architecture: "x86_64", Python: "3.13"}})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := zip.OpenReader(b.Path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range r.File {
		if err := z.Copy(f); err != nil {
			w.t.Fatal(err)
		}
	}
	f, err := z.Create(name)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return blob(out.Bytes())
}

func blob(data []byte) state.Blob {
	sum := sha256.Sum256(data)
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

// code returns the code of the module disk, with some text replaced.
func (w *pythonWorld) code(old, now string) state.Blob {
	w.t.Helper()
	source, err := os.ReadFile("../shared/cli/testdata/python/libs/disk/plugins/__init__.py")
	if err != nil {
		w.t.Fatal(err)
	}
	text := strings.ReplaceAll(string(source), old, now)
	code, err := json.Marshal(map[string]any{"format": 1, "modules": map[string]any{
		"inmanta_plugins.disk": []any{true, text}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return blob(code)
}

// deploy exports the note, and serves its agent.
func (w *pythonWorld) deploy(
	code, packed state.Blob, attributes map[string]any, purged bool,
) {
	w.t.Helper()
	w.export(code, packed, attributes, purged)
	w.serve()
}

// export exports the note.
func (w *pythonWorld) export(code, packed state.Blob, attributes map[string]any, purged bool) {
	w.t.Helper()
	all := map[string]any{"path": w.path, "text": "", "how": "",
		model.CodeAttribute:     resource.File{Hash: code.Hash, Size: code.Size},
		model.PackagesAttribute: resource.File{Hash: packed.Hash, Size: packed.Size}}
	for name, v := range attributes {
		all[name] = v
	}
	export(w.t, w.home, &model.Model{
		Files:  map[string]state.Blob{code.Hash: code, packed.Hash: packed},
		Agents: []resource.Agent{{Name: "here", Transport: "function", Lanes: 1}},
		Resources: []resource.Resource{{Type: "disk::Note", Agent: "here", Flags: resource.Flags{Purged: purged},
			ID:         resource.NewID("disk::Note", "here", resource.Key{Name: "path", Value: w.path}),
			Attributes: all}}})
}

func (w *pythonWorld) serve() {
	w.t.Helper()
	event := received(w.t, w.home, "here")
	if a := w.f.invoke(event); a.body != done {
		w.t.Fatalf("%+v", a)
	}
	var e events.SQSEvent // Lambda deletes the messages, so that others of the lane follow
	if err := json.Unmarshal([]byte(event), &e); err != nil || len(e.Records) == 0 {
		w.t.Fatalf("%v: nothing was received", err)
	}
	url, err := w.home.Queues.URL(w.t.Context(), "prod", "here")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range e.Records {
		if _, err := w.home.SQS.DeleteMessage(w.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url,
			ReceiptHandle: &m.ReceiptHandle}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// repair compares everything with reality.
func (w *pythonWorld) repair() {
	w.t.Helper()
	if _, err := w.home.Engine.Repair(w.t.Context(), "prod", planner.Request{}); err != nil {
		w.t.Fatal(err)
	}
	w.serve()
}

// want wants a state of the note, the last action with a reason that has some text, and its content.
func (w *pythonWorld) want(status state.Status, reason, content string) {
	w.t.Helper()
	if got := counts(w.t, w.home); got[status] != 1 {
		w.t.Errorf("%v, want %s", got, status)
	}
	actions, err := w.home.State.Actions(w.t.Context(), "prod",
		state.ActionQuery{Action: state.ActionDeploy})
	if err != nil || len(actions) == 0 {
		w.t.Fatal(err, len(actions))
	}
	last := actions[0]
	for _, a := range actions {
		if a.ID > last.ID {
			last = a
		}
	}
	if reason != "" && !strings.Contains(last.Reason, reason) {
		w.t.Errorf("reason %q, want %q", last.Reason, reason)
	}
	if got, _ := os.ReadFile(w.path); string(got) != content {
		w.t.Errorf("the note has %q, want %q", got, content)
	}
}

// TestPythonFunction pins that the Python function deploys a resource with the code and the packages
// of its version: create, again, drift, an exception, new code, two versions of a package, purge.
func TestPythonFunction(t *testing.T) {
	w := newPythonWorld(t)
	one, two := w.bundle("release.py", "NUMBER = 'one'\n"), w.bundle("release.py", "NUMBER = 'two'\n")
	usual := w.code("def write(self, resource):", "def write(self, resource):  # first")
	w.begin()
	w.deploy(usual, one, map[string]any{"text": "hello\n"}, false)
	w.want(state.StatusDeployed, "", "hello\n")
	w.repair()
	w.want(state.StatusDeployed, "", "hello\n")
	if err := os.WriteFile(w.path, []byte("drift\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.repair()
	w.want(state.StatusDeployed, "", "hello\n")
	w.deploy(usual, one, map[string]any{"text": "x", "how": "throw"}, false)
	w.want(state.StatusFailed, "no room for", "hello\n")
	coded := w.code("f.write(resource.text)", "import release; f.write(release.NUMBER)")
	for _, b := range []struct {
		packed state.Blob
		want   string
	}{{one, "one"}, {two, "two"}, {one, "one"}} {
		w.deploy(coded, b.packed, map[string]any{"text": "by " + b.want}, false)
		w.want(state.StatusDeployed, "", b.want)
	}
	names, err := os.ReadDir(filepath.Join(w.temp, "southbound", "packages"))
	if err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
	// nothing of the function is in the environment of Python
	spy := w.code("f.write(resource.text)", "f.write(' '.join(sorted(os.environ)))")
	w.deploy(spy, one, map[string]any{"text": "spy"}, false)
	text, _ := os.ReadFile(w.path)
	for _, name := range strings.Fields(string(text)) {
		if strings.HasPrefix(name, "SOUTHBOUND_") || strings.HasPrefix(name, "AWS_") &&
			name != "AWS_REGION" {
			t.Errorf("Python sees %s", name)
		}
	}
	w.deploy(coded, one, map[string]any{"text": "x"}, true)
	w.want(state.StatusDeployed, "", "")
	// no process of Python outlives an invocation
	for _, pid := range children(w.f.cmd.Process.Pid) {
		t.Errorf("process %d is left", pid)
	}
}

// children returns the children of a process.
func children(parent int) []int {
	var out []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		rest := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if rest[1] == strconv.Itoa(parent) && rest[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			out = append(out, pid)
		}
	}
	return out
}

// TestPythonFunctionFaults pins what becomes of a resource whose packages are damaged, missing or too
// large.
func TestPythonFunctionFaults(t *testing.T) {
	w := newPythonWorld(t)
	packed := w.bundle("release.py", "")
	usual := w.code("", "")
	w.begin()
	damage := func(data []byte) {
		t.Helper()
		if _, err := w.home.S3.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &w.stack.Config.Bucket, Key: aws.String("files/" + packed.Hash[:2] + "/" + packed.Hash),
			Body: bytes.NewReader(data)}); err != nil {
			t.Fatal(err)
		}
	}
	w.export(usual, packed, map[string]any{"text": "hello\n"}, false)
	damage(append([]byte("x"), packed.Data[1:]...))
	w.serve()
	w.want(state.StatusUnavailable, "", "")
	damage(packed.Data)
	w.repair()
	w.want(state.StatusDeployed, "", "hello\n")

	w.temp = t.TempDir()
	w.begin(home.EnvPythonStorage + "=14") // room for a megabyte
	w.deploy(usual, packed, map[string]any{"text": "full\n"}, false)
	w.want(state.StatusUnavailable, "/tmp is full", "hello\n")
	w.begin()
	w.repair()
	w.want(state.StatusDeployed, "", "full\n")
}

// TestOtherFunctionLeavesPython pins that the handler function begins nothing of an agent that the
// Python function serves.
func TestOtherFunctionLeavesPython(t *testing.T) {
	w := newPythonWorld(t)
	w.f = start(t, w.stack, filepath.Join(bin, "handler"))
	w.deploy(w.code("", ""), blob([]byte("x")), nil, false)
	if got := counts(t, w.home); got[state.StatusAvailable] != 1 {
		t.Errorf("the handler function has not left it alone: %v", got)
	}
}
