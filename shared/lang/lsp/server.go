package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/creachadair/jrpc2"

	"southbound/shared/internal/declared"
	"southbound/shared/lang/lsp/text"
	"southbound/shared/schema"
)

// Options configure a server.
type Options struct {
	Version string
	// Types are the types of the program, which models can import as southbound::... The server reads
	// those of lock files itself.
	Types *schema.Registry
	// Log receives a line for each internal error of the server; nil discards them.
	Log io.Writer
}

// Serve serves one client until it sends exit, or its stream ends. It returns whether the client
// sent shutdown before; the protocol derives the exit code from that.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) (orderly bool, err error) {
	s := newServer(o)
	s.rpc = jrpc2.NewServer(s.methods(), &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, Concurrency: maxRequests,
	})
	s.frames = newFrames(in, out)
	s.rpc.Start(s.frames)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = s.frames.Close() })()
	var worker sync.WaitGroup
	worker.Go(func() { newDiagnoser(s).work(ctx) })
	err = s.rpc.Wait()
	stop()
	worker.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == exited {
		err = nil
	}
	return s.shutdown, err
}

// maxRequests is the maximum number of concurrent requests.
const maxRequests = 8

// state is the phase of a server's life cycle.
type state uint8

const (
	fresh state = iota
	running
	exited
)

// server serves one client. mu guards the fields below it. Every request holds mu, so it sees one
// consistent state of all texts.
type server struct {
	options Options
	rpc     *jrpc2.Server
	frames  *frames
	wake    chan struct{} // signaled on each change

	mu       sync.Mutex
	state    state
	shutdown bool
	change   uint64             // number of changes so far
	abandon  context.CancelFunc // aborts the running evaluation
	workspace
}

// workspace is the state of the open documents and their models.
type workspace struct {
	log      func(format string, args ...any)
	client   capabilities
	encoding text.Encoding
	folders  []string
	docs     map[string]*document // open documents by path
	texts    *texts
	views    map[string]*view // by root
	built    *builtIns
}

// answers implements the requests about a workspace.
type answers struct{ *workspace }

func newServer(o Options) *server {
	return &server{
		options: o, wake: make(chan struct{}, 1), abandon: func() {},
		workspace: workspace{
			log: o.logf, docs: map[string]*document{}, views: map[string]*view{},
			texts: newTexts(), built: newBuiltIns(o.Types),
		},
	}
}

func (o Options) logf(format string, args ...any) {
	if o.Log != nil {
		fmt.Fprintf(o.Log, "southbound lsp: "+format+"\n", args...)
	}
}

// methods are the methods that a client can call.
type methods struct {
	handlers map[string]jrpc2.Handler
	leaving  bool // shutdown was received
}

// inTime is the context key of requests that arrived before shutdown. They are answered even if
// they run after it.
type inTime struct{}

// Assign implements jrpc2.Assigner. It is called in the order in which messages arrive. Unknown
// notifications are ignored: the protocol requires that for methods that begin with $/.
func (m *methods) Assign(_ context.Context, method string) jrpc2.Handler {
	h := m.handlers[method]
	m.leaving = m.leaving || method == "shutdown"
	if h == nil || m.leaving {
		return h
	}
	return func(ctx context.Context, r *jrpc2.Request) (any, error) {
		return h(context.WithValue(ctx, inTime{}, true), r)
	}
}

func (s *server) methods() *methods {
	ask := answers{&s.workspace}
	return &methods{handlers: map[string]jrpc2.Handler{
		"initialize":      s.raw(s.initialize),
		"initialized":     notification(s, s.initialized),
		"shutdown":        request(s, s.shutDown),
		"exit":            s.raw(s.exit),
		"$/cancelRequest": s.raw(s.cancel),
		"$/setTrace":      notification(s, ignored),

		"textDocument/didOpen":                notification(s, s.didOpen),
		"textDocument/didChange":              notification(s, s.didChange),
		"textDocument/didClose":               notification(s, s.didClose),
		"textDocument/didSave":                notification(s, s.didSave),
		"workspace/didChangeWatchedFiles":     notification(s, s.filesChanged),
		"workspace/didChangeConfiguration":    notification(s, ignored),
		"workspace/didChangeWorkspaceFolders": notification(s, s.foldersChanged),

		"textDocument/formatting":        request(s, ask.formatting),
		"textDocument/definition":        request(s, ask.definition),
		"textDocument/references":        request(s, ask.references),
		"textDocument/documentHighlight": request(s, ask.highlight),
		"textDocument/hover":             request(s, ask.hover),
		"textDocument/signatureHelp":     request(s, ask.signatureHelp),
		"textDocument/documentSymbol":    request(s, ask.documentSymbol),
		"textDocument/completion":        request(s, ask.completion),
		"textDocument/prepareRename":     request(s, ask.prepareRename),
		"textDocument/rename":            request(s, ask.rename),
		"workspace/symbol":               request(s, ask.workspaceSymbol),
	}}
}

type nothing struct{}

func ignored(nothing) {}

// raw guards a method that changes the state of the server itself.
func (s *server) raw(do jrpc2.Handler) jrpc2.Handler {
	return func(ctx context.Context, r *jrpc2.Request) (out any, err error) {
		defer s.survive(r.Method(), &err)
		return do(ctx, r)
	}
}

