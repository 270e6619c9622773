// Package logs keeps what was done so that it can be found: actions with their log lines and
// changes, and the history of parameters. Lanes commit them with their results; this package copies
// them into a store that is in the order of questions. docs/design/log.md says how, and why.
package logs

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/emf"
	"southbound/shared/fault"
)

// Log is the log function: it brings what was committed into the store. It may be used by any
// number of processes at once.
type Log struct {
	Store  *Store
	State  *dynamo.State // with Store as its Log
	Logger *slog.Logger
	// Metrics, when not nil, count what was logged, and environments of which something could not
	// be.
	Metrics *emf.Set
}

func (l *Log) count(name string, n int) {
	if l.Metrics != nil {
		l.Metrics.Add(name, emf.Count, float64(n))
	}
}

// atOnce is about how many actions are taken on at once. It bounds memory; an action takes a few KB
// there.
const atOnce = 8192

// spare is what is left of an invocation to answer with what was not done.
const spare = 2 * time.Second

// Take logs what messages name. It returns the messages whose lanes could not be logged, never nil:
// they are to come again.
func (l *Log) Take(ctx context.Context, messages []events.SQSMessage) []events.SQSBatchItemFailure {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-spare))
		defer cancel()
	}
	failed := []events.SQSBatchItemFailure{}
	byEnv := map[string]map[string][]string{} // ids of messages by environment and lane
	for i := range messages {
		m, err := Decode(messages[i].Body)
		if err != nil {
			l.Logger.ErrorContext(ctx, "a message was passed over", "message",
				messages[i].MessageId, "error", err.Error())
			continue
		}
		if byEnv[m.Env] == nil {
			byEnv[m.Env] = map[string][]string{}
		}
		byEnv[m.Env][m.Lane] = append(byEnv[m.Env][m.Lane], messages[i].MessageId)
	}
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		for _, lane := range l.lanes(ctx, env, slices.Sorted(maps.Keys(byEnv[env]))) {
			for _, id := range byEnv[env][lane] {
				failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: id})
			}
		}
	}
	return failed
}

// lanes logs lanes of an environment, together, and, when that fails, each for itself: one that is
// damaged does not hold up others. It returns those that could not be logged.
func (l *Log) lanes(ctx context.Context, env string, lanes []string) []string {
	if l.catchUp(ctx, env, lanes) == nil {
		return nil
	}
	var failed []string
	for _, lane := range lanes {
		if err := l.catchUp(ctx, env, []string{lane}); err != nil {
			l.Logger.ErrorContext(ctx, "not logged", "environment", env, "lane", lane, "error",
				err.Error())
			l.count("LogFaults", 1)
			failed = append(failed, lane)
		}
	}
	return failed
}

// CatchUp logs all that was committed in an environment and is not logged: what lost messages leave
// behind. When there is nothing it costs three small reads. The sweep calls it for environments
// that do not rest.
func (l *Log) CatchUp(ctx context.Context, env string) error { return l.catchUp(ctx, env, nil) }

// catchUp logs lanes, or all when they are nil, part by part: what was done when ctx ends is done.
// The store is written before the cursors say so (Logged): after a crash in between the same block
// is written once more, and ids make that invisible.
func (l *Log) catchUp(ctx context.Context, env string, lanes []string) error {
	for {
		began := time.Now()
		u, err := l.State.Unlogged(ctx, env, lanes, atOnce)
		if err != nil || u.Empty() {
			return err
		}
		if err := l.Store.Write(ctx, u); err != nil {
			return err
		}
		if err := l.State.Logged(ctx, u); err != nil {
			return err
		}
		l.count("Logged", len(u.Actions)+len(u.Parameters))
		l.Logger.InfoContext(ctx, "logged", "environment", env, "actions", len(u.Actions),
			"parameters", len(u.Parameters), "lanes", u.Lanes(),
			"duration_ms", time.Since(began).Milliseconds())
		if !u.More {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.KindOf(err), "log actions", err)
		}
	}
}

// Parameters returns the changes of parameters and facts that q selects, the newest first, logged
// or not.
func (l *Log) Parameters(
	ctx context.Context, env string, q ParameterQuery,
) ([]dynamo.ParameterChange, error) {
	u, err := l.State.Unlogged(ctx, env, []string{}, math.MaxInt)
	if err != nil {
		return nil, err
	}
	logged, err := l.Store.Parameters(ctx, env, q)
	if err != nil {
		return nil, err
	}
	found := map[parameterKey]dynamo.ParameterChange{}
	for _, c := range append(logged, u.Parameters...) {
		if q.selects(&c) {
			found[keyOf(&c)] = c
		}
	}
	return newestChanges(found, q.Limit), nil
}
