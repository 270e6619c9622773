package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// The size limits of bodies.
const (
	maxBody   = 1 << 20
	maxBundle = 8 << 20
)

// Handler serves the API of a service. It authenticates no requests; see Guard.
func Handler(s *Service) http.Handler { return handler(s, true) }

// ExportHandler serves only what exports need: discovery, uploads, exports and plans.
func ExportHandler(s *Service) http.Handler { return handler(s, false) }

func handler(s *Service, all bool) http.Handler {
	about := s.about
	about.Jobs = about.Jobs && all
	r := newRouter(cmp.Or(about.Version, "0"), schemaName)
	discoveryRoutes(r, about)
	fileRoutes(r, s.fileService)
	exportRoutes(r, s.exportService)
	resultRoutes(r, s.versionService.Results)
	planRoutes(r, s.jobService)
	if all {
		environmentRoutes(r, s.environmentService)
		typeRoutes(r, s.typeService)
		actionRoutes(r, s.actionService)
		agentRoutes(r, s.agentService)
		resourceRoutes(r, s.resourceService)
		versionRoutes(r, s.versionService)
		parameterRoutes(r, s.parameterService)
		publicParameterRoutes(r, s.parameterService)
		offerRoutes(r, s.offerService)
		catalogRoutes(r, s.orderService, s.environmentService)
		instanceRoutes(r, s.orderService, s.resourceService)
		previewRoutes(r, s.previewService)
		orderRoutes(r, s.orderService, s.environmentService)
		callbackRoutes(r, s.orderService, s.environmentService)
		comparisonRoutes(r, s.jobService)
		if s.Jobs != nil {
			jobRoutes(r, s.jobService)
		}
	}
	document(r.api.OpenAPI(), s.about.Auth)
	return r.handler()
}

// router registers operations and serves them.
type router struct {
	api huma.API
	mux *http.ServeMux
}

// newRouter returns a router without operations. names names the schemas of types.
func newRouter(version string, names func(reflect.Type, string) string) *router {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("Southbound", version)
	config.Formats, config.DefaultFormat = strict(), "application/json"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", names)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Info.Description = "Desired state, its results, and work on it."
	config.Transformers = []huma.Transformer{ownErrors}
	r := &router{api: humago.New(mux, config), mux: mux}
	r.api.UseMiddleware(notEmpty, newBodies().bounded, readable, r.asClients)
	return r
}

// handler serves the registered operations.
func (r *router) handler() http.Handler {
	r.mux.Handle("/", noSuch(r.mux))
	return plain(conditional(oneSegment(r.mux)))
}

// InEnvironment holds the parameters of every request about an environment.
type InEnvironment struct {
	Env string `path:"env" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"1 to 100 letters, digits, - and _" doc:"the environment"`
}

type out[T any] struct {
	Body T
}

// answer makes the output of a handler.
func answer[T any](v T, err error) (*out[T], error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &out[T]{v}, nil
}

// serve registers an operation.
func serve[I, O any](
	r *router, method, path, id, summary string, f func(context.Context, *I) (*O, error),
	change ...func(*huma.Operation),
) {
	op := huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary,
		MaxBodyBytes: maxBody, BodyReadTimeout: -1}
	for _, c := range change {
		c(&op)
	}
	huma.Register(r.api, op, f)
}

func discoveryRoutes(r *router, about Discovery) {
	serve(r, http.MethodGet, "/{$}", "discover", "What this is",
		func(context.Context, *struct{}) (*out[Discovery], error) {
			return answer(about, nil)
		})
}

func writeProblem(w http.ResponseWriter, p *ErrorBody) {
	b, err := encode(p)
	if err != nil {
		b = nil
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(b, '\n'))
}

type rawOut struct {
	ContentType  string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func large(op *huma.Operation) { op.MaxBodyBytes = maxBundle }

const inEnv = "/v1/environments/{env}"

// Done is the answer of an operation without a result.
type Done struct {
	Done bool `json:"done"`
}
