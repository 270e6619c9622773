package lsp

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/creachadair/jrpc2"
)

// TestCancel has a client take back a request that waits for its turn: it is answered, as the
// protocol wants it, with the error that says so, and the next one is served.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newServer(Options{})
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, Concurrency: maxRequests,
	})
	toServer, client := io.Pipe()
	server, fromServer := io.Pipe()
	s.frames = newFrames(toServer, fromServer)
	s.rpc.Start(s.frames)
	here := newFrames(server, client)
	s.state = running
	send := func(id int, method, params string) {
		text := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
		if id > 0 {
			text = strings.Replace(text, "{", fmt.Sprintf(`{"id":%d,`, id), 1)
		}
		if err := here.Send([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(want ...string) {
		t.Helper()
		got, err := here.Recv()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(got), w) {
				t.Errorf("the answer is %s, without %s", got, w)
			}
		}
	}
	const where = `{"textDocument":{"uri":"file:///nothing.cf"},"position":{"line":0,"character":0}}`
	s.mu.Lock() // something else is being worked on
	send(7, "textDocument/hover", where)
	send(0, "$/cancelRequest", `{"id":7}`)
	send(8, "no/such/method", `{}`) // it is answered when what was told before is done
	answer(`"id":8`, "-32601")
	s.mu.Unlock()
	answer(`"id":7`, "-32800", "cancelled")
	send(9, "textDocument/hover", where)
	answer(`"id":9`, `"result":null`)
	if err := here.Close(); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	_ = s.rpc.Wait() // how the stream ends is not what this is about
}
