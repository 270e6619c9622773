package ssh_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport/ssh/sshtest"
)

// sshAgent starts an ssh-agent that ends with the test, and returns its socket.
func sshAgent(t *testing.T, keys ...key) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.CommandContext(t.Context(), "ssh-agent", "-D", "-a", socket)
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	// It names its socket once it listens there.
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatalf("ssh-agent said %q: %v", line, err)
	}
	for _, k := range keys {
		add := exec.CommandContext(t.Context(), "ssh-add", "-q", k.File)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket, "SSH_ASKPASS_REQUIRE=force",
			"SSH_ASKPASS="+askpass(t))
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v\n%s", err, out)
		}
	}
	return socket
}

// askpass is a program that says the passphrase of the tests.
func askpass(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "askpass")
	write(t, path, "#!/bin/sh\necho open sesame\n", 0o700)
	return path
}

// TestKeys logs in with keys from everywhere, certificates among them.
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	authority, certified := sshtest.NewKey(t, dir, "authority", ""),
		sshtest.NewKey(t, dir, "certified", "")
	login := sshtest.Self(t)
	run(t, "", "ssh-keygen", "-q", "-s", authority.File, "-I", "tests", "-n", login, "-V",
		"-1m:+10m", certified.File+".pub")
	certificate, err := os.ReadFile(filepath.Join(dir, "certified-cert.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s := startWith(t, login, "TrustedUserCAKeys "+authority.File+".pub\nMaxAuthTries 4\n")
	locked := sshtest.NewKey(t, dir, "locked", "open sesame")
	authorized := filepath.Join(filepath.Dir(s.Host.File), "authorized")
	write(t, authorized, s.User.Public+"\n"+locked.Public+"\n", 0o644)
	var many []key
	for i := range 6 {
		many = append(many, sshtest.NewKey(t, dir, "other"+strconv.Itoa(i), ""))
	}
	write(t, filepath.Join(dir, "half.pub"), locked.Public+"\n", 0o600)
	socket := sshAgent(t, append(many, locked)...)
	few := sshAgent(t, locked)
	for _, c := range []struct {
		why, socket string
		options     map[string]any
		text        string // of the error; "" means that it goes well
	}{
		{"the key of ssh-agent", few, s.Options("key_file", nil, "agent", true), ""},
		{"too many keys", socket, s.Options("key_file", nil, "agent", true), "too many keys"},
		{"a key that ssh-agent holds opened, among many", socket,
			s.Options("key_file", locked.File), ""},
		{"the public half of a key that ssh-agent holds, among many", socket,
			s.Options("key_file", filepath.Join(dir, "half.pub")), ""},
		{"a key that is encrypted, and ssh-agent must not be asked", socket,
			s.Options("key_file", locked.File, "agent", false), "encrypted"},
		{"a public half, and no agent", "", s.Options("key_file", filepath.Join(dir, "half.pub")),
			"ssh-agent does not hold"},
		{"the right key, and many in ssh-agent behind it", socket, s.Options("agent", true), ""},
		{"no agent where one is asked for", "", s.Options("key_file", nil, "agent", true),
			"none runs"},
		{"a certificate beside the key", "", s.Options("key_file", certified.File), ""},
		{"a certificate as text", "", s.Options("key_file", nil, "key", certified.Private,
			"certificate", string(certificate)), ""},
		{"the key without its certificate", "",
			s.Options("key_file", nil, "key", certified.Private), "rejected"},
		{"a certificate of another key", "", s.Options("certificate", string(certificate)),
			"of another key"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Setenv("SSH_AUTH_SOCK", c.socket)
			own := sessions(t)
			conn, err := own.Connect(t.Context(), with(c.options, "directory", shared))
			if err == nil {
				defer conn.Close()
			}
			switch {
			case c.text == "" && err != nil:
				t.Errorf("%v (%s)", err, fault.HintOf(err))
			case c.text != "" && (err == nil || provider.ClassOf(err) != provider.Terminal ||
				!strings.Contains(err.Error()+fault.HintOf(err), c.text)):
				t.Errorf("%v: %q, expected %q", err, provider.ClassOf(err), c.text)
			}
		})
	}
}

func with(options map[string]any, name string, value any) map[string]any {
	options[name] = value
	return options
}

// TestKnownHosts logs in to a machine that is known in all the ways in which files of ssh say so.
func TestKnownHosts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, other := sshtest.NewKey(t, dir, "authority", ""), sshtest.NewKey(t, dir, "other", "")
	// begins to be read with the first login
	s := startWith(t, sshtest.Self(t), "HostCertificate "+filepath.Join(dir, "host-cert.pub")+"\n")
	sign := func(more ...string) {
		write(t, filepath.Join(dir, "host.pub"), s.Host.Public+"\n", 0o600)
		run(t, "", append(append([]string{"ssh-keygen", "-q", "-s", authority.File, "-I", "host",
			"-h"}, more...), filepath.Join(dir, "host.pub"))...)
	}
	at := fmt.Sprintf("[127.0.0.1]:%d", s.Port)
	hashed := func(line string) string {
		path := filepath.Join(dir, "plain")
		write(t, path, line, 0o600)
		run(t, "", "ssh-keygen", "-q", "-H", "-f", path)
		b, err := os.ReadFile(path)
		if err != nil || bytes.Contains(b, []byte("127.0.0.1")) {
			t.Fatalf("%s: %v", b, err)
		}
		return string(b)
	}
	valid := []string{"-n", "127.0.0.1", "-V", "-1m:+10m"}
	for _, c := range []struct {
		why         string
		certificate []string
		known       string
		text        string // of the error
	}{
		{"a hashed name with a port", valid, hashed(at + " " + s.Host.Public + "\n"), ""},
		{"several keys of one name", valid,
			at + " " + other.Public + "\n" + at + " " + s.Host.Public + "\n", ""},
		{"an authority", valid, "@cert-authority " + at + " " + authority.Public + "\n", ""},
		{"an authority of everything", valid, "@cert-authority * " + authority.Public + "\n", ""},
		{"another authority", valid, "@cert-authority * " + other.Public + "\n", "does not hold"},
		{"a certificate that has expired", []string{"-n", "127.0.0.1", "-V", "-10m:-1m"},
			"@cert-authority * " + authority.Public + "\n", "expired"},
		{"a certificate of another machine", []string{"-n", "elsewhere", "-V", "-1m:+10m"},
			"@cert-authority * " + authority.Public + "\n", "does not hold"},
		{"a key that was revoked, though known", valid,
			at + " " + s.Host.Public + "\n@revoked * " + s.Host.Public + "\n", "revokes"},
		{"a hashed name of another key", valid, hashed(at + " " + other.Public + "\n"),
			"another key than the known one"},
		{"the name without the port", valid, "127.0.0.1 " + s.Host.Public + "\n", ""},
		{"nobody", valid, "other " + s.Host.Public + "\n", "is not known"},
	} {
		sign(c.certificate...)
		path := filepath.Join(dir, "known")
		write(t, path, c.known, 0o600)
		conn, err := sessions(t).Connect(t.Context(),
			s.Options("host_key", nil, "known_hosts", path, "directory", shared))
		switch {
		case err == nil:
			_ = conn.Close()
			if c.text != "" {
				t.Errorf("%s: it is let in", c.why)
			}
		case c.text == "":
			t.Errorf("%s: %v (%s)", c.why, err, fault.HintOf(err))
		case provider.ClassOf(err) != provider.Terminal || !fault.Is(err, fault.Denied) ||
			!strings.Contains(err.Error(), c.text):
			t.Errorf("%s: %v, expected %q", c.why, err, c.text)
		}
	}
}
