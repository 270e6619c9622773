package worker_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/worker"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/transport"
)

// still is a state in which nothing happens.
type still struct {
	worker.State
	turn string
}

func (s still) Env(context.Context, string) (state.Env, error) {
	return state.Env{Turn: s.turn}, nil
}

func (still) Agents(context.Context, string, ...string) (map[string]state.Agent, error) {
	return map[string]state.Agent{"here": {Agent: resource.Agent{Name: "here", Transport: "local"}},
		"there": {Agent: resource.Agent{Name: "there", Transport: "aws"}}}, nil
}

func (still) Commit(context.Context, string, state.Commit) (state.Committed, error) {
	return state.Committed{}, nil
}

// TestView pins that agents of others are seen as paused, and that the log says what ran and how it
// ended, and nothing of what anything contains.
func TestView(t *testing.T) {
	t.Parallel()
	var lines hometest.Lines
	counts := map[state.Status]int{}
	v := &worker.View{State: still{}, Leave: transport.Packs{}.ByRunner,
		Log:   slog.New(slog.NewJSONHandler(&lines, nil)),
		Count: func(s state.Status, n int) { counts[s] += n }}
	agents, err := v.Agents(t.Context(), "prod")
	if err != nil || !agents["here"].Paused || agents["there"].Paused {
		t.Errorf("%v: %+v", err, agents)
	}
	const secret = "hunter2"
	action := func(outcome state.Status, change diff.Change) state.Action {
		return state.Action{ID: "id-" + string(outcome), Resource: "std::Null[there,name=x]",
			Version: 4, Action: state.ActionDeploy, Outcome: outcome, Change: change,
			Changes:  map[string]diff.Diff{"value": {Current: secret, Desired: secret}},
			Messages: []provider.Line{{Msg: secret, Kwargs: map[string]any{"a": secret}}}}
	}
	_, err = v.Commit(t.Context(), "prod",
		state.Commit{Guard: state.Guard{Key: "there", Fence: 7}, Actions: []state.Action{
			action(state.StatusDeployed, diff.NoChange), action(state.StatusDeployed, diff.Created),
			action(state.StatusFailed, diff.NoChange)}})
	if err != nil || counts[state.StatusDeployed] != 2 || counts[state.StatusFailed] != 1 {
		t.Errorf("%v: %v", err, counts)
	}
	said := strings.Split(strings.TrimSpace(lines.String()), "\n")
	if len(said) != 2 || strings.Contains(lines.String(), secret) {
		t.Fatalf("%d lines:\n%s", len(said), lines.String())
	}
	for _, want := range []string{`"environment":"prod"`, `"version":4`, `"agent":"there"`,
		`"resource":"std::Null[there,name=x]"`, `"action":"id-deployed"`, `"fence":7`} {
		if !strings.Contains(said[0], want) {
			t.Errorf("no %s in %s", want, said[0])
		}
	}
	if !strings.Contains(said[1], `"level":"WARN"`) {
		t.Errorf("a failure is said as %s", said[1])
	}
}

// TestViewTellsOfSets wants whoever works on orders to be told of sets, and of what is in none
// where orders are worked on.
func TestViewTellsOfSets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		turn string
		want []string
	}{
		{"nobody works on orders", "", []string{"one"}},
		{"somebody has worked on orders", "turn", []string{"one", inventory.Shared}},
	} {
		var got []string
		v := &worker.View{State: still{turn: c.turn},
			Sets: func(_ string, sets []string) { got = sets }}
		if _, err := v.Env(t.Context(), "prod"); err != nil {
			t.Fatal(err)
		}
		var rows []state.Row
		for _, set := range []string{"one", "", "one", ""} {
			body, err := (&resource.Resource{ID: "std::Null[there,name=x]", Set: set}).Encode()
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, state.Row{Intent: state.Intent{Body: body}})
		}
		_, err := v.Commit(t.Context(), "prod",
			state.Commit{Rows: rows, Actions: make([]state.Action, 1)})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v: told of %q, want %q", c.why, err, got, c.want)
		}
	}
}
