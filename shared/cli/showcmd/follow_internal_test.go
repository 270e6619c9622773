package showcmd

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/actions"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/fault"
)

// told is a home that answers one request after the other. Its actions have numbers.
type told struct {
	api.Home
	answers []answer
	end     func() // is called when there is no answer left
	after   string // token of the last request
	asked   []string
}

// answer is what a request for changes returns, and what is recorded when actions are read then.
type answer struct {
	changes api.Changes
	ids     []string
	err     error
}

func (h *told) Changes(_ context.Context, _, after string, _ time.Duration) (api.Changes, error) {
	h.after = after
	if len(h.answers) == 0 {
		h.end()
		return api.Changes{}, context.Canceled
	}
	a := h.answers[0]
	if a.err != nil || !a.changes.Actions { // actions are not read then
		h.answers = h.answers[1:]
	}
	return a.changes, a.err
}

func (h *told) Actions(_ context.Context, _ string, q api.ActionQuery) (list []api.Action, _ error) {
	h.asked = append(h.asked, q.After)
	for _, id := range h.answers[0].ids {
		if id > q.After {
			list = append([]api.Action{{ID: id}}, list...)
		}
	}
	h.answers = h.answers[1:]
	return list, nil
}

// TestFollow pins that actions are read when the changes feed reports some, that each is printed
// once, and that a home which cannot be reached is asked again, once something was read.
func TestFollow(t *testing.T) {
	t.Parallel()
	some, none := api.Changes{Token: "1", Actions: true}, api.Changes{Token: "2"}
	away := fault.New(fault.Unavailable, "ask h", "no connection")
	for name, c := range map[string]struct {
		answers []answer
		want    string // the printed ids, and the actions after which some are read
		said    string
		err     fault.Kind
	}{
		"changes": {[]answer{{some, []string{"a", "b"}, nil}, {none, nil, nil}, {some, []string{"a", "b", "c"}, nil}},
			"a b c; ,b", "", ""},
		"away": {[]answer{{some, []string{"a"}, nil}, {none, nil, away}, {none, nil, away}, {some, []string{"a", "b"}, nil},
			{none, nil, fault.New(fault.Busy, "", "x")}},
			"a b; ,a", "no connection; trying|connected again|x; trying", ""},
		"away at the start": {[]answer{{none, nil, away}}, "; ", "", fault.Unavailable},
		"gone":              {[]answer{{some, nil, nil}, {none, nil, fault.New(fault.NotFound, "", "x")}}, "; ", "", fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			h := &told{answers: c.answers, end: cancel}
			var out, said bytes.Buffer
			console := &output.Console{Out: &out, Err: &said, JSON: true}
			l := &LogCommands{Console: console, Location: &home.Location{}, Session: &home.Session{Home: h}}
			l.Actions = &actions.Printer{Console: console, Location: l.Location, Session: l.Session}
			err := (&follower{LogCommands: l, first: time.Millisecond}).run(ctx)
			if fault.KindOf(err) != c.err && (c.err != "" || err != nil) {
				t.Errorf("%v, want %s", err, c.err)
			}
			var ids []string
			for line := range strings.Lines(out.String()) {
				_, rest, _ := strings.Cut(line, `"id":"`)
				id, _, _ := strings.Cut(rest, `"`)
				ids = append(ids, id)
			}
			if got := strings.Join(ids, " ") + "; " + strings.Join(h.asked, ","); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			text := said.String()
			for part := range strings.SplitSeq(c.said, "|") {
				var found bool
				if _, text, found = strings.Cut(text, part); !found {
					t.Errorf("%q is not said in %q", part, said.String())
				}
			}
		})
	}
}
