package remote

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// The bounds of how often an end shows that it lives.
const (
	shortestBeat = 50 * time.Millisecond
	longestBeat  = 10 * time.Minute
	defaultBeat  = 15 * time.Second
)

// Pulse reads from the other end and knows when something was last received: each byte counts, so a
// slow line is not a dead one.
type Pulse struct {
	r     io.Reader
	last  atomic.Int64 // since began
	every atomic.Int64
	began time.Time
	set   atomic.Bool
}

// NewPulse returns a Pulse that reads from r. every is how often each end shows that it lives, 0:
// 15 s.
func NewPulse(r io.Reader, every time.Duration) *Pulse {
	p := &Pulse{r: r, began: time.Now()}
	p.every.Store(int64(defaultBeat))
	if every != 0 {
		p.Every(every)
	}
	return p
}

// Every says how often each end shows that it lives, within the bounds that there are.
func (p *Pulse) Every(d time.Duration) {
	p.every.Store(int64(min(max(d, shortestBeat), longestBeat)))
}

// Read implements io.Reader.
func (p *Pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.last.Store(int64(time.Since(p.began)))
	}
	return n, err
}

func (p *Pulse) beat() time.Duration { return time.Duration(p.every.Load()) }

// once sets how often the ends send, the first time.
func (p *Pulse) once(d time.Duration) bool {
	if p.set.Swap(true) {
		return false
	}
	p.Every(d)
	return true
}

// Silent returns a channel that is closed when nothing was received for three beats, or ctx is
// done.
func (p *Pulse) Silent(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		defer close(out)
		for {
			quiet := time.Since(p.began) - time.Duration(p.last.Load())
			left := 3*p.beat() - quiet
			if left <= 0 {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(left, time.Second)): // the beat may be set meanwhile
			}
		}
	}()
	return out
}

// beats sends a ping with each beat until ctx is done or it cannot be sent.
func beats(ctx context.Context, w *frameWriter, p *Pulse) {
	t := time.NewTicker(p.beat())
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if w.send(frame{kind: kindPing}) != nil {
				return
			}
		}
	}
}

func (c *served) beats(p *Pulse) { beats(c.ctx, c.w, p) }
