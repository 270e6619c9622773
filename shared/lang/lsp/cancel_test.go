package lsp

import (
	"context"
	"encoding/json"
	"errors"
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
	receive := func() string {
		t.Helper()
		got, err := here.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	holds := func(got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("the answer is %s, without %s", got, w)
			}
		}
	}
	const where = `{"textDocument":{"uri":"file:///nothing.cf"},"position":{"line":0,"character":0}}`
	s.mu.Lock() // something else is being worked on
	send(7, "textDocument/hover", where)
	send(0, "$/cancelRequest", `{"id":7}`)
	send(8, "no/such/method", `{}`) // it is answered when what was told before is done
	// What waits for its turn is answered when that comes, what was not begun at once.
	one := receive()
	waits := strings.Contains(one, `"id":8`)
	if waits {
		s.mu.Unlock()
	}
	other := receive()
	if !waits {
		s.mu.Unlock()
		one, other = other, one
	}
	holds(one, `"id":8`, "-32601")
	holds(other, `"id":7`, "-32800", "cancelled")
	send(9, "textDocument/hover", where)
	holds(receive(), `"id":9`, `"result":null`)
	if err := here.Close(); err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	_ = s.rpc.Wait() // how the stream ends is not what this is about
}

// TestCancelledBeforeBegun has the code of the protocol in the answer that the library gives
// itself.
func TestCancelledBeforeBegun(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	f := newFrames(strings.NewReader(""), &out)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := ctx.Err()
	text, _ := json.Marshal(&jrpc2.Error{Code: jrpc2.ErrorCode(err), Message: err.Error()})
	if err := f.Send([]byte(`{"jsonrpc":"2.0","id":7,"error":` + string(text) + `}`)); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, `"code":-32800`) {
		t.Errorf("it is answered with %s", got)
	}
}

// TestAskedBeforeShutdown holds that what is asked before shutdown is answered, even if its turn
// comes after it, and what is asked later is not.
func TestAskedBeforeShutdown(t *testing.T) {
	t.Parallel()
	s := newServer(Options{})
	s.state, s.abandon = running, func() {}
	m := s.methods()
	const ask = "textDocument/documentSymbol"
	request := func(method, params string) *jrpc2.Request {
		t.Helper()
		parsed, err := jrpc2.ParseRequests([]byte(
			`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return parsed[0].ToRequest()
	}
	before := m.Assign(t.Context(), ask)
	shutDown := m.Assign(t.Context(), "shutdown")
	after := m.Assign(t.Context(), ask)
	if _, err := shutDown(t.Context(), request("shutdown", "{}")); err != nil {
		t.Fatal(err)
	}
	file := request(ask, `{"textDocument":{"uri":"file:///nothing.cf"}}`)
	if _, err := before(t.Context(), file); err != nil {
		t.Errorf("what was asked before is answered with %v", err)
	}
	var refused *jrpc2.Error
	if _, err := after(t.Context(), file); !errors.As(err, &refused) ||
		refused.Code != codeInvalidRequest {
		t.Errorf("what was asked after is answered with %v", err)
	}
}
