package cron

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/handlers/fs"
	"southbound/handlers/internal/roottest"
)

// realCron returns the directory of a cron of Debian, unpacked and not installed: nothing of this machine's own crontabs is touched.
func realCron(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "southbound-test", "cron")
	if _, err := os.Stat(filepath.Join(dir, "usr/bin/crontab")); err == nil {
		return dir
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	made, err := os.MkdirTemp(parent, "cron-")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "(apt-get download -q cron || { apt-get update -q && apt-get download -q cron; }) && dpkg -x cron_*.deb .")
	cmd.Dir = made
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("unpack cron: %v\n%s", err, out)
	}
	if err := os.Rename(made, dir); err != nil && !os.IsExist(err) {
		if _, err := os.Stat(filepath.Join(dir, "usr/bin/crontab")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// private returns the beginning of a command that sees a directory's spool, run and cron.d in the place of the machine's own.
func private(t *testing.T, dir string) []string {
	t.Helper()
	for _, name := range []string{"spool/cron/crontabs", "run", "cron.d"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := `mount --bind "$0/spool" /var/spool && mount --bind "$0/run" /run && mkdir -p /etc/cron.d && mount --bind "$0/cron.d" /etc/cron.d && exec "$@"`
	return []string{"unshare", "--mount", "sh", "-c", script, dir}
}

// TestCronRunsIt has a real cron start jobs as they were written, one in a crontab and one in a file.
func TestCronRunsIt(t *testing.T) {
	cron, dir := realCron(t), t.TempDir()
	within := private(t, dir)
	h := newHandler(fs.Editor{}, append(within[:len(within):len(within)], filepath.Join(cron, "usr/bin/crontab"))...)
	const odd = `it's 100% "of" $HOME`
	want := map[string]string{}
	for name, attrs := range map[string]map[string]any{
		"crontab": {"environment": map[string]any{"ODD": strings.ReplaceAll(odd, `"`, "")}},
		"file":    {"environment": map[string]any{"ODD": "100%", "SHELL": "/bin/bash", "MAILTO": ""}, "file": filepath.Join(dir, "cron.d", "job")},
	} {
		out := filepath.Join(dir, name+".out")
		attrs["name"], attrs["user"], attrs["schedule"], attrs["input"] = name, "root", "@reboot", "first\nsecond 5%\n"
		attrs["command"] = fmt.Sprintf(`{ cat; echo "$ODD 7%%"; } > '%[1]s.new' && mv '%[1]s.new' '%[1]s'`, out)
		env, _ := attrs["environment"].(map[string]any)
		want[out] = "first\nsecond 5%\n" + fmt.Sprint(env["ODD"]) + " 7%\n"
		must(t, h, resourceOf(t, attrs), "created")
	}
	if roottest.Limited() {
		return // a cron gives up its groups before it runs anything, which a user name space may forbid
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	daemon := exec.CommandContext(ctx, within[0], append(within[1:len(within):len(within)], filepath.Join(cron, "usr/sbin/cron"), "-f")...)
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = daemon.Wait() }()
	for path, text := range want {
		for ctx.Err() == nil {
			if _, err := os.Stat(path); err == nil {
				break
			}
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s: %q, %v; expected %q", path, got, err, text)
		}
	}
}
