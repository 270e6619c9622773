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
	// afterExit is how long output is read on when a program has ended and something that it left
	// running holds it open.
	afterExit = time.Second
	// maxRest bounds what is read then of what is there: more than a pipe holds.
	maxRest = 1 << 21
)

// outputs are the pipes for what a program writes. What it has written is read whatever the clock
// says; only output of those that it left running is cut off.
type outputs struct {
	pipes  []*pipe
	theirs []*os.File // to close once the program has them
}

// pipe brings to a writer what comes out of it.
type pipe struct {
	from *os.File
	to   io.Writer
	done chan struct{}
}

// take replaces the writers of a program by pipes.
func (o *outputs) take(cmd *exec.Cmd) error {
	cmd.WaitDelay = afterExit // for its input
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

// sameWriter reports whether two writers are one; false for those that cannot be compared.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() { _ = recover() }()
	return a == b
}

// begin reads what comes. The program has its ends by now.
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

// end returns when all was read that the program has written.
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

// rest reads what is in the pipe.
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

// readNow reads what is there, and returns an error where nothing is.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := unix.Read(int(fd), b)
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
