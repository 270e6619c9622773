package states

import (
	"context"
	"net/http"

	"southbound/shared/api/client"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Remote sends requests about kept states to a server.
type Remote struct{ *client.Conn }

func pathOf(env string, id resource.ID) string {
	return wire.EnvironmentPath(env, "states/"+wire.Segment(string(id)))
}

// KeptState implements Home.
func (c Remote) KeptState(ctx context.Context, env string, id resource.ID) (Kept, error) {
	return client.Ask[Kept](ctx, c.Conn, http.MethodGet, pathOf(env, id), nil)
}

// ExportState implements Home.
func (c Remote) ExportState(ctx context.Context, env string, id resource.ID) (Sealed, error) {
	return client.Ask[Sealed](ctx, c.Conn, http.MethodGet, pathOf(env, id)+sealedPart, nil)
}

// ImportState implements Home.
func (c Remote) ImportState(
	ctx context.Context, env string, id resource.ID, s Sealed,
) (Imported, error) {
	return client.Ask[Imported](ctx, c.Conn, http.MethodPut, pathOf(env, id)+sealedPart, s)
}

// AdoptStates implements Home. States are in clear, so they are not sent.
func (c Remote) AdoptStates(context.Context, string, []deploy.AdoptedState) error {
	return fault.New(fault.Unsupported, "adopt", "states are adopted by the process that has the key").
		WithHint("run the command on the machine with the data directory, without --api")
}

// ForgetState implements Home.
func (c Remote) ForgetState(ctx context.Context, env string, id resource.ID) (Kept, error) {
	return client.Ask[Kept](ctx, c.Conn, http.MethodDelete, pathOf(env, id), nil)
}
