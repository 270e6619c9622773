// Command sweep is the function that a schedule calls each minute: it does what nobody else is left to do, in all environments.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"southbound/handlers"
	"southbound/shared/aws/home"
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
	lambda.StartWithOptions(func(ctx context.Context) error {
		resting, err := h.State.Resting(ctx)
		for env := range resting {
			if _, err := h.Engine.Sweep(ctx, env); err != nil {
				return err
			}
		}
		return err
	}, lambda.WithContext(ctx))
}

func fail(err error) {
	slog.Error("the function cannot start", "error", err)
	os.Exit(1)
}
