package results

import (
	"context"
	"net/http"

	"southbound/shared/api/problem"
	"southbound/shared/api/server"
)

// Routes serves parts of results.
func Routes(r *server.Router, s *Store) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/results/{hash}", "result",
		"A part of the answer to a plan or a dry run", func(ctx context.Context, i *struct {
			server.InEnvironment
			Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
		}) (*server.File, error) {
			b, err := s.Result(ctx, i.Hash)
			if err != nil {
				return nil, problem.Of(err)
			}
			return &server.File{ContentType: "application/json", ETag: `"` + i.Hash + `"`,
				CacheControl: "private, immutable, max-age=86400", Body: b}, nil
		})
}
