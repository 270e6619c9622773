package api

import (
	"cmp"
	"context"
	"net/http"

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
	mux := http.NewServeMux()
	config := huma.DefaultConfig("Southbound", cmp.Or(s.About.Version, "0"))
	config.Formats, config.DefaultFormat = strict(), "application/json"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.DocsPath, config.SchemasPath, config.CreateHooks = "", "", nil
	config.Info.Description = "Desired state, its results, and work on it."
	config.Transformers = []huma.Transformer{ownErrors}
	r := &routes{s: s, api: humago.New(mux, config)}
	r.api.UseMiddleware(notEmpty, newBodies().bounded, readable, r.asClients)
	r.discovery(all)
	r.exports()
	r.releases()
	if all {
		r.history()
		r.lists()
		r.single()
		r.acts()
		services := serviceRoutes{r}
		services.offering()
		services.orders()
		if s.Jobs != nil {
			r.jobs()
		}
	}
	r.document()
	mux.Handle("/", noSuch(mux))
	return plain(conditional(oneSegment(mux)))
}

// routes registers the operations.
type routes struct {
	s   *Service
	api huma.API
}

// serviceRoutes are the operations on services.
type serviceRoutes struct{ *routes }

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
	r *routes, method, path, id, summary string, f func(context.Context, *I) (*O, error),
	change ...func(*huma.Operation),
) {
	op := huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary,
		MaxBodyBytes: maxBody, BodyReadTimeout: -1}
	for _, c := range change {
		c(&op)
	}
	huma.Register(r.api, op, f)
}

func (r *routes) discovery(all bool) {
	about := r.s.About
	about.Jobs = about.Jobs && all
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
