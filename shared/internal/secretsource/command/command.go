// Package command reads secrets that a program of this machine prints.
package command

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/redact"
)

const (
	// Limit is how long a program may run.
	Limit = 30 * time.Second
	// MaxOutput is how much a program may print, in bytes.
	MaxOutput = 64 << 10
	// maxShown is how much of the standard error of a program is in an error, in bytes.
	maxShown = 500
	// maxErrors is how much of the standard error is kept to find its end, in bytes.
	maxErrors = 16 << 10
	// endLimit is how long processes that a program has started may take to end after it.
	endLimit = time.Second

	op = "run the command of a secret"
)

// Reader runs programs. The zero Reader has the limit Limit.
type Reader struct {
	Limit time.Duration // 0: Limit
}

// Read runs a program and returns what it prints, without the line end at the end. The program has
// the environment of this process without the variables of Southbound, and no input. It runs in the
// table of the context (see child.Of). When Read returns, the program and all processes that it has
// started have ended.
//
// NotFound: the program does not exist. Timeout: it takes longer than the limit. Unavailable: it
// fails. Invalid: it prints nothing or too much, or leaves processes running. An error contains the
// end of the standard error of the program, without the secret.
func (r Reader) Read(ctx context.Context, argv []string) (string, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", missing(argv[0], err)
	}
	limit := cmp.Or(r.Limit, Limit)
	limited, stop := patience.WithTimeout(ctx, limit)
	defer stop()
	mark := marker + rand.Text()
	out := &output{most: MaxOutput, full: make(chan struct{})}
	complaints := &output{most: maxErrors}
	cmd := &exec.Cmd{Path: path, Args: argv, Stdout: out, Stderr: complaints,
		Env: append(environment(), mark)}
	group, err := child.Of(ctx).Start(cmd, child.Options{Last: syscall.SIGKILL})
	if err != nil {
		return "", missing(argv[0], err)
	}
	var cut error
	select {
	case <-group.Exited():
	case <-out.full:
		cut = fault.New(fault.Invalid, op, "%s prints more than %d bytes, and was ended", argv[0],
			MaxOutput).WithHint("name a command that prints only the secret")
	case <-limited.Done():
		if cut = ctx.Err(); cut == nil {
			cut = fault.New(fault.Timeout, op, "%s did not end within %v, and was killed", argv[0],
				limit).WithHint("run the command by hand without a terminal (< /dev/null): it must " +
				"not ask for input, and must end after it has printed the secret")
		}
	}
	left := endAll(group, mark, cut != nil)
	err = group.Wait()
	if cut != nil {
		return "", cut
	}
	return result(argv[0], out, complaints, left, err)
}

// result returns the secret that a program has printed.
func result(name string, out, complaints *output, left []string, failed error) (string, error) {
	value := strings.TrimSuffix(out.text(), "\n")
	value = strings.TrimSuffix(value, "\r")
	said := complaint(value, complaints)
	switch {
	case out.isFull():
		return "", fault.New(fault.Invalid, op, "%s prints more than %d bytes", name, MaxOutput).
			WithHint("name a command that prints only the secret")
	case failed != nil:
		return "", fault.New(fault.Unavailable, op, "%s failed: %v%s", name, failed, said).
			WithHint("run the command by hand, as the user and in the directory of this process")
	case len(left) > 0:
		return "", fault.New(fault.Invalid, op, "%s left processes running, which were killed: %s",
			name, strings.Join(left, ", ")).
			WithHint("name a command that starts no service; start the service before")
	case value == "":
		return "", fault.New(fault.Invalid, op, "%s printed nothing%s", name, said).
			WithHint("name a command that prints the secret to its standard output")
	}
	return value, nil
}

func missing(name string, err error) error {
	kind := fault.Unavailable
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		kind = fault.NotFound
	}
	return fault.New(kind, op, "%s cannot be started: %v", name, cause(err)).
		WithHint("install the program, or write its absolute path")
}

// cause returns the reason of an error without the name of the program, which the message has.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		return lookup.Err
	}
	return err
}

// environment returns the environment of this process without the variables of Southbound, which
// may hold the token of its API.
func environment() []string {
	var out []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SOUTHBOUND_") {
			out = append(out, v)
		}
	}
	return out
}

// complaint returns the end of the standard error of a program, without the secret.
func complaint(value string, from *output) string {
	var secrets redact.Set
	secrets.Add(value)
	text := strings.TrimSpace(secrets.Clean(from.text(), "<redacted>"))
	if text == "" {
		return ""
	}
	if len(text) > maxShown {
		text = "... " + strings.ToValidUTF8(text[len(text)-maxShown:], "")
	}
	return "; it printed to standard error: " + text
}

// output keeps the beginning of the output of a program, and discards the rest.
type output struct {
	most int
	full chan struct{} // closed when there is more than most; may be nil

	mu   sync.Mutex
	kept bytes.Buffer
	over bool
}

// Write implements io.Writer. It never fails, so the program is not stopped by a closed pipe.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	room := o.most - o.kept.Len()
	o.kept.Write(b[:min(room, len(b))])
	if len(b) > room && !o.over {
		o.over = true
		if o.full != nil {
			close(o.full)
		}
	}
	return len(b), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}

func (o *output) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

// marker begins the variable that marks the processes that a program has started, also those that
// have left its group and have lost their parents.
const marker = "SECRET_COMMAND_ID="

// endAll returns when the leader of a group and all processes that it has started have ended. It
// kills the leader if cut is set. It returns the names of processes that outlived the leader and
// were killed.
func endAll(group *child.Group, mark string, cut bool) (left []string) {
	if cut {
		group.Kill()
	} else {
		over, stop := patience.After(endLimit)
		for waiting := true; waiting && len(others(group, mark)) > 0; {
			select {
			case <-over:
				waiting = false
			case <-time.After(10 * time.Millisecond):
			}
		}
		stop()
	}
	const rounds = 50 // a process may start others before it is killed
	for range rounds {
		found := others(group, mark)
		if len(found) == 0 {
			break
		}
		for _, pid := range found {
			if name := nameOf(pid); !cut && !slices.Contains(left, name) {
				left = append(left, name)
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		group.Kill()
		time.Sleep(5 * time.Millisecond)
	}
	return left
}

// others returns the processes that a program has started and that have not ended.
func others(group *child.Group, mark string) []int {
	all := child.Processes()
	ours := map[int]bool{}
	for _, p := range child.Family(group.PID(), all) {
		ours[p.PID] = true
	}
	var out []int
	for _, p := range all {
		if p.PID != group.PID() && !p.Ended() && (ours[p.PID] || marked(p.PID, mark)) {
			out = append(out, p.PID)
		}
	}
	return out
}

// marked reports whether the environment of a process contains the mark.
func marked(pid int, mark string) bool {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(b, []byte(mark))
}

func nameOf(pid int) string {
	b, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return cmp.Or(strings.TrimSpace(string(b)), "process") + " (" + strconv.Itoa(pid) + ")"
}
