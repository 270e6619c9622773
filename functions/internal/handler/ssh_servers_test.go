//go:build servers

package handler

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/aws/home"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/transport/ssh"
	"southbound/shared/transport/ssh/sshtest"
)

// TestMachines pins that a function deploys to machines by ssh, with a key that is a secret of AWS,
// and leaves those to runners whose login needs what it does not have.
func TestMachines(t *testing.T) {
	s, dir := newStack(t), t.TempDir()
	machine := sshtest.Start(t, sshtest.Self(t), "")
	name := "/" + s.Config.Prefix + "/key"
	if _, err := ssm.NewFromConfig(*s.Config.AWS).PutParameter(t.Context(),
		&ssm.PutParameterInput{Name: &name, Value: &machine.User.Private,
			Type:      types.ParameterTypeSecureString,
			Overwrite: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	file := func(agent string) resource.Resource {
		path := filepath.Join(dir, agent)
		return resource.Resource{ID: resource.NewID("fs::File", agent,
			resource.Key{Name: "path", Value: path}), Type: "fs::File", Agent: agent,
			Attributes: map[string]any{"path": path, "content": "by a function\n"}}
	}
	key := resource.Secret{Source: "ssm:" + name}
	agent := func(name string, more ...any) resource.Agent {
		return resource.Agent{Name: name, Transport: "ssh", Lanes: 1,
			Options: machine.Options(append([]any{"key_file", nil, "key", key, "directory",
				filepath.Join(dir, "programs")}, more...)...)}
	}
	carry(t, agent("runner", "key", nil, "key_file", machine.User.File))
	s.export(&model.Model{Agents: []resource.Agent{agent("function"),
		agent("runner", "key", nil, "key_file", machine.User.File), agent("asked", "runner", true)},
		Resources: []resource.Resource{file("function"), file("runner"), file("asked")}})
	f := s.begin(func(c *home.Config) {
		c.Connector = func(known state.Secrets) state.Connector { return connector(c, known, false) }
	})
	for _, name := range []string{"function", "runner", "asked"} {
		if records := s.receive(name); len(records) > 0 {
			s.invoke(f, name, records, 10*time.Minute)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if by := name == "function"; by != (string(text) == "by a function\n") ||
			!by && !os.IsNotExist(err) {
			t.Errorf("agent %s: %q, %v", name, text, err)
		}
	}
	if p, err := f.Home.Engine.Progress(t.Context(), "prod"); err != nil ||
		p.Counts[state.StatusDeployed] != 1 || p.Scheduled != 2 {
		t.Errorf("%v: %v, %d scheduled", err, p.Counts, p.Scheduled)
	}
}

// carry puts the program on a machine, which takes longer than a login may where the race detector
// made it large and slow.
func carry(t *testing.T, a resource.Agent) {
	t.Helper()
	sessions := &ssh.Sessions{}
	defer func() { _ = sessions.Close() }()
	held, err := sessions.Connect(t.Context(), a.Options)
	for tries := 0; err != nil && tries < 20; tries++ {
		// it goes on while nobody waits, and is joined
		held, err = sessions.Connect(t.Context(), a.Options)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
}
