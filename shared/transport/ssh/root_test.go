package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/exec"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh/sshtest"
)

// TestSudo becomes another user. Where the test is not root it pins what a user sees that may not.
func TestSudo(t *testing.T) {
	t.Parallel()
	sshtest.Provide(t, "/usr/bin/sudo", "sudo")
	const password = "correct horse"
	s := start(t, somebody(t, password))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sb-sudo-%d", os.Getpid()))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	refused := func(options map[string]any, text string) {
		t.Helper()
		_, err := sessions(t).Connect(t.Context(), options)
		if !fault.Is(err, fault.Denied) || provider.ClassOf(err) != provider.Terminal ||
			!strings.Contains(err.Error(), text) {
			t.Errorf("%v, expected %q", err, text)
		}
	}
	refused(s.Options("key_file", nil, "password", "wrong"),
		fmt.Sprintf("the machine rejected %q: it refuses the password", s.Login))
	refused(s.Options("sudo", true, "directory", dir), "sudo")
	if os.Getuid() != 0 {
		return
	}
	rules := filepath.Join("/etc/sudoers.d", strings.ReplaceAll(s.Login, ".", "-"))
	t.Cleanup(func() { _ = os.Remove(rules) })
	write(t, rules, s.Login+" ALL=(ALL) ALL\n", 0o440)
	refused(s.Options("sudo", true, "directory", dir), "sudo")
	refused(s.Options("sudo", true, "sudo_password", "wrong", "directory", dir),
		"password is wrong")
	whoami := func(c map[string]any, want string) {
		t.Helper()
		d := forwarded(t, connect(t, sessions(t), c), exec.Run())
		host := providertest.NewHost(nil)
		r := provider.Resource{ID: "exec::Run[a,name=x]", Type: "exec::Run",
			Attributes: map[string]any{"name": "x", "command": "id -un"}}
		if _, err := d.Handler.Create(host.Context(t.Context(), provider.Options{ID: r.ID}),
			provider.CreateRequest{Resource: r}); err != nil ||
			!strings.Contains(host.Output(), want) {
			t.Errorf("%v\n%s", err, host.Output())
		}
	}
	whoami(s.Options("sudo", "root", "sudo_password", password, "directory", dir), "root")
	whoami(s.Options("key_file", nil, "password", password), s.Login)
	write(t, rules, s.Login+" ALL=(ALL) NOPASSWD: ALL\n", 0o440)
	whoami(s.Options("sudo", true, "sudo_password", "not asked for", "directory", dir), "root")
	whoami(s.Options("sudo", true, "directory", dir), "root")
}

// TestNoRoom uploads to a file system that is too small. A user who is not root cannot make one:
// there a limit of the size of files does the same.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	prefix := []string{"sh", "-c", `ulimit -f 1000; exec "$@"`, "sh"}
	kind := fault.Unavailable
	if os.Getuid() == 0 {
		prefix = []string{"unshare", "-m", "sh", "-c",
			`mount -t tmpfs -o size=1m,mode=700 none "$0"; exec "$@"`, dir}
		kind = fault.Full
	}
	s := start(t, sshtest.Self(t), prefix...)
	own := sessions(t)
	own.Programs = &remote.Programs{}
	_, err := own.Connect(t.Context(), s.Options("directory", dir))
	if !fault.Is(err, kind) || provider.ClassOf(err) != provider.Retryable {
		t.Errorf("%v: %s, %s", err, fault.KindOf(err), provider.ClassOf(err))
	}
}
