//go:build servers

package logs_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/deploy/state"
)

// cut ends all connections at a request.
type cut struct {
	mu    sync.Mutex
	n     int
	point int
	last  awstest.Fault // what becomes of that request
}

func (c *cut) decide(string, []byte) awstest.Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.n++; {
	case c.n == c.point:
		return c.last
	case c.n > c.point:
		return awstest.Drop
	}
	return awstest.None
}

func (c *cut) reached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n >= c.point
}

// TestCrashAnywhere ends the log function after every request that it makes, with and without the
// answer of the last one, and pins that before and after another run all is found once, whatever
// way it is stored. The answer of a request is the last thing that a process learns: with it or
// without, the servers have the same requests, so that the answer of one in three is lost.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, squeeze := range []bool{false, true} {
		t.Run(fmt.Sprint("squeezed=", squeeze), func(t *testing.T) {
			t.Parallel()
			for _, last := range []awstest.Fault{awstest.Drop, awstest.Lose} {
				for point := 1; ; point++ {
					if !chosen(point, last) {
						continue
					}
					w := newWorld(t, server.DynamoDB)
					w.squeeze = squeeze
					m := &maker{every: time.Second}
					healthy := w.process()
					// Commits with rows, so that pages and runs hold more than actions.
					l := "a"
					row := state.Row{
						ID:     id("a", 0),
						Intent: state.Intent{Agent: l, Version: 1, Hash: "h", Body: []byte("{}")},
						Outcome: state.Outcome{Compliance: state.Compliant, LastRun: state.RunSuccess,
							Blocked: state.NotBlocked},
					}
					actions := m.actions("a", 3, 8)
					fact := state.Parameter{Name: "size", Of: id("a", 0), Value: "7",
						Source: "fact", Updated: start}
					commits(t, healthy, l, actions, 2,
						state.Commit{Rows: []state.Row{row}, Parameters: []state.Parameter{fact}})
					c := &cut{point: point, last: last}
					w.faults = &awstest.Faults{Decide: c.decide}
					failed := w.process().Take(t.Context(), notice(l))
					w.faults = nil
					reached := c.reached()
					if !reached && len(failed) > 0 {
						t.Errorf("point %d: failed %+v", point, failed)
					}
					reason := fmt.Sprintf("point %d, fault %d", point, last)
					want(t, w.process(), state.ActionQuery{}, newestFirst(actions),
						reason+": after the crash")
					want(t, w.process(), state.ActionQuery{Resource: id("a", 1)},
						ofResource(newestFirst(actions), id("a", 1)),
						reason+": of a resource, after the crash")
					if failed := w.process().Take(t.Context(), notice(l)); len(failed) > 0 {
						t.Errorf("%s: again: %+v", reason, failed)
					}
					logged(t, w.process(), reason)
					want(t, w.process(), state.ActionQuery{}, newestFirst(actions),
						reason+": after another run")
					want(t, w.process(), state.ActionQuery{Resource: id("a", 1)},
						ofResource(newestFirst(actions), id("a", 1)),
						reason+": of a resource, after another run")
					if rows, err := w.process().State.AgentRows(t.Context(), env, l,
						true); err != nil || len(rows) != 1 {
						t.Errorf("%s: %v: rows %+v", reason, err, rows)
					}
					if facts, err := w.process().State.Parameters(t.Context(), env,
						state.ParameterQuery{Facts: true}); err != nil || len(facts) != 1 {
						t.Errorf("%s: %v: facts %+v", reason, err, facts)
					}
					if !reached {
						if point < 4 {
							t.Errorf("only %d points", point)
						}
						break
					}
				}
			}
		})
	}
}

// chosen reports whether a process crashes at a point. The answer of the last request is lost at one
// point in three, as both faults leave the same requests on the servers.
func chosen(point int, last awstest.Fault) bool { return point%3 == 1 || last == awstest.Drop }
