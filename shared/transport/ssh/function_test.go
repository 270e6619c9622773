package ssh_test

import (
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport/ssh"
	"southbound/shared/transport/ssh/sshtest"
)

// TestByRunner pins which agents functions leave to runners.
func TestByRunner(t *testing.T) {
	t.Parallel()
	whole := func(name string, value any) map[string]any {
		out := map[string]any{"host": "h", "user": "u", "host_key": "ssh-ed25519 AAAA",
			"key": resource.Secret{Source: "ssm:/k"}}
		if name != "" {
			out[name] = value
		}
		return out
	}
	for _, c := range []struct {
		why     string
		options map[string]any
		want    bool
	}{
		{"everything is said", whole("", nil), false},
		{"a password", map[string]any{"host": "h", "user": "u", "host_key": "k",
			"password": resource.Secret{Source: "secretsmanager:p"}}, false},
		{"a key in a file", whole("key_file", "/k"), true},
		{"no key", map[string]any{"host": "h", "user": "u", "host_key": "k"}, true},
		{"no key of the host", map[string]any{"host": "h", "user": "u", "key": "k"}, true},
		{"known hosts", whole("known_hosts", "/k"), true},
		{"no user", map[string]any{"host": "h", "host_key": "k", "key": "k"}, true},
		{"ssh-agent", whole("agent", true), true},
		{"no ssh-agent", whole("agent", false), false},
		{"a secret of a machine", whole("sudo_password", resource.Secret{Source: "env:P"}), true},
		{"a bastion that is whole", whole("jump", []any{whole("", nil)}), false},
		{"a bastion that is not", whole("jump", []any{whole("", nil), map[string]any{"host": "b"}}),
			true},
		{"one bastion that is not", whole("jump", map[string]any{"host": "b"}), true},
		{"it is asked for", whole("runner", true), true},
		{"it is not asked for", whole("runner", false), false},
	} {
		if got := ssh.ByRunner(c.options); got != c.want {
			t.Errorf("%s: %v", c.why, got)
		}
	}
}

// TestFunction pins how a function connects: with all that it needs said, not to its own addresses,
// and anew each time.
func TestFunction(t *testing.T) {
	t.Parallel()
	s := start(t, sshtest.Self(t))
	own := &ssh.Sessions{Retry: -1, Programs: &small, Function: true}
	defer own.Close()
	options := s.Options("key_file", nil, "key", s.User.Private, "directory", shared)
	var before string
	for range 2 {
		conn, err := own.Connect(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		d := forwarded(t, conn, slow())
		r := provider.Resource{ID: "test::Slow[a,path=x]", Type: "test::Slow",
			Attributes: map[string]any{"path": "/"}}
		obs, err := d.Handler.Read(newContext(t), provider.ReadRequest{Resource: r})
		pid, _ := obs.Attributes["pid"].(string)
		if err != nil || pid == "" || pid == before {
			t.Errorf("process %q after %q, %v", pid, before, err)
		}
		before = pid
		_ = conn.Close()
	}
	guarded := &ssh.Sessions{Retry: -1, Programs: &small, Function: true, Guarded: true}
	defer guarded.Close()
	if _, err := guarded.Connect(t.Context(), options); !fault.Is(err, fault.Denied) ||
		provider.ClassOf(err) != provider.Terminal {
		t.Errorf("its own address: %v: %q", err, provider.ClassOf(err))
	}
	if _, err := own.Connect(t.Context(), s.Options()); !fault.Is(err, fault.Unsupported) ||
		!strings.Contains(fault.HintOf(err), "agent run") {
		t.Errorf("a key in a file: %v", err)
	}
}