// survive turns a panic into an error, so that one request cannot crash the server.
func (s *server) survive(what string, err *error) {
	if r := recover(); r != nil {
		s.log("%s: %v\n%s", what, r, debug.Stack())
		*err = &jrpc2.Error{Code: codeInternal, Message: "the server could not answer: see its log"}
	}
}

// request returns the handler of a request. Requests run one at a time.
func request[P any](s *server, do func(context.Context, P) (any, error)) jrpc2.Handler {
	return s.raw(func(ctx context.Context, r *jrpc2.Request) (any, error) {
		var p P
		if r.HasParams() {
			if err := r.UnmarshalParams(&p); err != nil {
				return nil, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, &jrpc2.Error{Code: codeCancelled, Message: "cancelled"}
		case s.state == fresh:
			return nil, &jrpc2.Error{Code: codeNotInitialized, Message: "initialize comes first"}
		case s.shutdown && ctx.Value(inTime{}) == nil:
			return nil, &jrpc2.Error{Code: codeInvalidRequest, Message: "the server was shut down"}
		}
		out, err := do(ctx, p)
		if ctx.Err() != nil {
			return nil, &jrpc2.Error{Code: codeCancelled, Message: "cancelled"}
		}
		return out, err
	})
}

// notification returns the handler of a notification.
func notification[P any](s *server, do func(P)) jrpc2.Handler {
	return s.raw(func(_ context.Context, r *jrpc2.Request) (any, error) {
		var p P
		if r.HasParams() {
			if err := r.UnmarshalParams(&p); err != nil {
				s.log("%s: %v", r.Method(), err)
				return nil, err
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.state == running && !s.shutdown {
			do(p)
		}
		return nil, nil
	})
}

func (s *server) initialize(_ context.Context, r *jrpc2.Request) (any, error) {
	var p initializeParams
	if err := r.UnmarshalParams(&p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != fresh {
		return nil, &jrpc2.Error{Code: codeInvalidRequest, Message: "initialized already"}
	}
	s.state, s.client = running, p.Capabilities
	if len(p.WorkspaceFolders) == 0 && p.RootURI != nil {
		p.WorkspaceFolders = []folder{{URI: *p.RootURI}}
	}
	for _, f := range p.WorkspaceFolders {
		if path, ok := pathOf(f.URI); ok {
			s.folders = append(s.folders, path)
		}
	}
	encoding := "utf-16"
	if slices.Contains(p.Capabilities.General.PositionEncodings, "utf-8") {
		encoding, s.encoding = "utf-8", text.UTF8
	}
	return initializeResult{
		Capabilities: abilities(encoding, p.Capabilities.TextDocument.Rename.Prepare),
		ServerInfo:   map[string]string{"name": "southbound", "version": s.options.Version},
	}, nil
}

// abilities returns the capabilities of the server.
func abilities(encoding string, prepares bool) map[string]any {
	const incremental = 2
	var renames any = true
	if prepares {
		renames = map[string]bool{"prepareProvider": true}
	}
	return map[string]any{
		"positionEncoding": encoding,
		"textDocumentSync": map[string]any{
			"openClose": true, "change": incremental, "save": map[string]any{},
		},
		"completionProvider":         map[string]any{"triggerCharacters": []string{".", ":"}},
		"definitionProvider":         true,
		"documentFormattingProvider": true,
		"documentHighlightProvider":  true,
		"documentSymbolProvider":     true,
		"hoverProvider":              true,
		"referencesProvider":         true,
		"renameProvider":             renames,
		"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ","}},
		"workspaceSymbolProvider":    true,
		"workspace": map[string]any{
			"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
		},
	}
}

// initialized registers for file changes, if the client supports that.
func (s *server) initialized(nothing) {
	if !s.client.Workspace.DidChangeWatchedFiles.Dynamic {
		return
	}
	watch := map[string]any{"watchers": []map[string]string{
		{"globPattern": "**/*.cf"}, {"globPattern": "**/*.py"}, {"globPattern": "**/project.yml"},
		{"globPattern": "**/" + declared.LockFile},
	}}
	registration := map[string]any{"registrations": []map[string]any{{
		"id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": watch,
	}}}
	go func() { // do not block on the answer
		ctx := context.Background()
		if _, err := s.rpc.Callback(ctx, "client/registerCapability", registration); err != nil {
			s.log("the client does not watch files: %v", err)
		}
	}()
}

func (s *server) shutDown(context.Context, nothing) (any, error) {
	s.shutdown = true
	s.abandon()
	return nil, nil
}

func (s *server) exit(context.Context, *jrpc2.Request) (any, error) {
	s.mu.Lock()
	s.state = exited
	s.mu.Unlock()
	return nil, s.frames.Close()
}

// cancel cancels a request that has not been answered.
func (s *server) cancel(_ context.Context, r *jrpc2.Request) (any, error) {
	var p cancelParams
	if err := r.UnmarshalParams(&p); err != nil {
		return nil, err
	}
	if len(p.ID) == 0 || !json.Valid(p.ID) {
		return nil, errors.New("no id")
	}
	s.rpc.CancelRequest(string(p.ID))
	return nil, nil
}
