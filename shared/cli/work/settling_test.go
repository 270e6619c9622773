package work

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// followed is a home with actions, with resources that all require one another, and with facts.
type followed struct {
	logged
	facts   []state.Parameter
	desired map[string]any
}

// Resource implements api.Home.
func (f *followed) Resource(_ context.Context, _ string, id resource.ID) (api.Detail, error) {
	return api.Detail{Requires: []resource.ID{"t::T[a,name=of]"}, Desired: f.desired}, nil
}

// Parameters implements api.Home.
func (f *followed) Parameters(context.Context, string, bool) ([]state.Parameter, error) {
	return f.facts, nil
}

// TestSettling pins when a command ends because facts do not settle, and what it names.
func TestSettling(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	id := func(name string) resource.ID { return resource.ID("t::T[a,name=" + name + "]") }
	action := func(i, version int) api.Action {
		return api.Action{ID: fmt.Sprintf("%03d", i), Resource: id("b"), Version: version, Action: state.ActionDeploy,
			Outcome: state.StatusDeployed, Change: diff.Updated, Started: began.Add(time.Duration(i) * time.Second)}
	}
	n := func(n int, alter func(*api.Action)) (out []api.Action) {
		for i := range n {
			x := action(i, 1)
			alter(&x)
			out = append(out, x)
		}
		return out
	}
	same := func(*api.Action) {}
	fact := func(of string, at time.Time) []state.Parameter {
		return []state.Parameter{{Name: "v", Of: id(of), Updated: at}}
	}
	late := began.Add(time.Minute)
	output := map[string]any{"text": []any{"x", map[string]any{"secret": "output:t::T[a,name=of]#p"}}}
	for _, c := range []struct {
		reason  string
		actions []api.Action
		facts   []state.Parameter
		desired map[string]any
		want    string // in the error; "": none
	}{
		{reason: "a fact of a requirement has changed", actions: n(maxFollowed, same), facts: fact("of", late),
			want: `fact "v" of t::T[a,name=of] does not settle`},
		{reason: "once less", actions: n(maxFollowed-1, same), facts: fact("of", late)},
		{reason: "a secret output, deep in a text", actions: n(maxFollowed, same), desired: output,
			want: `secret output "p" of t::T[a,name=of] does not settle`},
		{reason: "another resource's fact", actions: n(maxFollowed, same), facts: fact("else", late)},
		{reason: "a fact that stayed", actions: n(maxFollowed, same), facts: fact("of", began.Add(-1))},
		{reason: "a version each", actions: n(maxFollowed, func(x *api.Action) { x.Version = int(x.Started.Unix()) }),
			facts: fact("of", late)},
		{reason: "drift that is corrected", actions: n(maxFollowed, func(x *api.Action) { x.Action = state.ActionRepair }),
			facts: fact("of", late)},
		{reason: "runs that failed", actions: n(maxFollowed, func(x *api.Action) { x.Outcome = state.StatusFailed }),
			facts: fact("of", late)},
	} {
		w := &Waiter{Location: &home.Location{}, Session: &home.Session{Home: &followed{
			logged: logged{actions: c.actions}, facts: c.facts, desired: c.desired}}}
		s := w.settling(Request{}, began)
		if err := s.look(t.Context(), began.Add(firstLook-1)); err != nil {
			t.Errorf("%s: it looks before its time: %v", c.reason, err)
		}
		err := s.look(t.Context(), began.Add(firstLook))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "t::T[a,name=b]")) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}
