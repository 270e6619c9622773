// Command export is the function that stores versions: for the CLI behind its URL, and for pipelines with an archive in S3.
package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"southbound/handlers"
	"southbound/shared/aws/home"
	"southbound/shared/fault"
)

func main() {
	ctx := context.Background()
	c, err := home.FromEnv(os.Getenv)
	if err != nil {
		fail(err)
	}
	c.Definitions = handlers.All()
	if _, err := home.Open(ctx, c); err != nil {
		fail(err)
	}
	lambda.StartWithOptions(func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, fault.New(fault.Unsupported, "export", "this function does nothing yet")
	}, lambda.WithContext(ctx))
}

func fail(err error) {
	slog.Error("the function cannot start", "error", err)
	os.Exit(1)
}
