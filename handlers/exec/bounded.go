package exec

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	keepHead = 32 << 10 // bytes kept of the beginning of an output
	keepTail = 32 << 10 // and of its end
	pieceMax = 12 << 10 // bytes of one piece
	maxLast  = 400      // bytes of the line that an error may end with
)

// bounded keeps the beginning and the end of the written text.
type bounded struct {
	head, tail []byte
	dropped    int // bytes between them
}

// Write implements io.Writer; it never fails.
func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := keepHead - len(b.head); room > 0 {
		part := p[:min(room, len(p))]
		b.head = append(b.head, part...)
		p = p[len(part):]
	}
	b.tail = append(b.tail, p...)
	// Cut only occasionally, so that many small writes do not move the tail each time.
	if len(b.tail) > 2*keepTail {
		b.cut()
	}
	return n, nil
}

func (b *bounded) cut() {
	if over := len(b.tail) - keepTail; over > 0 {
		b.dropped += over
		b.tail = append(b.tail[:0], b.tail[over:]...)
	}
}

// pieces returns the kept text as valid UTF-8, in pieces of whole lines. Lines that would be cut
// are omitted: a part of a secret could no longer be recognized as secret.
func (b *bounded) pieces() []string {
	b.cut()
	head, tail := b.head, b.tail
	var mark string
	if b.dropped > 0 {
		h := bytes.LastIndexByte(head, '\n') + 1
		t := bytes.IndexByte(tail, '\n') + 1
		if t == 0 {
			t = len(tail)
		}
		mark = fmt.Sprintf("… %d bytes left out …\n", b.dropped+len(head)-h+t)
		head, tail = head[:h], tail[t:]
	}
	all := strings.ToValidUTF8(string(head)+mark+string(tail), "?")
	var out []string
	for all = strings.TrimRight(all, "\n"); all != ""; {
		n := len(all)
		if n > pieceMax {
			n = wholeLines(all)
		}
		out = append(out, strings.TrimRight(all[:n], "\n"))
		all = all[n:]
	}
	return out
}

// wholeLines returns the length of the lines at the start of s that form a piece, at least one
// line.
func wholeLines(s string) int {
	if n := strings.LastIndexByte(s[:pieceMax], '\n'); n >= 0 {
		return n + 1
	}
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n + 1
	}
	return len(s)
}

// lastLine returns ": " and the last line of an output, "" if it is too long for an error.
func lastLine(output string) string {
	last := output[strings.LastIndexByte(output, '\n')+1:]
	if last = strings.TrimSpace(last); last == "" || len(last) > maxLast {
		return ""
	}
	return ": " + last
}
