package python

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// eagerFor is how long a reader looks again and again before it sleeps.
const eagerFor = 50 * time.Microsecond

// maxPatience is how many reads in a row sleep at once, because looking was in vain before.
const maxPatience = 255

// eager reads a pipe, and looks for a while whether something has come before it sleeps. Two
// processes that answer each other within microseconds would wake each other for each answer, each
// on a processor that has just gone to sleep: on an idle machine that takes several times as long
// as what they do. Where looking is in vain, since answers take longer or processors are wanted by
// others, it is given up for more and more reads.
type eager struct {
	conn     syscall.RawConn
	pause    int // reads that still sleep at once
	patience int // reads that sleep at once after the last time that it was in vain
}

// newEager returns a reader of a file, which is to be in non-blocking mode.
func newEager(f *os.File) (io.Reader, error) {
	if runtime.GOMAXPROCS(0) == 1 {
		return f, nil // whoever is to answer needs this processor
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &eager{conn: conn}, nil
}

// Read implements io.Reader.
func (r *eager) Read(b []byte) (n int, err error) {
	var until time.Time // looking goes on; zero: it has not begun
	// What waits is the function of the file, which knows its deadline.
	waited := r.conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), b)
			switch {
			case errors.Is(err, syscall.EINTR):
				continue
			case !errors.Is(err, syscall.EAGAIN):
				return true
			case r.pause > 0:
				return false
			case until.IsZero():
				until = time.Now().Add(eagerFor)
			case time.Now().After(until):
				r.patience = min(2*r.patience+1, maxPatience)
				r.pause = r.patience + 1 // this read is one of them
				return false
			}
		}
	})
	if r.pause > 0 {
		r.pause--
	} else if !until.IsZero() {
		r.patience = 0
	}
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n <= 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}
