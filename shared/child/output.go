package child

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/patience"
)

const (
	// afterExit is how long output is still read after a program has ended, if a process that it
	// started holds the output open.
	afterExit = time.Second
	// maxRest bounds the remaining output that is then read from a pipe. It exceeds the capacity of
	// a pipe.
	maxRest = 1 << 21
)

// outputs holds the pipes for the output of a program. All output of the program itself is read,
// regardless of the time. Only output of processes that it leaves running is cut off.
type outputs struct {
	pipes  []*pipe
	theirs []*os.File // the program's ends, to be closed once the program has started
}

// pipe copies its content to a writer.
type pipe struct {
	from *os.File
	to   io.Writer
	done chan struct{}
}

// take replaces the writers of a program with pipes.
func (o *outputs) take(cmd *exec.Cmd) error {
	cmd.WaitDelay = afterExit // bounds the wait for its input
	same := cmd.Stdout != nil && sameWriter(cmd.Stdout, cmd.Stderr)
	for _, w := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		if _, file := (*w).(*os.File); *w == nil || file {
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			o.begin()
			o.end()
			return err
		}
		o.pipes = append(o.pipes, &pipe{from, *w, make(chan struct{})})
		o.theirs = append(o.theirs, to)
		*w = to
		if same {
			cmd.Stderr = to
			break
		}
	}
	return nil
}

// sameWriter reports whether two writers are equal. It returns false if they cannot be compared.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// begin starts to copy the output. The program has its ends of the pipes by then.
func (o *outputs) begin() {
	for _, f := range o.theirs {
		_ = f.Close()
	}
	for _, p := range o.pipes {
		go func() {
			defer close(p.done)
			_, _ = io.Copy(p.to, p.from)
		}()
	}
}

// end returns when all output of the program has been read.
func (o *outputs) end() {
	over, stop := patience.After(afterExit)
	defer stop()
	for _, p := range o.pipes {
		select {
		case <-p.done:
		case <-over:
			_ = p.from.SetReadDeadline(time.Unix(1, 0))
			<-p.done
			p.rest()
		}
		_ = p.from.Close()
	}
}

// rest reads the remaining content of the pipe.
func (p *pipe) rest() {
	_ = p.from.SetReadDeadline(time.Time{})
	raw, err := p.from.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Read(func(fd uintptr) bool {
		b := make([]byte, 1<<16)
		for all := 0; all < maxRest; {
			n, err := readNow(fd, b)
			if n <= 0 || err != nil {
				break
			}
			_, _ = p.to.Write(b[:n])
			all += n
		}
		return true
	})
}

// readNow reads without blocking, and returns an error if there is no content.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
