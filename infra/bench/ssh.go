package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// sshd is the path of OpenSSH's server on Debian.
const sshd = "/usr/sbin/sshd"

// machine is an ssh server on loopback that its user can log in to with a key.
type machine struct {
	user, key, host string
	port            int
	options         []string // of ssh and scp, without the port
	stop            func()
}

// serve starts a server in a directory.
func serve(dir string) (*machine, error) {
	u, err := user.Current()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	_ = l.Close()
	m := &machine{user: u.Username, key: filepath.Join(dir, "key")}
	if m.port, err = strconv.Atoi(port); err != nil {
		return nil, err
	}
	host := filepath.Join(dir, "host")
	for _, key := range []string{host, m.key} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).
			CombinedOutput(); err != nil {
			return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
		}
	}
	public, err := os.ReadFile(host + ".pub")
	if err != nil {
		return nil, err
	}
	m.host = strings.TrimSpace(string(public))
	known, config := filepath.Join(dir, "known"), filepath.Join(dir, "config")
	text := fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nUsePAM no\n"+
		"PidFile none\nPermitRootLogin yes\nListenAddress 127.0.0.1:%d\n"+
		"Subsystem sftp internal-sftp\n", host, m.key, m.port)
	if err := errors.Join(os.WriteFile(known,
		[]byte(fmt.Sprintf("[127.0.0.1]:%d %s\n", m.port, m.host)), 0o600),
		os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) // sshd requires it
	}
	m.options = []string{"-i", m.key, "-o", "UserKnownHostsFile=" + known, "-o", "BatchMode=yes",
		"-o", "IdentitiesOnly=yes"}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, sshd, "-D", "-e", "-f", config)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	m.stop = func() { cancel(); _ = cmd.Wait() }
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(
		20 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			return m, c.Close()
		}
	}
	m.stop()
	return nil, errors.New("sshd does not listen")
}

// shell runs a command on this machine. In the command, SSH and SCP stand for these programs with
// all options for the login.
func (m *machine) shell(command string) error {
	quoted := "'" + strings.Join(m.options, "' '") + "'"
	replaced := strings.NewReplacer("SSH", fmt.Sprintf("ssh %s -p %d %s@127.0.0.1", quoted, m.port,
		m.user), "SCP", fmt.Sprintf("scp -q %s -P %d", quoted, m.port)).Replace(command)
	if out, err := exec.Command("sh", "-c", replaced).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return nil
}

// ssh measures files on a machine that is reached by ssh. The floors are a login that does the same
// without this program: tar, which does not sync, and sha256sum. The measurement of scp represents
// manual copying.
func (b *bench) ssh(n, runs int) error {
	dir := b.fresh()
	m, err := serve(dir)
	if err != nil {
		return err
	}
	defer m.stop()
	agent := fmt.Sprintf("agents: {web1: {transport: ssh, host: 127.0.0.1, port: %d, user: %s, "+
		"key_file: %s, host_key: %q, directory: %s/programs}}\n",
		m.port, m.user, m.key, m.host, dir)
	var first, create, floorCreate, scp, check, floorCheck []time.Duration
	for i := range runs + 1 {
		dir := b.fresh()
		model, source := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "source")
		document := strings.Replace(fileModel(filepath.Join(dir, "tree"), n), "southbound: 1\n",
			"southbound: 1\n"+agent, 1)
		if i == 0 { // uploads the program
			document = "southbound: 1\n" + agent +
				"resources:\n  - {type: exec::Run, agent: web1, attributes: {name: x, command: " +
				"\"true\"}}\n"
		}
		if err := errors.Join(os.WriteFile(model, []byte(document), 0o600),
			floorWrite(source, n, 1)); err != nil {
			return err
		}
		apply := func() error { return b.southbound("apply", model, "--data", dir+"/data") }
		steps := []struct {
			out *[]time.Duration
			f   func() error
		}{
			{&floorCreate, func() error {
				return m.shell("mkdir " + dir + "/tar && tar -C " + source +
					" -cf - . | SSH tar -C " + dir + "/tar -xf -")
			}},
			{&scp, func() error {
				return m.shell("SCP -r " + source + " " + m.user + "@127.0.0.1:" + dir + "/scp")
			}},
			{&create, apply},
			{&floorCheck, func() error {
				return m.shell("SSH 'find " + dir + "/tar -type f -exec sha256sum {} +' > " + dir +
					"/sums")
			}},
			{&check, apply},
		}
		if i == 0 {
			steps = steps[:1]
			steps[0].out, steps[0].f = &first, apply
		}
		for _, step := range steps {
			began := time.Now()
			if err := step.f(); err != nil {
				return err
			}
			*step.out = append(*step.out, time.Since(began))
		}
	}
	line(fmt.Sprintf("ssh: %d files, create (floor: tar over ssh, unsynced)", n), create,
		floorCreate)
	line("ssh: the same by scp -r, unsynced", scp, nil)
	line("ssh: the same, apply again (floor: ssh sha256sum)", check, floorCheck)
	line("ssh: one command, the first time (upload)", first, nil)
	return nil
}
