//go:build servers

package svc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/localstack/server"
)

// booted is a systemd that is process 1 of a namespace of its own, with units of the test and
// hardly any others.
type booted struct {
	systemd
	dir, units, users string
}

// boot becomes systemd. Files of the machine that it could change are hidden or read only. Its
// arguments are a directory of the test, and the file by which one enters a control group of the
// test's own, which is all that systemd sees of control groups.
const boot = `set -e
echo $$ > "$1"
exec unshare --cgroup sh -ec '
mount --make-rprivate /
mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys
umount -l -R /sys/fs/cgroup; mount -t cgroup2 cgroup2 /sys/fs/cgroup
for hidden in /run /etc/systemd /lib/systemd/system /lib/systemd/system-generators /lib/systemd/user /lib/systemd/user-generators; do
	test ! -d $hidden || mount -t tmpfs tmpfs $hidden
done
mkdir -p /etc/systemd/system /etc/systemd/user /run/user/$(id -u)
mount --bind "$0/system" /etc/systemd/system
mount --bind "$0/user" /etc/systemd/user
export container=test HOME="$0/home"
exec /lib/systemd/systemd --system --unit=test.target --log-target=console --show-status=no
' "$0"`

// newBooted starts systemd. It ends with the test.
func newBooted(t *testing.T) *booted {
	t.Helper()
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		if err := server.Install(t.Context(), "systemd"); err != nil {
			t.Fatalf("systemd is missing: %v", err)
		}
	}
	dir := t.TempDir()
	b := &booted{dir: dir, units: filepath.Join(dir, "system"), users: filepath.Join(dir, "user")}
	for name, text := range map[string]string{
		"system/test.target": "[Unit]\nWants=multi-user.target\n", "system/multi-user.target": "",
		"system/sockets.target": "", "system/shutdown.target": "", "system/sysinit.target": "",
		"system/basic.target": "",
		"system/manager.service": "[Service]\nType=notify\n" +
			"Environment=SYSTEMD_LOG_TARGET=console XDG_RUNTIME_DIR=/run/user/%U HOME=" + dir +
			"/home\nDelegate=yes\nExecStart=/bin/sh -c 'exec /lib/systemd/systemd --user " +
			"--unit=default.target > " + dir + "/manager.log 2>&1'\n",
		"user/default.target": "", "user/basic.target": "", "user/shutdown.target": "",
		"home/x": "",
	} {
		if strings.HasSuffix(name, ".target") {
			text = "[Unit]\nDefaultDependencies=no\n" + strings.TrimPrefix(text, "[Unit]\n")
		}
		put(t, filepath.Join(dir, name), text)
	}
	log := &bytes.Buffer{}
	cmd := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",
		"--uts", "--ipc", "--net", "sh", "-c", boot, dir, ownGroup(t))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	stop := sync.OnceFunc(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		close(ended)
	})
	t.Cleanup(stop)
	limit := time.NewTimer(10 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid,
			cmd.Process.Pid)); err == nil && len(bytes.TrimSpace(child)) > 0 {
			b.before = []string{"nsenter", "-t", string(bytes.TrimSpace(child)), "-m", "-p", "env",
				"HOME=" + dir + "/home",
				"XDG_RUNTIME_DIR=" + fmt.Sprintf("/run/user/%d", os.Getuid())}
			if out, _ := b.run(t.Context(), "is-active",
				"test.target"); strings.TrimSpace(out) == "active" {
				return b
			}
		}
		select {
		case <-tick.C:
		case <-limit.C:
			stop()
			t.Fatalf("systemd does not start, which takes root and control groups that can be "+
				"written:\n%s", log)
		}
	}
}

// ownGroup makes a control group below the one that this process is in, and returns the file by
// which one enters it.
func ownGroup(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	_, own, _ := strings.Cut("\n"+string(raw), "\n0::")
	own, _, _ = strings.Cut(own, "\n")
	for _, at := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		parent := filepath.Join(at, own)
		if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
			continue
		}
		dir, err := os.MkdirTemp(parent, "svctest-")
		if err != nil {
			t.Fatalf("this test needs a control group of its own: %v", err)
		}
		t.Cleanup(func() { emptied(t, dir) })
		return filepath.Join(dir, "cgroup.procs")
	}
	t.Fatal("this test needs control groups of version 2")
	return ""
}

// emptied removes a control group with all below it, once what was in them has ended.
func emptied(t *testing.T, dir string) {
	t.Helper()
	limit, tick := time.NewTimer(10*time.Minute), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for {
		var all []string
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		slices.Reverse(all)
		for _, each := range all {
			_ = syscall.Rmdir(each)
		}
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Errorf("%s stays", dir)
			return
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// unit writes units: name, text, name, text, ...
func (b *booted) define(t *testing.T, units ...string) {
	t.Helper()
	for i := 0; i < len(units); i += 2 {
		put(t, filepath.Join(b.units, units[i]), units[i+1])
	}
}

// tell runs systemctl.
func (b *booted) tell(t *testing.T, args ...string) string {
	t.Helper()
	out, err := b.run(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(out)
}

// world describes services, whatever their names.
func (b *booted) world(names ...string) (string, error) {
	known, err := b.states(context.Background(), names)
	out := ""
	for _, name := range names {
		out += fmt.Sprint(known[name])
	}
	return out, err
}
