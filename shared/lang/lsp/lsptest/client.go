// Package lsptest is an editor without a screen: a client of a language server over standard input
// and output, for tests and measurements. It uses a protocol library that the server does not use.
package lsptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// Client is a client of a server that it has started, as a program or in its own process.
type Client struct {
	protocol.Server // the requests
	Conn            jsonrpc2.Conn

	in        io.WriteCloser
	ended     func() (code int, err error) // waits for the server
	kill      func()
	mu        sync.Mutex
	changed   chan struct{} // closed on each message that is recorded
	diagnosed map[string]protocol.PublishDiagnosticsParams
	watching  int
}

// pipe combines the server's output and input.
type pipe struct {
	io.Reader
	io.WriteCloser
}

// Start starts a server.
func Start(ctx context.Context, cmd *exec.Cmd) (*Client, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := newClient(ctx, out, in)
	c.ended = func() (int, error) { return exitCode(cmd.Wait()) }
	c.kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return c, nil
}

// Within starts a server in this process: serve runs the server on its standard input and output,
// and returns the exit code.
func Within(
	ctx context.Context, serve func(in io.Reader, out io.WriteCloser) (code int),
) (*Client, error) {
	serverIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, serverOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, serverIn.Close(), in.Close())
	}
	code := make(chan int, 1)
	go func() {
		defer func() { _, _ = serverIn.Close(), serverOut.Close() }()
		code <- serve(serverIn, serverOut)
	}()
	c := newClient(ctx, out, in)
	c.ended = func() (int, error) {
		_, _ = in.Close(), out.Close()
		return <-code, nil
	}
	c.kill = func() { _, _ = c.ended() }
	return c, nil
}

// newClient returns a client of a server that writes to out and reads from in.
func newClient(ctx context.Context, out io.Reader, in io.WriteCloser) *Client {
	c := &Client{
		in: in, changed: make(chan struct{}),
		diagnosed: map[string]protocol.PublishDiagnosticsParams{},
	}
	stream := jsonrpc2.NewHeaderStream(pipe{out, in})
	_, c.Conn, c.Server = protocol.NewClient(ctx, &callbacks{client: c}, stream)
	return c
}

// callbacks handle notifications and requests of the server.
type callbacks struct {
	protocol.UnimplementedClient
	client *Client
}

func (b *callbacks) PublishDiagnostics(
	_ context.Context, p *protocol.PublishDiagnosticsParams,
) error {
	c := b.client
	c.mu.Lock()
	defer c.mu.Unlock()
	c.diagnosed[p.URI.FsPath()] = *p
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func (b *callbacks) RegisterCapability(context.Context, *protocol.RegistrationParams) error {
	b.client.mu.Lock()
	defer b.client.mu.Unlock()
	b.client.watching++
	close(b.client.changed)
	b.client.changed = make(chan struct{})
	return nil
}

// Hello initializes the server for a folder. more changes the parameters; it may be nil.
func (c *Client) Hello(
	ctx context.Context, folder string, more func(*protocol.InitializeParams),
) (*protocol.InitializeResult, error) {
	root := uri.File(folder)
	p := protocol.InitializeParams{RootURI: &root} //nolint:staticcheck // editors still send it
	const abilities = `{
		"textDocument": {
			"documentSymbol": {"hierarchicalDocumentSymbolSupport": true},
			"rename": {"prepareSupport": true}, "hover": {"contentFormat": ["markdown"]}
		},
		"workspace": {
			"workspaceEdit": {"documentChanges": true},
			"didChangeWatchedFiles": {"dynamicRegistration": true}
		}
	}`
	if err := protocol.Unmarshal([]byte(abilities), &p.Capabilities); err != nil {
		return nil, err
	}
	if more != nil {
		more(&p)
	}
	out, err := c.Initialize(ctx, &p)
	if err != nil {
		return nil, err
	}
	return out, c.Initialized(ctx, &protocol.InitializedParams{})
}

// Open opens a file, with the text on disk or with the given text.
func (c *Client) Open(ctx context.Context, path string, text ...string) error {
	if len(text) == 0 {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text = []string{string(data)}
	}
	var p protocol.DidOpenTextDocumentParams
	p.TextDocument.URI = uri.File(path)
	p.TextDocument.LanguageID = "southbound"
	p.TextDocument.Version = 1
	p.TextDocument.Text = text[0]
	return c.DidOpen(ctx, &p)
}

// Edit replaces the text in a range.
func (c *Client) Edit(
	ctx context.Context, path string, version int32, r protocol.Range, with string,
) error {
	var p protocol.DidChangeTextDocumentParams
	p.TextDocument.URI = uri.File(path)
	p.TextDocument.Version = version
	p.ContentChanges = []protocol.TextDocumentContentChangeEvent{
		&protocol.TextDocumentContentChangePartial{Range: r, Text: with},
	}
	return c.DidChange(ctx, &p)
}

// Diagnostics waits until want accepts the server's diagnostics of a file.
func (c *Client) Diagnostics(
	ctx context.Context, path string, want func(protocol.PublishDiagnosticsParams) bool,
) (protocol.PublishDiagnosticsParams, error) {
	for {
		c.mu.Lock()
		p, ok := c.diagnosed[path]
		changed := c.changed
		c.mu.Unlock()
		if ok && want(p) {
			return p, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p, fmt.Errorf("the last diagnostics of %s is %v: %w",
				filepath.Base(path), Messages(p), ctx.Err())
		}
	}
}

// Watching waits until the server has registered for file changes.
func (c *Client) Watching(ctx context.Context) error {
	for {
		c.mu.Lock()
		n, changed := c.watching, c.changed
		c.mu.Unlock()
		if n > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Messages formats diagnostics as text: line:column code message.
func Messages(p protocol.PublishDiagnosticsParams) []string {
	var out []string
	for _, d := range p.Diagnostics {
		message, _ := d.Message.(protocol.String)
		out = append(out, fmt.Sprintf("%d:%d %v %s",
			d.Range.Start.Line+1, d.Range.Start.Character+1, d.Code, string(message)))
	}
	return out
}

// Bye sends shutdown and exit, and returns the exit code.
func (c *Client) Bye(ctx context.Context) (int, error) {
	if err := c.Shutdown(ctx); err != nil {
		return 0, err
	}
	return c.Leave(ctx)
}

// Leave sends exit, and returns the exit code. The server's input stays open until the server ends.
func (c *Client) Leave(ctx context.Context) (int, error) {
	if err := c.Exit(ctx); err != nil {
		return 0, err
	}
	<-c.Conn.Done()
	return c.ended()
}

// Cut closes the server's input, and returns the exit code.
func (c *Client) Cut() (int, error) {
	if err := c.in.Close(); err != nil {
		return 0, err
	}
	<-c.Conn.Done()
	return c.ended()
}

// exitCode returns the exit code of a program from the error of Wait.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// Kill kills the server.
func (c *Client) Kill() { c.kill() }
