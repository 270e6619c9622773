package patience_test

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"southbound/shared/patience"
)

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) { return <-p, nil }
func (p pipes) Close() error              { return nil }
func (p pipes) Addr() net.Addr            { return nil }

// TestListener pins which deadline of a connection counts: the last one, until it is taken away.
func TestListener(t *testing.T) {
	t.Parallel()
	type deadlines []time.Duration // from now on; 0: none; less: the past
	for name, c := range map[string]struct {
		set  deadlines
		sent time.Duration
		late bool
	}{
		"none":                {nil, time.Hour, false},
		"in time":             {deadlines{time.Minute}, 59 * time.Second, false},
		"late":                {deadlines{time.Minute}, time.Hour, true},
		"the last one counts": {deadlines{time.Minute, 2 * time.Hour}, time.Hour, false},
		"also a shorter one":  {deadlines{2 * time.Hour, time.Minute}, time.Hour, true},
		"taken away":          {deadlines{time.Minute, 0}, time.Hour, false},
		"in the past":         {deadlines{-time.Second}, time.Hour, true},
		"again after that":    {deadlines{-time.Second, time.Minute}, time.Second, false},
	} {
		for _, both := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				l := make(pipes, 1)
				l <- here
				conn, err := patience.Listener(l).Accept()
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range c.set {
					at := time.Time{}
					if d != 0 {
						at = time.Now().Add(d)
					}
					set := conn.SetReadDeadline
					if both {
						set = conn.SetDeadline
					}
					if err := set(at); err != nil {
						t.Fatal(err)
					}
				}
				go func() {
					time.Sleep(c.sent)
					_, _ = there.Write([]byte("x"))
				}()
				_, err = conn.Read(make([]byte, 1))
				if late := errors.Is(err, os.ErrDeadlineExceeded); late != c.late ||
					!late && err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if conn.Close() != nil || there.Close() != nil {
					t.Error("it cannot be closed")
				}
				time.Sleep(time.Hour)
			})
		}
	}
}
