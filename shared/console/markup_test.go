package console

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// parsed returns HTML as a browser reads it, so that the ways to write a character do not count.
func parsed(t *testing.T, text string) string {
	t.Helper()
	n, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := html.Render(&b, n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMarkup pins that the writer of rows writes what the blocks of templates with the same names do,
// whatever characters a text has.
func TestMarkup(t *testing.T) {
	hostile := `"><script>alert('1')</script>&lt;&amp;+=` + "`\x00\u2028é"
	blocks := newTemplates().pages["actions.html"]
	for _, c := range []struct {
		block string
		data  any
		write func(*markup)
	}{
		{"status", statusView{Word: "failed", Icon: "cross", Tone: "bad"}, func(m *markup) {
			m.status(&statusView{Word: "failed", Icon: "cross", Tone: "bad"})
		}},
		{"status", statusView{Word: hostile, Icon: "dot", Tone: hostile}, func(m *markup) {
			m.status(&statusView{Word: hostile, Icon: "dot", Tone: hostile})
		}},
		{"time", timeView{}, func(m *markup) { m.time(&timeView{}) }},
		{"time", timeView{"2026-05-01T12:00:00Z", "12:00:00", "2026-05-01 12:00:00 UTC", ""}, func(m *markup) {
			m.time(&timeView{"2026-05-01T12:00:00Z", "12:00:00", "2026-05-01 12:00:00 UTC", ""})
		}},
		{"time", timeView{hostile, hostile, hostile, hostile}, func(m *markup) {
			m.time(&timeView{hostile, hostile, hostile, hostile})
		}},
		{"ref", resourceRef{Key: "k", Whole: "w", URL: "/console/e/resource?id=a%5Bb%5D&tz=UTC"}, func(m *markup) {
			m.ref(&resourceRef{Key: "k", Whole: "w", URL: "/console/e/resource?id=a%5Bb%5D&tz=UTC"})
		}},
		{"ref", resourceRef{Type: hostile, Agent: hostile, Key: hostile, Whole: hostile, URL: "/"}, func(m *markup) {
			m.ref(&resourceRef{Type: hostile, Agent: hostile, Key: hostile, Whole: hostile, URL: "/"})
		}},
	} {
		var want bytes.Buffer
		if err := blocks.ExecuteTemplate(&want, c.block, c.data); err != nil {
			t.Fatal(err)
		}
		var m markup
		c.write(&m)
		if got, want := parsed(t, string(m.html())), parsed(t, want.String()); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.block, got, want)
		}
	}
}

// TestActionRows pins that no text of an action becomes a tag, and that a link stays on this server.
func TestActionRows(t *testing.T) {
	const hostile = `"><script>x</script><a href="javascript:x">`
	row := actionRow{Row: hostile, URL: "javascript:x", At: timeView{hostile, hostile, hostile, hostile},
		Took: hostile, Of: resourceRef{Type: hostile, Agent: hostile, Key: hostile, Whole: hostile, URL: "//evil.example"},
		Kind: hostile, Outcome: statusView{hostile, hostile, hostile, hostile}, Change: hostile, Reason: hostile,
		Levels: levels(1200, 1, 2)}
	page := parsed(t, "<table><tbody>"+string(actionRows([]actionRow{row, row}))+"</tbody></table>")
	for part, n := range map[string]int{"<script": 0, `href="#"`: 4, "<tr": 2, "<a ": 4,
		"1,200 lines": 2, "1 error<": 2, "2 warnings<": 2} {
		if got := strings.Count(page, part); got != n {
			t.Errorf("%q is there %d times, want %d: %s", part, got, n, page)
		}
	}
}
