// Package log is the log function. It receives batches from the log queue, and stores committed
// actions and parameters in the searchable log. See docs/design/log.md.
package log

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"southbound/functions/internal/run"
	"southbound/shared/aws/logs"
	"southbound/shared/provider"
)

// Main starts the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		f, err := run.Begin(ctx, definitions, nil)
		if err != nil {
			return nil, err
		}
		l := &logs.Log{Store: f.Home.LogStore, State: f.Home.State, Logger: f.Log,
			Metrics: f.Metrics}
		return func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			defer f.Flush(ctx)
			return events.SQSEventResponse{BatchItemFailures: l.Take(ctx, e.Records)}, nil
		}, nil
	})
}
