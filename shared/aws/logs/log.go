// Package logs keeps a searchable log: actions with their log lines and changes, and the history of
// parameters. Lanes commit them with their results. This package copies them into a store whose
// order suits queries. docs/design/log.md explains the design.
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

// Log is the log function: it copies committed actions and parameters into the store. Any number of
// processes may use it concurrently.
type Log struct {
	Store  *Store
	State  *dynamo.State // with Store as its Log
	Logger *slog.Logger
	// Metrics, if not nil, counts the logged actions and parameters, and failures.
	Metrics *emf.Set
}

func (l *Log) count(name string, n int) {
	if l.Metrics != nil {
		l.Metrics.Add(name, emf.Count, float64(n))
	}
}

// atOnce is about how many actions are read at a time. It limits memory; an action takes a few KB.
const atOnce = 8192

// spare is the end of an invocation that is reserved for the response.
const spare = 2 * time.Second

// Take logs the agents that messages name. It returns the messages whose agents could not be logged,
// and which have to be delivered again. The result is never nil.
func (l *Log) Take(ctx context.Context, messages []events.SQSMessage) []events.SQSBatchItemFailure {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-spare))
		defer cancel()
	}
	failed := []events.SQSBatchItemFailure{}
	byEnv := map[string]map[string][]string{} // ids of messages, by environment and agent
	for i := range messages {
		m, err := Decode(messages[i].Body)
		if err != nil {
			l.Logger.ErrorContext(ctx, "a message was passed over", "message",
				messages[i].MessageId, "error", err.Error())
			l.count("MessagesRefused", 1)
			continue
		}
		if byEnv[m.Env] == nil {
			byEnv[m.Env] = map[string][]string{}
		}
		byEnv[m.Env][m.Agent] = append(byEnv[m.Env][m.Agent], messages[i].MessageId)
	}
	for _, env := range slices.Sorted(maps.Keys(byEnv)) {
		for _, agent := range l.agents(ctx, env, slices.Sorted(maps.Keys(byEnv[env]))) {
			for _, id := range byEnv[env][agent] {
				failed = append(failed, events.SQSBatchItemFailure{ItemIdentifier: id})
			}
		}
	}
	return failed
}

// agents logs agents of an environment together. If that fails, it logs each agent separately, so that
// a damaged agent does not block the others. It returns the agents that could not be logged.
func (l *Log) agents(ctx context.Context, env string, agents []string) []string {
	if l.catchUp(ctx, env, agents) == nil {
		return nil
	}
	var failed []string
	for _, agent := range agents {
		if err := l.catchUp(ctx, env, []string{agent}); err != nil {
			l.Logger.ErrorContext(ctx, "not logged", "environment", env, "lane", agent, "error",
				err.Error())
			l.count("LogFaults", 1)
			failed = append(failed, agent)
		}
	}
	return failed
}

// CatchUp logs all committed actions and parameters of an environment that are not logged because
// messages were lost. If there are none, it costs three small reads. The sweep calls it for
// environments that are not quiet.
func (l *Log) CatchUp(ctx context.Context, env string) error { return l.catchUp(ctx, env, nil) }

// catchUp logs agents, or all if agents is nil, part by part. Parts that were logged before ctx ends
// stay logged. It writes the store before it removes the commits (Logged). After a crash in
// between, they are written again, and readers drop the duplicates by id.
func (l *Log) catchUp(ctx context.Context, env string, agents []string) error {
	for {
		began := time.Now()
		u, err := l.State.Unlogged(ctx, env, agents, atOnce)
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
			"parameters", len(u.Parameters), "commits", u.Commits(),
			"duration_ms", time.Since(began).Milliseconds())
		if !u.More {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.KindOf(err), "log actions", err)
		}
	}
}

// Parameters returns the changes of the parameters and facts of a name, newest first; "": of all
// names. It includes changes that are not logged yet.
func (l *Log) Parameters(
	ctx context.Context, env, name string,
) ([]dynamo.ParameterChange, error) {
	u, err := l.State.Unlogged(ctx, env, []string{}, math.MaxInt)
	if err != nil {
		return nil, err
	}
	logged, err := l.Store.Parameters(ctx, env, name)
	if err != nil {
		return nil, err
	}
	found := map[parameterKey]dynamo.ParameterChange{}
	for _, c := range append(logged, u.Parameters...) {
		if name == "" || c.Name == name {
			found[keyOf(&c)] = c
		}
	}
	return newestChanges(found), nil
}
