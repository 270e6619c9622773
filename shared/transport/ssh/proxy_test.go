package ssh_test

import (
	"net"
	"sync"
	"testing"
)

// proxy is the line between an engine and a machine, which the test cuts.
type proxy struct {
	port int64

	mu    sync.Mutex
	rule  rule
	lines []*line
}

// line is one connection.
type line struct {
	to, from net.Conn
	bytes    [2]int64 // that went to the machine, and came from it
}

// rule says what becomes of the next bytes of a connection (0 is the first one) that go one way, of
// which and of the other way there were so many.
type rule func(connection int, w way, there, back int64) verdict

type way int

const (
	there way = iota
	back
)

type verdict int

const (
	pass   verdict = iota
	sever          // both ends see that the line is cut
	vanish         // nobody hears of them, nor of the end of the line
)

// interpose puts a proxy before a server.
func interpose(t *testing.T, s *server, r rule) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{rule: r, port: int64(l.Addr().(*net.TCPAddr).Port)} // it is TCP
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", itoa(s.Port)))
			if err != nil {
				_ = from.Close()
				continue
			}
			one := &line{to: to, from: from}
			p.mu.Lock()
			n := len(p.lines)
			p.lines = append(p.lines, one)
			p.mu.Unlock()
			wait.Go(func() { p.carry(n, one, there, from, to) })
			wait.Go(func() { p.carry(n, one, back, to, from) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, one := range p.lines {
			_, _ = one.to.Close(), one.from.Close()
		}
		p.mu.Unlock()
		wait.Wait()
	})
	return p
}

// carry moves bytes one way, as the rule says.
func (p *proxy) carry(n int, one *line, w way, from, to net.Conn) {
	buf := make([]byte, 512)
	for {
		got, err := from.Read(buf)
		p.mu.Lock()
		one.bytes[w] += int64(got)
		what := pass
		if p.rule != nil {
			what = p.rule(n, w, one.bytes[there], one.bytes[back])
		}
		p.mu.Unlock()
		switch {
		case what == vanish && err != nil:
			return
		case what == vanish:
			continue
		case what == sever || err != nil:
			_, _ = from.Close(), to.Close()
			return
		}
		if _, err := to.Write(buf[:got]); err != nil {
			_ = from.Close()
			return
		}
	}
}

// counted returns how many bytes of the first connection went each way.
func (p *proxy) counted() (up, down int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[0].bytes[there], p.lines[0].bytes[back]
}

// cut is the rule that the first connection is cut once so many bytes went one way.
func cut(where way, at int64, what verdict) rule {
	return func(n int, _ way, up, down int64) verdict {
		if n == 0 && (where == there && up >= at || where == back && down >= at) {
			return what
		}
		return pass
	}
}
