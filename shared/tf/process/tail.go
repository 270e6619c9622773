package process

import (
	"sync"
)

// maxTail is the size of the output that is kept of a process.
const maxTail = 8 << 10

// tail keeps the end of an output. The zero tail is empty.
type tail struct {
	mu  sync.Mutex
	b   []byte
	cut bool
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[max(0, len(b)-maxTail):]...)
	if len(b) > maxTail {
		t.cut = true
	}
	if over := len(t.b) - maxTail; over > 0 {
		t.b, t.cut = append(t.b[:0], t.b[over:]...), true
	}
	return len(b), nil
}

// text returns the kept output. An ellipsis marks that it was cut, by which secrets that were cut
// are recognized.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "…" + string(t.b)
	}
	return string(t.b)
}
