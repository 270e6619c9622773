package process

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/tf/wire"
)

const (
	opStart = "start the provider"
	// maxDir bounds the path of a process's folder, so that the paths of sockets in it fit into the
	// 107 bytes that the system allows.
	maxDir = 85
	// busyTries and busyPause bound the time in which another process may have the program open for
	// writing.
	busyTries = 50
	busyPause = 100 * time.Millisecond
)

// start starts the process and prepares it for calls.
func (q *process) start() {
	err := q.launch()
	if err != nil && q.group == nil {
		q.err = err
		close(q.ready)
		q.forget()
		return
	}
	if err == nil && q.target.Start != nil {
		err = q.target.Start(q.starting, q.client)
		if errors.Is(err, wire.ErrLost) {
			err = q.crashed(err)
		}
	}
	if err != nil {
		q.group.Kill()
	}
	q.limit = max(q.pool.limits.Memory, 2*memory(q.group.PID()))
	q.err = q.target.cleaned(err)
	close(q.ready)
}

// launch starts the program, reads its handshake and connects to it.
func (q *process) launch() error {
	if err := q.makeDir(); err != nil {
		return err
	}
	from, to := io.Pipe()
	for try := 1; ; try++ {
		cmd := exec.Command(q.target.Program)
		cmd.Env = environment(os.Environ(), q.target.Environment, q.dir)
		cmd.Dir, cmd.Stdout, cmd.Stderr = q.dir, to, &q.output
		group, err := q.pool.children.Start(cmd, child.Options{Last: syscall.SIGKILL})
		if err == nil {
			q.group = group
			break
		}
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			return startFault(q.target.Program, err)
		}
		if err := q.pause(busyPause); err != nil {
			return err
		}
	}
	go q.watch(func() { _ = to.Close() })
	h, err := q.handshake(from)
	if err != nil {
		return err
	}
	if q.client, err = wire.Dial(h); err != nil {
		return err
	}
	go q.client.Output(&q.output)
	return nil
}

// pause waits d, or until the start is canceled.
func (q *process) pause(d time.Duration) error {
	over := make(chan struct{})
	defer q.pool.after(d, func() { close(over) })()
	select {
	case <-over:
		return nil
	case <-q.starting.Done():
		return fault.Wrap(fault.Canceled, opStart, q.starting.Err())
	}
}

// handshake reads the handshake, and then discards the output of the process.
func (q *process) handshake(output *io.PipeReader) (wire.Handshake, error) {
	type result struct {
		wire.Handshake
		error
	}
	read := make(chan result, 1)
	go func() {
		h, err := wire.ReadHandshake(output)
		read <- result{h, err}
		_, _ = io.Copy(io.Discard, output)
	}()
	late := make(chan struct{})
	limit := q.pool.limits.Handshake
	defer q.pool.after(limit, func() { close(late) })()
	select {
	case r := <-read:
		if !errors.Is(r.error, io.EOF) {
			return r.Handshake, r.error
		}
		q.group.Kill()
		<-q.gone
		return wire.Handshake{}, fault.New(fault.Unavailable, opStart,
			"%s ended before it printed a handshake%s", q.target.Program, q.reason()).
			WithHint("correct the cause in the output; without output, check that the program is a " +
				"Terraform provider")
	case <-late:
		q.group.Kill()
		<-q.gone
		return wire.Handshake{}, fault.New(fault.Timeout, opStart,
			"%s printed no handshake within %s%s", q.target.Program, limit, q.reason()).
			WithHint("check that the program is a Terraform provider")
	case <-q.starting.Done():
		return wire.Handshake{}, fault.Wrap(fault.Canceled, opStart, q.starting.Err())
	}
}

func startFault(program string, err error) error {
	f := fault.New(fault.Unsupported, opStart, "%s cannot be executed", program)
	f.Err = err
	switch {
	case errors.Is(err, child.ErrOver):
		return fault.Wrap(fault.Canceled, opStart, err)
	case errors.Is(err, fs.ErrNotExist):
		f.Kind = fault.NotFound
		return f.WithHint("install the provider again")
	case errors.Is(err, syscall.ENOEXEC):
		return f.WithHint("install the provider for %s_%s", runtime.GOOS, runtime.GOARCH)
	case errors.Is(err, syscall.ETXTBSY):
		f.Kind = fault.Busy
		return f.WithHint("wait until the installation of the provider has ended, and run the " +
			"command again")
	case errors.Is(err, fs.ErrPermission):
		f.Kind = fault.Denied
		return f.WithHint("make the program executable: chmod +x")
	}
	return f.WithHint("install the provider again")
}

// makeDir makes the folder of the process. Only this user can read it, so only this user can connect
// to the sockets in it.
func (q *process) makeDir() error {
	base := q.pool.dir
	if base == "" {
		base = os.TempDir()
	}
	dir, err := os.MkdirTemp(base, "tf")
	if err == nil && len(dir) > maxDir {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "tf")
	}
	if err != nil {
		return (&fault.Error{Kind: fault.Unavailable, Op: opStart,
			Message: "no folder for its socket", Err: err}).
			WithHint("set TMPDIR to a folder with a short path")
	}
	q.dir = dir
	return os.Mkdir(filepath.Join(dir, "home"), 0o700)
}

// passed are the variables of this process that providers get: paths, proxies and certificates.
func passed() []string {
	return []string{"PATH", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy",
		"https_proxy", "no_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"}
}

// environment returns the variables of a process: few of own, then those of the agent. dir becomes
// the folder for temporary files, which the agent cannot change.
func environment(own, agent []string, dir string) []string {
	var out []string
	for _, v := range own {
		if name, _, _ := strings.Cut(v, "="); slices.Contains(passed(), name) {
			out = append(out, v)
		}
	}
	// Without TF_LOG_SDK=off, providers write a line for each step of each call.
	out = append(out, "HOME="+filepath.Join(dir, "home"), "TF_LOG_SDK=off")
	for _, v := range agent {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "PLUGIN_") {
			out = append(out, v)
		}
	}
	return append(append(out, "TMPDIR="+dir), wire.Environment()...)
}
