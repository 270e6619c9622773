package console

import (
	"net/url"
	"slices"
	"testing"

	"southbound/shared/deploy/state"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason, query string
		terms         []string
		chips         []string
	}{
		"None":  {"no parameter selects everything", "", nil, nil},
		"Empty": {"a form sends empty fields", "status=&agent=&type=&set=&q=+", nil, nil},
		"Status": {"a status", "status=failed", []string{"status=failed"},
			[]string{"status: failed → /r"}},
		"Agents": {"several agents, each once", "agent=a&agent=b&agent=a", []string{"agent=a", "agent=b"},
			[]string{"agent: a → /r?agent=b", "agent: b → /r?agent=a"}},
		"All": {"terms stand in one order", "q=motd&set=s&type=fs%3A%3AFile&agent=a&status=failed",
			[]string{"status=failed", "agent=a", "type=fs::File", "set=s", "id~=motd"},
			[]string{"status: failed → /r?agent=a&q=motd&set=s&type=fs%3A%3AFile",
				"agent: a → /r?q=motd&set=s&status=failed&type=fs%3A%3AFile",
				"type: fs::File → /r?agent=a&q=motd&set=s&status=failed",
				"set: s → /r?agent=a&q=motd&status=failed&type=fs%3A%3AFile",
				"words: motd → /r?agent=a&set=s&status=failed&type=fs%3A%3AFile"}},
		"Words": {"all words match anywhere", "q=etc++passwd", []string{"id~=etc", "id~=passwd"},
			[]string{"words: etc  passwd → /r"}},
		"Glob":  {"a glob stays as it is", "q=fs::File[*", []string{"fs::File[*"}, []string{"words: fs::File[* → /r"}},
		"Other": {"other parameters are no terms", "cursor=x&diff=sides", nil, nil},
		"Bidi":  {"controls are visible", "agent=%E2%80%AE", []string{"agent=\u202e"}, []string{`agent: \u202e → /r`}},
	}
	at := func(q url.Values) string {
		if len(q) == 0 {
			return "/r"
		}
		return "/r?" + q.Encode()
	}
	for name, tc := range tests {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		s := selectionOf(q)
		if !slices.Equal(s.terms(), tc.terms) {
			t.Errorf("%s (%s): terms %q", name, tc.reason, s.terms())
		}
		if _, err := state.ParseFilter(s.terms()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var chips []string
		for _, c := range chipsOf(s.values(), listParams(), at) {
			chips = append(chips, c.Text+" → "+c.Remove)
		}
		if !slices.Equal(chips, tc.chips) {
			t.Errorf("%s (%s): chips %q", name, tc.reason, chips)
		}
	}
}
