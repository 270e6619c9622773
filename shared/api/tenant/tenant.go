package tenant

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/client"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// ErrNoServices is the error of a home that keeps no services.
func ErrNoServices() error {
	return fault.New(fault.Unsupported, "", "this home keeps no services").
		WithHint("it is a stack of an earlier version: deploy this one; make deploy")
}

// Open returns the service for orders; Unsupported if the home keeps none.
func (s *Orders) Open() (*orders.Service, error) {
	if s.Services == nil {
		return nil, ErrNoServices()
	}
	return s.Services, nil
}

// The bounds of bodies of requests about services. Longer bodies are rejected before parsing.
const (
	besideAttributes = 8 << 10 // all members but attributes
	maxOrder         = inventory.MaxAttributes + besideAttributes
	MaxMigration     = 3*inventory.MaxAttributes + besideAttributes // three sets of attributes
	MaxOrders        = inventory.MaxOrder + besideAttributes        // several instances
)

// LongerBody raises the size limit of an operation's body.
func LongerBody(bytes int64) func(*huma.Operation) {
	return func(op *huma.Operation) { op.MaxBodyBytes = bytes }
}

// AnyService stands for the name of a service in requests that name an instance by its id.
const AnyService = "-"

// InTenant holds the parameters of every request about services.
type InTenant struct {
	Env string `header:"X-Inmanta-tid" required:"true" pattern:"^[A-Za-z0-9_-]{1,100}$" patternDescription:"1 to 100 letters, digits, - and _" doc:"the environment"`
}

// OfService names a service.
type OfService struct {
	Service string `path:"service_entity" minLength:"1" maxLength:"255" doc:"the service"`
}

// OfInstance names an instance.
type OfInstance struct {
	InTenant
	OfService
	ID string `path:"service_id" minLength:"1" maxLength:"4096" doc:"an id, or identity=VALUE; with an id the service may be -"`
}

func (i *OfInstance) Ref() orders.Ref {
	if i.Service == AnyService {
		return orders.Ref{ID: i.ID}
	}
	return orders.Ref{Service: i.Service, ID: i.ID}
}

// Seen is the version that the caller has seen.
type Seen struct {
	Version int64 `query:"current_version" minimum:"1" doc:"version of the instance that the caller has seen"`
}

// MarkServices marks an operation as one of services.
func MarkServices(op *huma.Operation) {
	op.MaxBodyBytes, op.Tags = maxOrder, []string{server.ServicesTag}
}

// Register registers an operation on services.
func Register[I, T any](
	r *server.Router, s *Orders, method, path, id, summary string,
	f func(context.Context, *orders.Service, *I) (T, error), change ...func(*huma.Operation),
) {
	server.Register(r, method, path, id, summary,
		func(ctx context.Context, i *I) (*server.Out[client.Data[T]], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			v, err := f(ctx, o, i)
			return server.Answer(client.Data[T]{Data: v}, err)
		}, append([]func(*huma.Operation){MarkServices}, change...)...)
}

type Orders struct {
	// Services, if not nil, accepts orders of services.
	Services *orders.Service
}
