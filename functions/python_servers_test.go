//go:build servers

package functions_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestAgentRunPython pins that a function leaves a resource with a handler in Python to the runner
// of its agent, and that a runner with Python deploys it, with the code of its version.
func TestAgentRunPython(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../shared/cli/testdata/python/libs/disk/plugins/__init__.py")
	if err != nil {
		t.Fatal(err)
	}
	code, err := json.Marshal(map[string]any{"format": 1, "modules": map[string]any{
		"inmanta_plugins.disk": []any{true, string(source)}}})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(code)
	blob := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(code)), Data: code}
	path := filepath.Join(t.TempDir(), "note")
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	export(t, h, &model.Model{Files: map[string]state.Blob{blob.Hash: blob},
		Resources: []resource.Resource{{Type: "disk::Note", Agent: "here",
			ID: resource.NewID("disk::Note", "here", resource.Key{Name: "path", Value: path}),
			Attributes: map[string]any{"path": path, "text": "by a runner\n", "how": "",
				model.CodeAttribute: resource.File{Hash: blob.Hash, Size: blob.Size}}}}})

	f := start(t, stack, filepath.Join(bin, "handler"))
	if a := f.invoke(received(t, h, "here")); a.body != done {
		t.Errorf("handler: %+v", a)
	}
	if got := counts(t, h); got[state.StatusAvailable] != 1 {
		t.Fatalf("the function has not left it alone: %v", got)
	}

	var said hometest.Lines
	cmd := exec.Command(filepath.Join(bin, "southbound"), "agent", "run", "here",
		"--environment", "prod", "--data", t.TempDir(), "--json")
	cmd.Env, cmd.Stderr = append(environment(stack.Config), "SOUTHBOUND_PYTHON="+env), &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Signal(os.Interrupt), cmd.Wait() }()
	hometest.Until(t, "the note is deployed", func() bool {
		return counts(t, h)[state.StatusDeployed] == 1
	})
	if text, err := os.ReadFile(path); err != nil || string(text) != "by a runner\n" {
		t.Errorf("%q, %v\n%s", text, err, said.String())
	}
}
