package command_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/internal/secretsource/command"
)

func sh(script string) []string { return []string{"sh", "-c", script} }

// TestRead pins which output is a secret, and which is an error that says so.
func TestRead(t *testing.T) {
	t.Setenv("SOUTHBOUND_TOKEN", "of-the-api")
	t.Setenv("VAULT_OF_TEST", "inherited")
	long := strings.Repeat("x", command.MaxOutput)
	for _, test := range []struct {
		why  string
		argv []string
		want string
		kind fault.Kind
		says string
	}{
		{"bytes as they are", sh(`printf 'a b\n\nc'`), "a b\n\nc", "", ""},
		{"one line end is no part", sh(`echo secret; echo`), "secret\n", "", ""},
		{"nor is that of Windows", sh(`printf 'secret\r\n'`), "secret", "", ""},
		{"no shell", []string{"printf", "%s", "$HOME"}, "$HOME", "", ""},
		{"the environment, without that of this program",
			sh(`printf "$VAULT_OF_TEST$SOUTHBOUND_TOKEN"`), "inherited", "", ""},
		{"no input", sh(`cat; printf read`), "read", "", ""},
		{"as much as may be", sh(`head -c ` + strconv.Itoa(len(long)) + ` /dev/zero | tr '\0' x`),
			long, "", ""},
		{"a byte more", sh(`head -c ` + strconv.Itoa(len(long)+1) + ` /dev/zero`), "",
			fault.Invalid, "prints more than 65536 bytes"},
		{"ten megabytes, and more when they are read", sh(`while :; do head -c 10000000 /dev/zero; done`),
			"", fault.Invalid, "prints more than 65536 bytes"},
		{"nothing", sh(`exit 0`), "", fault.Invalid, "printed nothing"},
		{"nothing but a line end", sh(`echo; echo why >&2`), "", fault.Invalid,
			"printed nothing; it printed to standard error: why"},
		{"failed", sh(`echo not signed in >&2; exit 3`), "", fault.Unavailable,
			"failed: exit status 3; it printed to standard error: not signed in"},
		{"complaints have no secret", sh(`echo s3cr3t; echo the value is s3cr3t >&2; exit 1`), "",
			fault.Unavailable, "the value is <redacted>"},
		{"complaints are cut", sh(`seq 1 9999 >&2; exit 1`), "", fault.Unavailable,
			"standard error: ... "},
		{"no program", []string{"no-such-program-here"}, "", fault.NotFound,
			"no-such-program-here cannot be started: executable file not found in $PATH"},
		{"no program at a path", []string{"/no/such"}, "", fault.NotFound,
			"/no/such cannot be started: no such file or directory"},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			got, err := command.Reader{}.Read(t.Context(), test.argv)
			if got != test.want || fault.KindOf(err) != test.kind {
				t.Fatalf("%.80q, %v; want %.80q, %s", got, err, test.want, test.kind)
			}
			if err != nil && (!strings.Contains(err.Error(), test.says) ||
				strings.Contains(err.Error(), "s3cr3t") || len(err.Error()) > 1000 ||
				fault.HintOf(err) == "") {
				t.Errorf("the error is %q (%s), want %q", err, fault.HintOf(err), test.says)
			}
		})
	}
}

// TestNothingOutlives pins that no process of a command goes on, wherever it went, and that each is
// named.
func TestNothingOutlives(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		why, script, says string
		kind              fault.Kind
	}{
		{"hangs", `echo $$ > %; echo secret; sleep 1000`,
			"sh did not end within 1s, and was killed", fault.Timeout},
		{"hangs and takes no signal", `trap '' TERM INT; echo $$ > %; while :; do sleep 1; done`,
			"sh did not end within 1s, and was killed", fault.Timeout},
		{"hangs in another group", `setsid sh -c 'echo $$ > %; sleep 1000'`,
			"sh did not end within 1s, and was killed", fault.Timeout},
		{"stays in the group", `sleep 1000 & echo $! > %; echo secret`,
			"left processes running, which were killed: sleep (", fault.Invalid},
		{"stays as a daemon", `setsid sh -c 'sleep 1000 > /dev/null 2>&1 < /dev/null & echo $! > %'; echo secret`,
			"left processes running, which were killed: sleep (", fault.Invalid},
		{"is ended by its output", `sleep 1000 & echo $! > %; yes`, "prints more than", fault.Invalid},
	} {
		t.Run(test.why, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "pid")
			limit := time.Minute
			if test.kind == fault.Timeout {
				limit = time.Second
			}
			var table child.Table
			_, err := command.Reader{Limit: limit}.Read(child.With(t.Context(), &table),
				sh(strings.ReplaceAll(test.script, "%", file)))
			if fault.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.says) ||
				fault.HintOf(err) == "" {
				t.Errorf("the error is %v (%s), want %s, %q", err, fault.HintOf(err), test.kind, test.says)
			}
			b, err := os.ReadFile(file)
			pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil || pid == 0 {
				return // it was ended before it started the process
			}
			if p, there := child.Find(pid); there && !p.Ended() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Errorf("process %d goes on", pid)
			}
			if left := table.End(); len(left) > 0 {
				t.Errorf("the table has %v", left)
			}
		})
	}
}

// TestCanceled pins that a command ends with its caller.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	go func() {
		for {
			if b, _ := os.ReadFile(file); len(b) > 0 {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	_, err := command.Reader{Limit: time.Hour}.Read(ctx, sh("echo $$ > "+file+"; sleep 1000"))
	if fault.KindOf(err) != fault.Canceled {
		t.Errorf("the error is %v", err)
	}
}
