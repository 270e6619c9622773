//go:build servers

package logs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/logs"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const env = "prod"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// maker makes actions with ids as the home makes them: one every so often.
type maker struct {
	n     int
	every time.Duration
}

func id(agent string, n int) resource.ID {
	return resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: fmt.Sprintf("n%05d", n)})
}

// action makes the next action.
func (m *maker) action(of resource.ID) state.Action {
	m.n++
	at := start.Add(time.Duration(m.n) * m.every)
	return state.Action{ID: fmt.Sprintf("%012x%08x%012x", at.UnixMilli(), m.n, 0xabc), Resource: of,
		Version: 1 + m.n/1000, Action: state.ActionDeploy,
		Outcome: state.StatusDeployed, Change: diff.Created, Started: at,
		Finished: at.Add(30 * time.Millisecond), Pack: "0123456789abcdef",
		Changes: map[string]diff.Diff{"mode": {Current: nil, Desired: "0644"}},
		Messages: []provider.Line{{At: at, Level: provider.LevelInfo,
			Msg: fmt.Sprintf("created number %d", m.n)}}}
}

// actions makes actions of resources of an agent in turn.
func (m *maker) actions(agent string, resources, n int) []state.Action {
	out := make([]state.Action, n)
	for i := range out {
		out[i] = m.action(id(agent, i%resources))
	}
	return out
}

// commits commits actions to an agent, some at once.
func commits(
	t *testing.T, l *logs.Log, agent string, actions []state.Action, some int, more ...state.Commit,
) {
	t.Helper()
	lease, err := l.State.Acquire(t.Context(), env, agent, "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(actions, some) {
		more = append(more, state.Commit{Actions: part})
	}
	for _, c := range more {
		c.Guard = state.Guard{Key: agent, Fence: lease.Fence}
		if _, err := l.State.Commit(t.Context(), env, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.State.Release(t.Context(), env, lease); err != nil {
		t.Fatal(err)
	}
}

// notice makes the messages of notices of agents.
func notice(agents ...string) []events.SQSMessage {
	var out []events.SQSMessage
	for i, agent := range agents {
		out = append(out, events.SQSMessage{MessageId: fmt.Sprint(i),
			Body: fmt.Sprintf(`{"v":1,"env":%q,"agent":%q}`, env, agent)})
	}
	return out
}

// newestFirst returns actions as a query returns them.
func newestFirst(lists ...[]state.Action) []state.Action {
	out := slices.Concat(lists...)
	slices.SortFunc(out, func(a, b state.Action) int { return -cmpText(a.ID, b.ID) })
	return out
}

func cmpText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// want pins what a query returns.
func want(t *testing.T, l *logs.Log, q state.ActionQuery, actions []state.Action, reason string) {
	t.Helper()
	got, err := l.State.Actions(t.Context(), env, q)
	if err != nil {
		t.Errorf("%s: %v", reason, err)
		return
	}
	if len(got) != len(actions) {
		t.Errorf("%s: %d actions, want %d", reason, len(got), len(actions))
		return
	}
	if diff := deploytest.Diff(actions, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%.2000s", reason, diff)
	}
}

// logged pins that nothing is left to log.
func logged(t *testing.T, l *logs.Log, reason string) {
	t.Helper()
	u, err := l.State.Unlogged(t.Context(), env, nil, 1)
	if err != nil || !u.Empty() {
		t.Errorf("%s: %v: %d actions are not logged", reason, err, len(u.Actions))
	}
}
