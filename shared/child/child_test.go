package child_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/shared/child"
)

// deaf is what a script does that ignores each request to end: it holds a FIFO open and says that
// it runs.
const deaf = `trap "" TERM HUP INT; exec 3>"$FIFO"; echo x >&3; while :; do read y < "$NEVER"; done`

// nests are ways in which a program starts others, all of which end with it.
var nests = map[string]string{
	"the program itself":       deaf,
	"a child":                  `sh -c "$DEAF" & wait`,
	"an orphan of its group":   `sh -c 'sh -c "$DEAF" & '; while :; do read y < "$NEVER"; done`,
	"a group of its own":       `timeout 1000 sh -c "$DEAF"`,
	"a session of its own":     `setsid --wait sh -c "$DEAF"`,
	"further down":             `setsid --wait timeout 1000 sh -c 'setsid --wait sh -c "$DEAF" & wait'`,
	"stopped":                  `sh -c "$DEAF" & read y < "$STARTED"; kill -STOP $!; echo > "$SEEN"; wait`,
	"below an orphan":          `sh -c 'sh -c "setsid --wait sh -c \"\$DEAF\"" & '; read y < "$NEVER"`,
	"a leader that has ended":  `sh -c "$DEAF" & read y < "$STARTED"; echo > "$SEEN"; exec sleep 1000`,
	"many, one after another":  `while :; do sh -c 'trap "" TERM; sleep 1000' & i=$((i+1)); [ $i -lt 20 ] || break; done; sh -c "$DEAF"`,
	"a program that goes home": `cd /; sh -c "$DEAF"`,
}

// running is a program whose processes hold a FIFO open.
type running struct {
	cmd  *exec.Cmd
	held *os.File
}

// prepare makes a program of a script. Its held end sees the end of the file when no process that
// runs the deaf script is left.
func prepare(t *testing.T, script string) *running {
	t.Helper()
	dir := t.TempDir()
	env := []string{"DEAF=" + deaf, "PATH=" + os.Getenv("PATH")}
	for _, name := range []string{"FIFO", "NEVER", "STARTED", "SEEN"} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+path)
	}
	held, err := os.OpenFile(filepath.Join(dir, "FIFO"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	cmd := exec.Command("sh", "-c", script)
	cmd.Env, cmd.Dir = env, dir
	return &running{cmd, held}
}

// started waits until the deaf script runs.
func (r *running) started(t *testing.T) {
	t.Helper()
	writer, err := os.OpenFile(r.held.Name(), os.O_WRONLY, 0) // reading it waits as long as it is open
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r.held, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	dir := filepath.Dir(r.held.Name())
	if strings.Contains(r.cmd.Args[2], "$STARTED") {
		if err := os.WriteFile(filepath.Join(dir, "STARTED"), []byte("\n"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := os.ReadFile(filepath.Join(dir, "SEEN")); err != nil {
			t.Fatal(err)
		}
	}
}

// ended fails unless nothing of it is left at this moment.
func (r *running) ended(t *testing.T) {
	t.Helper()
	raw, err := r.held.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := syscall.Read(int(fd), make([]byte, 1)); n != 0 || err != nil {
			t.Errorf("something of it still runs: %d, %v", n, err)
		}
	})
}

// TestNothingIsLeft ends programs that start others in all ways, by their context, and by the end
// of their table. All of it has ended by the time at which that returns.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, script := range nests {
		for _, polite := range []time.Duration{0, 20 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s, after %s", name, polite), func(t *testing.T) {
				t.Parallel()
				r := prepare(t, script)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- child.Run(ctx, r.cmd, polite) }()
				r.started(t)
				cancel()
				err := <-done
				r.ended(t)
				var ended *child.Ended
				if !errors.As(err, &ended) || !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		t.Run(name+", with the table", func(t *testing.T) {
			t.Parallel()
			r, table := prepare(t, script), &child.Table{}
			ctx := child.With(t.Context(), table)
			done := make(chan error)
			go func() { done <- child.Run(ctx, r.cmd, 0) }()
			r.started(t)
			if left := table.End(); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
			r.ended(t)
			if err := <-done; err == nil {
				t.Error("a program that was killed has no error")
			}
			if err := child.Run(ctx, exec.Command("true"), 0); !errors.Is(err, child.ErrOver) {
				t.Errorf("a program starts after the end: %v", err)
			}
		})
	}
}

