// Package api is the function behind the URL of the HTTP API.
package api

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"southbound/functions/internal/run"
	"southbound/shared/api"
	"southbound/shared/aws/furl"
	"southbound/shared/provider"
)

// Main starts the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		f, err := run.Begin(ctx, definitions, nil)
		if err != nil {
			return nil, err
		}
		routes := api.Handler(f.Service(true))
		return func(ctx context.Context,
			e events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLResponse, error) {
			return furl.Handle(f.Called(ctx, &e), routes, &e), nil
		}, nil
	})
}
