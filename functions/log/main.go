// Command log is the log function: it takes batches from the log queue and stores what lanes have committed so that it can be found. See docs/design/log.md.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"southbound/shared/aws/home"
	"southbound/shared/aws/logs"
)

func main() {
	logger := slog.New(slog.NewJSONHandler(os.Stdout, nil))
	c, err := home.FromEnv(os.Getenv)
	if err != nil {
		fail(logger, err)
	}
	h, err := home.Open(context.Background(), c)
	if err != nil {
		fail(logger, err)
	}
	l := &logs.Log{Store: h.LogStore, State: h.State, Logger: logger}
	lambda.Start(func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{BatchItemFailures: l.Take(ctx, e.Records)}, nil
	})
}

func fail(logger *slog.Logger, err error) {
	logger.Error("the function cannot start", "error", err.Error())
	os.Exit(1)
}
