package server

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"southbound/shared/api/problem"
)

// The size limits of bodies.
const (
	maxBody   = 1 << 20
	maxBundle = 8 << 20
)

// Router registers operations and serves them.
type Router struct {
	API huma.API
	mux *http.ServeMux
}

// New returns a router without operations. names names the schemas of types.
func New(version string, names func(reflect.Type, string) string) *Router {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("Southbound", version)
	config.Formats, config.DefaultFormat = strict(), "application/json"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", names)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Info.Description = "Desired state, its results, and work on it."
	config.Transformers = []huma.Transformer{problem.FromLibrary}
	r := &Router{API: humago.New(mux, config), mux: mux}
	r.API.UseMiddleware(rejectEmpty, newBodies().bounded, readBody, r.asClients)
	return r
}

// Handler serves the registered operations.
func (r *Router) Handler() http.Handler {
	r.mux.Handle("/", notFound(r.mux))
	return problem.ForPublicClients(conditional(joinSegments(r.mux)))
}

// InEnvironment holds the parameters of every request about an environment.
type InEnvironment struct {
	Env string `path:"env" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"1 to 100 letters, digits, - and _" doc:"the environment"`
}

type Out[T any] struct {
	Body T
}

// Answer makes the output of a handler.
func Answer[T any](v T, err error) (*Out[T], error) {
	if err != nil {
		return nil, problem.Of(err)
	}
	return &Out[T]{v}, nil
}

// Register registers an operation.
func Register[I, O any](
	r *Router, method, path, id, summary string, f func(context.Context, *I) (*O, error),
	change ...func(*huma.Operation),
) {
	op := huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary,
		MaxBodyBytes: maxBody, BodyReadTimeout: -1}
	for _, c := range change {
		c(&op)
	}
	huma.Register(r.API, op, f)
}

type File struct {
	ContentType  string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func LargeBody(op *huma.Operation) { op.MaxBodyBytes = maxBundle }

const EnvironmentPath = "/v1/environments/{env}"

// Done is the answer of an operation without a result.
type Done struct {
	Done bool `json:"done"`
}
