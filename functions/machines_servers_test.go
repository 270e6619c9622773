//go:build servers

package functions_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"southbound/handlers"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/transport/ssh/sshtest"
)

// TestAgentRunElsewhere pins that the command serves an agent that it reaches by ssh, with a key
// that is in a file: it puts itself there.
func TestAgentRunElsewhere(t *testing.T) {
	stack, dir := hometest.New(t, handlers.All()), t.TempDir()
	h, machine := stack.Open(t, nil), sshtest.Start(t, sshtest.Self(t), "")
	path := filepath.Join(dir, "motd")
	export(t, h, &model.Model{
		Agents: []resource.Agent{{Name: "host2", Transport: "ssh", Lanes: 1,
			Options: machine.Options("directory", filepath.Join(dir, "programs"))}},
		Resources: []resource.Resource{
			{ID: resource.NewID("fs::File", "host2", resource.Key{Name: "path", Value: path}),
				Type: "fs::File", Agent: "host2",
				Attributes: map[string]any{"path": path, "content": "by a runner\n"}}}})
	var said hometest.Lines
	cmd := exec.Command(filepath.Join(bin, "southbound"), "agent", "run", "host2", "--environment",
		"prod", "--data", t.TempDir(), "--json")
	cmd.Env, cmd.Stderr = environment(stack.Config), &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Signal(os.Interrupt), cmd.Wait() }()
	hometest.Until(t, "the file is deployed",
		func() bool { return counts(t, h)[state.StatusDeployed] == 1 })
	if text, err := os.ReadFile(path); err != nil || string(text) != "by a runner\n" {
		t.Errorf("%q, %v\n%s", text, err, said.String())
	}
}
