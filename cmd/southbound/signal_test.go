package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSignals pins that the program ends when it is asked to, whatever hangs: what runs gets a
// grace period, then it is named and ended; a second signal ends the program at once. Either way it
// stays scheduled, and no command outlives the program.
func TestSignals(t *testing.T) {
	t.Parallel()
	// Where nohup has SIGHUP ignored, so do programs that are started: not those of who is
	// notified.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	bin := build(t)
	const term, hup = syscall.SIGTERM, syscall.SIGHUP
	const named = "not finished in time, ended, and still scheduled: exec::Run[a,name=hang]"
	for _, c := range []struct {
		why     string
		grace   string
		timeout string
		signals []os.Signal
		code    int
		says    string
	}{
		{"a grace period", "1ms", "", []os.Signal{term}, 130, named},
		{"also after Ctrl-C", "1ms", "", []os.Signal{os.Interrupt}, 130, named},
		{"also when a terminal is closed", "1ms", "", []os.Signal{hup, hup}, 130, named},
		{"twice", "1h", "", []os.Signal{term, term}, 130, "stopped immediately"},
		{"Ctrl-C twice", "1h", "", []os.Signal{os.Interrupt, os.Interrupt}, 130, "stopped immediately"},
		{"one after the other", "1h", "", []os.Signal{os.Interrupt, term}, 130, "stopped immediately"},
		{"the terminal, then at once", "1h", "", []os.Signal{hup, term}, 130, "stopped immediately"},
		{"kill -9", "1h", "", []os.Signal{os.Kill}, -1, ""},
		// in which it starts, however busy the machine is
		{"the time to wait", "1h", "20s", nil, 4, named},
	} {
		dir := t.TempDir()
		data, model := filepath.Join(dir, "data"), filepath.Join(dir, "site.yaml")
		fifo, never := filepath.Join(dir, "fifo"), filepath.Join(dir, "never")
		held := filepath.Join(dir, "held")
		if err := errors.Join(syscall.Mkfifo(fifo, 0o600), syscall.Mkfifo(never, 0o600),
			syscall.Mkfifo(held, 0o600)); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(
			"southbound: 1\nresources:\n  - type: exec::Run\n    agent: a\n    attributes:\n"+
				"      name: hang\n"+
				"      command: [sh, -c, \"trap '' TERM INT HUP; exec 3> %s; echo $$ > %s; while :; "+
				"do read x < %s; done\"]\n", held, fifo, never)
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"apply", model, "--data", data}
		if c.timeout != "" {
			args = append(args, "--timeout", c.timeout)
		}
		cmd := exec.Command(bin, args...)
		cmd.Env = append(os.Environ(), "SOUTHBOUND_GRACE="+c.grace)
		stderr := &said{}
		cmd.Stderr, cmd.Stdout = stderr, stderr
		pipe, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		alive, err := os.OpenFile(held, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- cmd.Wait()
			_ = pipe.Close() // nobody will write any more
		}()
		started, err := bufio.NewReader(pipe).ReadString('\n') // waits until it runs
		if err != nil {
			t.Fatalf("%s: it ended before the command ran: %v\n%s", c.why, err, stderr.String())
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(started))
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		for i, s := range c.signals {
			if i > 0 {
				stderr.wait("stopping when running calls have finished")
			}
			_ = cmd.Process.Signal(s)
		}
		var exit *exec.ExitError
		if err := until(ended, cmd.Process, c.signals); !errors.As(err, &exit) ||
			exit.ExitCode() != c.code {
			t.Errorf("%s: %v, want exit code %d\n%s", c.why, err, c.code, stderr.String())
		}
		if !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: it says\n%s", c.why, stderr.String())
		}
		if c.code < 0 { // the system ends the command when it has ended the program
			_ = alive.SetReadDeadline(time.Now().Add(time.Minute))
			if n, err := alive.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("%s: the command goes on: %d, %v", c.why, n, err)
			}
		} else {
			outlives(t, c.why, alive)
		}
		_ = alive.Close()
		out, err := exec.Command(bin, "resources", "--json", "--data", data).CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"compliance":"has_update"`) {
			t.Errorf("%s: %v: %s", c.why, err, out)
		}
	}
}

// until waits for the end of a program. Where it takes two signals that are equal, the second is
// sent again and again: within a second of the first it does not count.
func until(ended <-chan error, p *os.Process, signals []os.Signal) error {
	if len(signals) < 2 || signals[0] != signals[1] || signals[1] == syscall.SIGHUP {
		return <-ended
	}
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-again.C:
			_ = p.Signal(signals[1])
		}
	}
}

// outlives fails if a process has a pipe open for writing at this moment. One that was killed may
// have its number for a while, but no files.
func outlives(t *testing.T, why string, alive *os.File) {
	t.Helper()
	raw, err := alive.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := syscall.Read(int(fd), make([]byte, 1)); n != 0 || err != nil {
			t.Errorf("%s: the command outlives the program: %d, %v", why, n, err)
		}
	})
}

// said is what a program has written.
type said struct {
	mu    sync.Mutex
	text  bytes.Buffer
	waits map[string]chan struct{}
}

// Write implements io.Writer.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	for what, ch := range s.waits {
		if strings.Contains(s.text.String(), what) {
			close(ch)
			delete(s.waits, what)
		}
	}
	return len(b), nil
}

// wait returns once a text was written.
func (s *said) wait(what string) {
	s.mu.Lock()
	if strings.Contains(s.text.String(), what) {
		s.mu.Unlock()
		return
	}
	if s.waits == nil {
		s.waits = map[string]chan struct{}{}
	}
	ch := make(chan struct{})
	s.waits[what] = ch
	s.mu.Unlock()
	<-ch
}

// String returns all of it.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
