// Package handler is the function behind the queues of agents: it runs what is scheduled in the lanes that were rung. A plain invoke compares a version or an
// export with reality, for the API function, which has no handlers.
package handler

import (
	"context"
	"encoding/json"

	"southbound/functions/internal/run"
	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy"
	"southbound/shared/provider"
	"southbound/shared/transport"
	awstransport "southbound/shared/transport/aws"
	httptransport "southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
)

// Main begins the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		f := &function{}
		var err error
		f.Function, err = run.Begin(ctx, definitions, func(c *home.Config) {
			c.Leave, c.Count = queue.ByRunner, f.count
			// An agent that names no role is served with the rights that the stack's HandlerPolicy gives the function.
			c.Connector = func(known deploy.Secrets) deploy.Connector {
				return &transport.Connector{AWS: &awstransport.Sessions{Reserved: []string{c.Bucket, c.Table}, Endpoint: c.Endpoint},
					// What answers at a function's own addresses is its runtime, unless it runs on an emulator.
					HTTP: &httptransport.Sessions{Guarded: c.Endpoint == ""}, PostgreSQL: &postgresql.Sessions{Guarded: c.Endpoint == ""}, Secrets: known}
			}
		})
		if err != nil {
			return nil, err
		}
		f.prepare()
		return func(ctx context.Context, event json.RawMessage) (any, error) { return f.handle(ctx, event) }, nil
	})
}
