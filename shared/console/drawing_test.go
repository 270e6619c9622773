package console

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"southbound/shared/service/lifecycle"
)

// TestLifecycleDrawing pins that a lifecycle shows the labels of states, the kinds of transfers and
// the current state, and that back edges are drawn as such.
func TestLifecycleDrawing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../service/lifecycle/testdata/simple.json")
	if err != nil {
		t.Fatal(err)
	}
	var m lifecycle.Machine
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	s := testSite(false)
	r := s.request(httptest.NewRequestWithContext(t.Context(), "GET", "/console/e/", nil), nil)
	v := s.lifecycleDrawing(r, &m, "up", func(state string) string { return "?state=" + state })
	for _, want := range []string{`<a href="?state=up" class="box current good">`, ">success</text>",
		"<title>start → acknowledged: auto, validate</title>", ">on update</text>",
		`<g class="line back">`, `class="line error"`} {
		if !strings.Contains(string(v.SVG), want) {
			t.Errorf("%q is missing in %s", want, v.SVG)
		}
	}
	if len(v.Rows) != len(m.States) || v.Rows[0].Title.Text != "start" {
		t.Errorf("rows: %+v", v.Rows)
	}
}