// TestSparedOutlives spares what has a session of its own, and what that has started.
func TestSparedOutlives(t *testing.T) {
	t.Parallel()
	r := prepare(t, `setsid --wait sh -c 'timeout 1000 sh -c "$DEAF"'; read y < "$NEVER"`)
	g, err := (&child.Table{}).Start(r.cmd, child.Options{
		Spared: func(leader int, p child.Process) bool {
			return p.Group == p.PID && p.PID != leader
		}})
	if err != nil {
		t.Fatal(err)
	}
	r.started(t)
	var kept []child.Process
	for _, p := range child.Family(g.PID(), child.Processes()) {
		if p.Group != g.PID() {
			kept = append(kept, p)
		}
	}
	if left := g.Kill(); len(left) > 0 || len(kept) < 2 {
		t.Errorf("%v are left, of %v", left, kept)
	}
	for _, p := range kept {
		if now, found := child.Find(p.PID); !found || now.Ended() || !now.Is(p) {
			t.Errorf("%+v has ended", p)
		}
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	if err := g.Wait(); err == nil {
		t.Error("it has ended well")
	}
}

// TestTakesItsTurn pins that a program that ends when it is asked to has its time for that.
func TestTakesItsTurn(t *testing.T) {
	t.Parallel()
	r := prepare(t, `trap 'echo tidy > tidy; exit 0' TERM; exec 3>"$FIFO"; echo x >&3; `+
		`while :; do read y < "$NEVER"; done`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- child.Run(ctx, r.cmd, time.Hour) }()
	r.started(t)
	cancel()
	if err := <-done; err == nil {
		t.Error("it ended as if nobody had asked it to")
	}
	if _, err := os.Stat(filepath.Join(r.cmd.Dir, "tidy")); err != nil {
		t.Error(err)
	}
}

// TestOutput pins that all that a program writes is read before Run returns, also if something that
// it leaves behind holds its output open, and that it has its own result when its context has ended
// as well.
func TestOutput(t *testing.T) {
	t.Parallel()
	const many = 60000 // less than a pipe holds
	for name, c := range map[string]struct {
		script string
		code   int
		want   int
	}{
		"short":          {"echo x", 0, 2},
		"more than fits": {"head -c 1000000 /dev/zero", 0, 1000000},
		"it fails":       {"echo x; exit 3", 3, 2},
		"a daemon holds it": {fmt.Sprintf(
			"setsid sh -c 'exec sleep 60' & head -c %d /dev/zero; exit 4", many), 4, many},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var both, out bytes.Buffer
			cmd := exec.Command("sh", "-c", c.script)
			cmd.Stdout, cmd.Stderr = &both, &both
			err := child.Run(t.Context(), cmd, 0)
			apart := exec.Command("sh", "-c", c.script)
			apart.Stdout, apart.Stderr, apart.Stdin = &out, io.Discard, strings.NewReader("input")
			again := child.Run(t.Context(), apart, 0)
			if both.Len() != c.want || out.Len() != c.want {
				t.Errorf("%d and %d bytes, expected %d", both.Len(), out.Len(), c.want)
			}
			for _, err := range []error{err, again} {
				var exit *exec.ExitError
				if code := 0; (c.code == 0) != (err == nil) || errors.As(err, &exit) &&
					exit.ExitCode() != c.code {
					t.Errorf("%v, expected the code %d, not %d", err, c.code, code)
				}
			}
		})
	}
	if err := child.Run(t.Context(), exec.Command("/no/such/program"), 0); !errors.Is(err,
		os.ErrNotExist) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := child.Run(over, exec.Command("true"), 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
