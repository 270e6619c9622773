// Package run contains the common parts of the functions: start, logging and metrics.
package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"southbound/functions/internal/memory"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home"
	"southbound/shared/provider"
	"southbound/shared/transport"
)

// EnvLogLevel is the name of the environment variable with the log level: debug, info (the
// default), warn or error.
const EnvLogLevel = "SOUTHBOUND_LOG_LEVEL"

// Function is a function that has started.
type Function struct {
	Home    *home.Home
	Log     *slog.Logger
	Metrics *emf.Set
}

// Begin opens the home with handlers. If change is not nil, it modifies the configuration from the
// environment.
func Begin(
	ctx context.Context, definitions []provider.Definition, change func(c *home.Config),
) (*Function, error) {
	c, err := home.FromEnv(os.Getenv)
	if err != nil {
		return nil, err
	}
	f := &Function{Log: Logger(os.Getenv(EnvLogLevel)), Metrics: emf.NewSet(c.Prefix)}
	c.Definitions, c.Log = definitions, f.Log
	if c.Packs, err = transport.BroughtBy(definitions); err != nil {
		return nil, err
	}
	if change != nil {
		change(&c)
	}
	f.Home, err = home.Open(ctx, c)
	return f, err
}

// Main starts a function, and serves events with the handler that serve returns. If serve fails,
// Main logs the reason and ends the process.
func Main(serve func(ctx context.Context) (handler any, err error)) {
	ctx := context.Background()
	memory.Limit(os.Getenv)
	h, err := serve(ctx)
	if err != nil {
		Logger("").ErrorContext(ctx, "the function cannot begin", "error", err.Error())
		os.Exit(1)
	}
	lambda.StartWithOptions(h, lambda.WithContext(ctx))
}

// Logger returns a logger that writes JSON lines with the id of the request.
func Logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		l = slog.LevelInfo
	}
	return slog.New(requests{slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: l})})
}

// requests adds the id of the request to log lines.
type requests struct{ slog.Handler }

// Handle implements slog.Handler.
func (r requests) Handle(ctx context.Context, line slog.Record) error {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		line.AddAttrs(slog.String("request", lc.AwsRequestID))
	}
	return r.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (r requests) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requests{r.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (r requests) WithGroup(name string) slog.Handler { return requests{r.Handler.WithGroup(name)} }

// Flush writes the metrics of an invocation.
func (f *Function) Flush(ctx context.Context) {
	properties := map[string]any{}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		properties["request"] = lc.AwsRequestID
	}
	if err := f.Metrics.Flush(os.Stdout, f.Home.Engine.Clock.Now(), properties); err != nil {
		f.Log.WarnContext(ctx, "metrics were lost", "error", err.Error())
	}
}

// ErrNoDeadline means that an invocation has no deadline, although Lambda always sets one.
var ErrNoDeadline = errors.New("the invocation has no deadline")
