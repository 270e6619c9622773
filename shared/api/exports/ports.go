package exports

import (
	"context"

	"southbound/shared/api/files"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
)

// Exporter stores versions and puts them in force.
type Exporter interface {
	// Known reports whether inputs with this fingerprint are the released version, and its files
	// among declarations are stored; see deploy.Engine.Known.
	Known(ctx context.Context, env, fingerprint string, declarations []string) (
		deploy.Exported, bool, error)
	// Export stores and releases a model. progress, if not nil, is called during the upload.
	Export(ctx context.Context, env string, x deploy.Export, progress func(files.Sent)) (
		deploy.Exported, error)
	// Release puts a stored version in force, an earlier or a later one; see deploy.Engine.Release.
	Release(ctx context.Context, env string, number int, by versions.Origin) (deploy.Exported, error)
}
