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

	"southbound/handlers/internal/textfile"

	"southbound/handlers/internal/roottest"
	"southbound/localstack/server"
)

// realCron returns the programs of a real cron: crontab, and the one that runs jobs.
func realCron(t *testing.T) (crontab, cron string) {
	t.Helper()
	crontab, err := server.Program(t.Context(), "cron", "crontab")
	if err != nil {
		t.Fatal(err)
	}
	if cron, err = server.Program(t.Context(), "cron", "cron"); err != nil {
		t.Fatal(err)
	}
	return crontab, cron
}

// private returns the beginning of a command that sees a directory's spool, run and cron.d in the
// place of the machine's own.
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

// TestCronRunsIt has a real cron start jobs as they were written, one in a crontab and one in a
// file.
func TestCronRunsIt(t *testing.T) {
	crontab, cron := realCron(t)
	dir := t.TempDir()
	within := private(t, dir)
	h := newHandler(textfile.Editor{}, append(within[:len(within):len(within)], crontab)...)
	const odd = `it's 100% "of" $HOME`
	want := map[string]string{}
	for name, attrs := range map[string]map[string]any{
		"crontab": {"environment": map[string]any{"ODD": strings.ReplaceAll(odd, `"`, "")}},
		"file": {"environment": map[string]any{"ODD": "100%", "SHELL": "/bin/bash",
			"MAILTO": ""}, "file": filepath.Join(dir, "cron.d", "job")},
	} {
		out := filepath.Join(dir, name+".out")
		attrs["name"], attrs["user"], attrs["schedule"], attrs["input"] = name, "root", "@reboot",
			"first\nsecond 5%\n"
		attrs["command"] = fmt.Sprintf(
			`{ cat; echo "$ODD 7%%"; } > '%[1]s.new' && mv '%[1]s.new' '%[1]s'`, out)
		env, _ := attrs["environment"].(map[string]any)
		want[out] = "first\nsecond 5%\n" + fmt.Sprint(env["ODD"]) + " 7%\n"
		must(t, h, resourceOf(t, attrs), "created")
	}
	if roottest.Limited() {
		// a cron gives up its groups before it runs anything, which a user name space may forbid
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	daemon := exec.CommandContext(ctx, within[0], append(within[1:len(within):len(within)], cron,
		"-f")...)
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
