package remote

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"southbound/shared/patience"
)

// The limits of the interval between signs of life.
const (
	shortestBeat = 50 * time.Millisecond
	longestBeat  = 10 * time.Minute
	defaultBeat  = 15 * time.Second
)

// Pulse reads from the other end and notices when nothing is received: each byte counts, so a slow
// line is not considered dead. The time in which this process was suspended does not count.
type Pulse struct {
	r     io.Reader
	reads atomic.Int64
	every atomic.Int64
	set   atomic.Bool
}

// NewPulse returns a Pulse that reads from r. every is how often each end sends a sign of life, 0:
// 15 s.
func NewPulse(r io.Reader, every time.Duration) *Pulse {
	p := &Pulse{r: r}
	p.every.Store(int64(defaultBeat))
	if every != 0 {
		p.Every(every)
	}
	return p
}

// Every sets how often each end sends a sign of life, within the limits of a beat.
func (p *Pulse) Every(d time.Duration) {
	p.every.Store(int64(min(max(d, shortestBeat), longestBeat)))
}

// Read implements io.Reader.
func (p *Pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.reads.Add(1)
	}
	return n, err
}

func (p *Pulse) beat() time.Duration { return time.Duration(p.every.Load()) }

// once sets the interval of the ends, only the first time.
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
	return patience.Silence(ctx, func() time.Duration { return 3 * p.beat() }, p.reads.Load)
}

// beats sends a ping with each beat until ctx is done or sending fails.
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
