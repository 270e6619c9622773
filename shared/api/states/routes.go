package states

import (
	"context"
	"net/http"

	"southbound/shared/api/server"
	"southbound/shared/resource"
)

// The paths of a kept state and of its sealed bytes.
const (
	oneState   = server.EnvironmentPath + "/states/{id}"
	sealedPart = "/sealed"
)

// InState holds the parameters of a request about a kept state.
type InState struct {
	server.InEnvironment
	ID string `path:"id" minLength:"1" maxLength:"4096" doc:"id of the resource"`
}

// Routes serves kept states.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, oneState, "state", "The kept state of a resource, without its contents",
		func(ctx context.Context, i *InState) (*server.Out[Kept], error) {
			return server.Answer(s.KeptState(ctx, i.Env, resource.ID(i.ID)))
		})
	server.Register(r, http.MethodGet, oneState+sealedPart, "exportState",
		"The kept state of a resource, sealed",
		func(ctx context.Context, i *InState) (*server.Out[Sealed], error) {
			return server.Answer(s.ExportState(ctx, i.Env, resource.ID(i.ID)))
		})
	server.Register(r, http.MethodPut, oneState+sealedPart, "importState",
		"Replace the kept state of a resource by an exported one",
		func(ctx context.Context, i *struct {
			InState
			Body Sealed
		}) (*server.Out[Imported], error) {
			return server.Answer(s.ImportState(ctx, i.Env, resource.ID(i.ID), i.Body))
		}, server.LargeBody)
	server.Register(r, http.MethodDelete, oneState, "forgetState",
		"Remove the kept state of a resource",
		func(ctx context.Context, i *InState) (*server.Out[Kept], error) {
			return server.Answer(s.ForgetState(ctx, i.Env, resource.ID(i.ID)))
		})
}
