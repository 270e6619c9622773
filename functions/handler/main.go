// Command handler is the function that the queues of agents ring: it runs what is scheduled in the lanes that were rung.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"southbound/handlers"
	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
)

func main() {
	ctx := context.Background()
	c, err := home.FromEnv(os.Getenv)
	if err != nil {
		fail(err)
	}
	c.Definitions = handlers.All()
	h, err := home.Open(ctx, c)
	if err != nil {
		fail(err)
	}
	lambda.StartWithOptions(func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
		for _, m := range e.Records {
			got, err := queue.Decode(m.Body)
			if err != nil {
				continue
			}
			if _, err := h.Engine.RunLane(ctx, got.Env, got.Lane, time.Now().Add(10*time.Second)); err != nil {
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		return out, nil
	}, lambda.WithContext(ctx))
}

func fail(err error) {
	slog.Error("the function cannot start", "error", err)
	os.Exit(1)
}
