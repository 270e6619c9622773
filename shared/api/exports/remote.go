// Package exports serves exports and releases: it turns bundles of uploaded files into models for the
// engine, and models into bundles.
package exports

import (
	"context"
	"net/http"

	"southbound/shared/api/chunk"
	"southbound/shared/api/client"
	"southbound/shared/api/files"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
)

type Remote struct{ *client.Conn }

// Known implements Home.
func (c Remote) Known(
	ctx context.Context, env, fingerprint string, declarations []string,
) (deploy.Exported, bool, error) {
	var k KnownDone
	err := c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "exports/lookup"),
		knownAsked{fingerprint, declarations}, &k)
	if err != nil || !k.Known || k.Exported == nil {
		return deploy.Exported{}, false, err
	}
	return k.Exported.exported(), true, nil
}

// Export implements Home. The model has passed all checks that need no state.
func (c Remote) Export(
	ctx context.Context, env string, x deploy.Export, progress func(files.Sent),
) (deploy.Exported, error) {
	p, err := chunk.Pack(x.Model)
	if err != nil {
		return deploy.Exported{}, err
	}
	var done ExportDone
	uploaded := 0
	err = files.Commit(ctx, c.Conn, env, x.Model, p, true, progress, func(n int) error {
		uploaded += n
		return c.CallExport(ctx, http.MethodPost,
			wire.EnvironmentPath(env, "exports"), BundleOf(x, p), &done)
	})
	out := done.exported()
	out.FilesUploaded = uploaded
	return out, err
}

// Release implements Home.
func (c Remote) Release(
	ctx context.Context, env string, number int, by versions.Origin,
) (deploy.Exported, error) {
	var done ExportDone
	request := map[string]any{"version": number}
	if by.Author != "" { // earlier servers reject the member
		request["author"] = by.Author
	}
	if by.Message != "" {
		request["message"] = by.Message
	}
	err := c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "releases"), request, &done)
	return done.exported(), err
}
