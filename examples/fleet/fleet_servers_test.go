//go:build servers

// Package fleet_test deploys the example to three machines of its own.
package fleet_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/buildtest"
	"southbound/shared/transport/ssh/sshtest"
)

// machine begins a machine: processes, a network and a root of their own, which is a copy of this
// machine's in memory, written where it is changed. $0 is where it is mounted. Its first process
// has to wait for those whose parents are gone: a service counts as running until then. The home of
// root is empty: what comes and goes in this machine's meanwhile, such as the lock file of
// somebody's ~/.bashrc, would stay there for ever in a copy that has seen it, and each login wait
// for it. Packages and their lists are copies too, of what $2 holds: others on this machine may
// fetch lists, and apt may be set to remove all packages then. Nobody looks for manuals in it, so
// they are not indexed.
const machine = `set -e
mount -t tmpfs -o size=2g none "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" "$0/root"
mount -t proc none "$0/root/proc"
mount --rbind /dev "$0/root/dev"
mount -t tmpfs none "$0/root/root"
mkdir -p "$0/root/run/sshd" "$0/root$1"
mount --rbind "$1" "$0/root$1"
mount -t tmpfs none "$0/root/var/cache/apt/archives"
cp -r "$2/archives/." "$0/root/var/cache/apt/archives"
mount -t tmpfs none "$0/root/var/lib/apt/lists"
cp -r "$2/lists/." "$0/root/var/lib/apt/lists"
rm -f "$0/root/var/lib/man-db/auto-update"
ip link set lo up
exec chroot "$0/root" sh -c 'echo ready; while :; do sleep 1000 & wait $!; done'`

// download fetches what the machines install into the folder $0: they reach nothing but themselves.
const download = `set -e
exec 9>/tmp/southbound-apt.lock; flock 9
apt-get update -qq
mkdir -p "$0/archives/partial"
apt-get install -y -qq --no-install-recommends --download-only -o Dir::Cache::archives="$0/archives" \
  nginx postgresql
cp -r /var/lib/apt/lists "$0/lists"`

type host struct {
	*sshtest.Server
	enter []string
}

// start starts a machine that shares a folder with this one, and has the packages of another.
func start(t *testing.T, shared, packages string) host {
	t.Helper()
	cmd := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh",
		"-c",
		machine, t.TempDir(), shared, packages)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the machine does not start: %q, %v", line, err)
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	enter := []string{"nsenter", "--target", strings.TrimSpace(string(children)),
		"--mount", "--net", "--pid", "--root", "--wd"}
	return host{sshtest.Start(t, "root", "", enter...), enter}
}

// run runs a command on the machine and returns what it prints.
func (h host) run(t *testing.T, argv ...string) string {
	t.Helper()
	argv = append(append([]string{}, h.enter...), argv...)
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// processes lists what runs on a machine.
const processes = `for p in /proc/[0-9]*; do echo "${p#/proc/} $(tr '\0' ' ' <$p/cmdline)"; done 2>&1`

// TestFleet deploys the model to three machines over ssh, twice, and looks at what they do.
func TestFleet(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Fatal("machines of one's own need root")
	}
	for path, pkg := range map[string]string{
		"/usr/sbin/sshd": "openssh-server", "/usr/bin/curl": "curl", "/sbin/ip": "iproute2",
	} {
		sshtest.Provide(t, path, pkg) // the machines have what this one has when they begin
	}
	shared := t.TempDir()
	bin, model := buildtest.Program(t, buildtest.Southbound), filepath.Join(shared, "fleet")
	packages := t.TempDir()
	do(t, "sh", "-c", download, packages)
	do(t, "cp", "-r", ".", model)
	hosts, places, known := map[string]host{}, read(t, "main.cf"), ""
	for _, name := range []string{"web1", "web2", "db1"} {
		h := start(t, os.TempDir(), packages)
		hosts[name] = h
		places = replace(t, places, fmt.Sprintf("address=%q", name+".example.com"),
			fmt.Sprintf(`address="127.0.0.1", ssh_port=%d`, h.Port))
		known += fmt.Sprintf("[127.0.0.1]:%d %s\n", h.Port, h.Host.Public)
		write(t, filepath.Join(shared, name+".key"), h.User.Private)
	}
	places = replace(t, places, `"user": "root"`, fmt.Sprintf(
		`"user": "root", "known_hosts": %q, "key_file": f"%s/{self.name}.key"`,
		filepath.Join(shared, "known"), shared))
	write(t, filepath.Join(shared, "known"), known)
	write(t, filepath.Join(model, "main.cf"), places)

	run := func(argv ...string) (int, string) {
		cmd := exec.CommandContext(t.Context(), bin,
			append(argv, "--data", filepath.Join(shared, "data"))...)
		cmd.Env = append(os.Environ(), "SHOP_PASSWORD=correct horse")
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	southbound := func(want int, argv ...string) string {
		t.Helper()
		got, out := run(argv...)
		if got != want {
			t.Errorf("%v: exit code %d, want %d\n%s", argv, got, want, out)
			for name, h := range hosts {
				t.Logf("%s runs\n%s", name, h.run(t, "sh", "-c", processes))
			}
		}
		return out
	}
	// On a busy machine, logging in and uploading the program may take several runs.
	for code, out := run("apply", model); code != 0; code, out = run("apply", model) {
		if t.Log(out); code != 3 || !strings.Contains(out, "and goes on") {
			t.Fatalf("apply: exit code %d, want 0", code)
		}
	}
	for _, name := range []string{"web1", "web2"} {
		page := hosts[name].run(t, "curl", "-sS", "http://127.0.0.1/")
		config := hosts[name].run(t, "cat", "/etc/nginx/sites-enabled/default")
		if page != read(t, "files/index.html") || !strings.Contains(config, "# shop on "+name) {
			t.Errorf("%s shows %q, by %q", name, page, config)
		}
	}
	owner := hosts["db1"].run(t, "env", "PGPASSWORD=correct horse", "psql", "-h", "127.0.0.1", "-U",
		"shop", "-Atc",
		"select pg_get_userbyid(datdba) from pg_database where datname = current_database()",
		"shop")
	if strings.TrimSpace(owner) != "shop" {
		t.Errorf("the database belongs to %q", owner)
	}
	southbound(0, "plan", model, "--exit-code") // there is nothing to do
	hosts["web2"].run(t, "sh", "-c", "echo gone > /srv/shop/index.html; service nginx stop")
	if out := southbound(5, "plan", model, "--exit-code"); strings.Count(out,
		"[web2,") != 2 {
		t.Errorf("of drift a plan shows\n%s", out)
	}
	southbound(0, "repair")
	if page := hosts["web2"].run(t, "curl", "-sS", "http://127.0.0.1/"); page != read(t,
		"files/index.html") {
		t.Errorf("after a repair web2 shows %q", page)
	}
}

// replace puts text in place of what stands there just once.
func replace(t *testing.T, in, old, text string) string {
	t.Helper()
	if n := strings.Count(in, old); n != 1 {
		t.Fatalf("%q stands %d times in the model", old, n)
	}
	return strings.Replace(in, old, text, 1)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}
