package api

import (
	"context"
	"net/http"
)

// resultRoutes serves parts of results.
func resultRoutes(r *router, s *resultStore) {
	serve(r, http.MethodGet, inEnv+"/results/{hash}", "result",
		"A part of the answer to a plan or a dry run", func(ctx context.Context, i *struct {
			InEnvironment
			Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
		}) (*rawOut, error) {
			b, err := s.Result(ctx, i.Hash)
			if err != nil {
				return nil, problemOf(err)
			}
			return &rawOut{"application/json", `"` + i.Hash + `"`,
				"private, immutable, max-age=86400", b}, nil
		})
}
