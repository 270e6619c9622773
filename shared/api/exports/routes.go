package exports

import (
	"context"
	"net/http"

	"southbound/shared/api/server"
	"southbound/shared/api/versions"
)

type bundleIn struct {
	server.InEnvironment
	Body Bundle
}

// knownAsked is the request of a lookup.
type knownAsked struct {
	Fingerprint string `json:"fingerprint" maxLength:"200"`
	// earlier servers reject the member, so it is left out without declarations
	Declarations []string `json:"declarations,omitempty" maxItems:"64" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"hashes of the files by which the client declares types: the version is not known if it has one that is no longer stored"`
}

// Routes serves exports and releases.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/exports/lookup", "lookupExport",
		"Compare a fingerprint of inputs with the released version",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body knownAsked
		}) (*server.Out[KnownDone], error) {
			x, known, err := s.Known(ctx, i.Env, i.Body.Fingerprint, i.Body.Declarations)
			done := KnownDone{Known: known}
			if known {
				e := exportDone(x)
				done.Exported = &e
			}
			return server.Answer(done, err)
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/exports", "export",
		"Store and release an uploaded export",
		func(ctx context.Context, i *bundleIn) (*server.Out[ExportDone], error) {
			x, err := s.Commit(ctx, i.Env, i.Body)
			return server.Answer(exportDone(x), err)
		}, server.LargeBody)
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/releases", "release",
		"Put a stored version in force, an earlier or a later one",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Version int    `json:"version" minimum:"1" maximum:"2147483647"`
				Author  string `json:"author,omitempty" maxLength:"1000" doc:"author of the release"`
				Message string `json:"message,omitempty" maxLength:"10000" doc:"why"`
			}
		}) (*server.Out[ExportDone], error) {
			x, err := s.Release(ctx, i.Env, i.Body.Version,
				versions.Origin{Author: i.Body.Author, Message: i.Body.Message})
			return server.Answer(exportDone(x), err)
		})
}
