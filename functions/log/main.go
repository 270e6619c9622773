// Command log is the log function: it takes batches from the log queue and stores what lanes have committed so that it can be found. See docs/design/log.md.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"southbound/shared/aws/logs"
)

func main() {
	l := &logs.Log{Logger: slog.New(slog.NewJSONHandler(os.Stdout, nil))}
	lambda.Start(func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{BatchItemFailures: l.Take(ctx, e.Records)}, nil
	})
}
