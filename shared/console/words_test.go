package console

import (
	"bytes"
	"html/template"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"southbound/shared/api"
)

// TestVisible marks characters that hide or turn texts, except in values that forms send back.
func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"<p>plain é\n</p>":                "<p>plain é\n</p>",
		"<p>a\u202eb\x1b[31m</p>":         "<p>a⟨U+202E⟩b⟨U+001B⟩[31m</p>",
		"<p title=\"\u2066x\">y</p>":      "<p title=\"⟨U+2066⟩x\">y</p>",
		"<input value=\"\u202e\">\u202e":  "<input value=\"\u202e\">⟨U+202E⟩",
		"<textarea>\u202e</textarea>\x7f": "<textarea>\u202e</textarea>⟨U+007F⟩",
		"<textarea></textarea>\x7f":       "<textarea></textarea>⟨U+007F⟩",
	} {
		if got := string(visible([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestHides pins that the search for hidden characters finds each of them, and no other.
func TestHides(t *testing.T) {
	t.Parallel()
	for c := range rune(0x110000) {
		if got := hides([]byte("a" + string(c) + "é–z")); got != hidden(c) {
			t.Fatalf("%U: %v", c, got)
		}
	}
}

// TestWords pins how numbers, durations and long names are written.
func TestWords(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567",
		-1000: "-1,000", -100: "-100"} {
		if got := number(n); got != want {
			t.Errorf("number %d: %q", n, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "less than 1 min ago",
		59 * time.Second: "less than 1 min ago", -time.Second: "in less than 1 min",
		3 * time.Minute: "3 min ago", -2 * time.Minute: "in 2 min", 47 * time.Hour: "47 h ago",
		72 * time.Hour: "3 days ago"} {
		if got := distance(d); got != want {
			t.Errorf("distance %v: %q", d, got)
		}
	}
	whole := "fs::File[web1,path=/" + strings.Repeat("long/", 30) + "end]"
	if got := cut(whole, 40); len([]rune(got.Text)) != 40 || got.Whole != whole ||
		!strings.HasPrefix(got.Text, "fs::File[web1") || !strings.HasSuffix(got.Text, "end]") {
		t.Errorf("%+v", got)
	}
	for in, want := range map[string]string{"there is no": "There is no.", "std::Null is": "std::Null is.",
		"Why?": "Why?", "": "", "--force is missing": "--force is missing."} {
		if got := sentence(in); got != want {
			t.Errorf("sentence %q: %q", in, got)
		}
	}
}

// TestStatuses gives every status a symbol and a tone of its own.
func TestStatuses(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range api.Statuses() {
		v := statusOf(s)
		if v.Word != string(s) || v.Icon == "" || v.Tone == "" {
			t.Errorf("%+v", v)
		}
		seen[v.Tone] = true
	}
	if len(seen) != 5 {
		t.Errorf("tones %v", seen)
	}
}

// TestPick cuts regions out of a page, with elements of the same name within.
func TestPick(t *testing.T) {
	t.Parallel()
	page := `<main><div id="x"><div data-live id="a"><div>1</div><br></div></div>` +
		`<ul data-live id="b"><li>2</ul><p data-live>none</p></main>`
	for ids, want := range map[string]string{
		"a": `<div data-live id="a"><div>1</div><br></div>` + "\n",
		"*": `<div data-live id="a"><div>1</div><br></div>` + "\n" + `<ul data-live id="b"><li>2</ul>` +
			"\n",
		"x": "",
	} {
		if got := string(pick([]byte(page), ids)); got != want {
			t.Errorf("%q: %q", ids, got)
		}
	}
}

// tokenized is regions by a tokenizer of HTML.
func tokenized(page []byte, f func(id string, text []byte)) {
	z := html.NewTokenizer(bytes.NewReader(page))
	at, start, depth := 0, 0, 0
	var tag, id string
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		from := at
		at += len(z.Raw())
		switch kind {
		case html.StartTagToken:
			name, more := z.TagName()
			switch {
			case id != "" && string(name) == tag:
				depth++
			case id == "":
				if got := regionID(z, more); got != "" {
					tag, id, start, depth = string(name), got, from, 1
				}
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if id == "" || string(name) != tag {
				continue
			}
			if depth--; depth == 0 {
				f(id, page[start:at])
				id = ""
			}
		}
	}
}

// TestRegionsOf finds the regions of pages as a tokenizer of HTML does, whatever their texts are.
func TestRegionsOf(t *testing.T) {
	t.Parallel()
	page := template.Must(template.New("").Parse(`<!DOCTYPE html><title>{{.}}</title><body data-live><div id="x" ` +
		`title="{{.}}"><p>{{.}}</p><div title="{{.}}" data-live id="a"><div>{{.}}<divx></divx></div><a href="?q={{.}}">x</a>` +
		`</div></div>{{.}}<textarea>{{.}}</textarea><section id="s" data-live><section data-live id="in">{{.}}</section>` +
		`<pre>{{.}}</pre></section><p data-live id="{{.}}">{{.}}</p><ul data-live id="open"><li>{{.}}`))
	for _, text := range append(attacks(), "", " data-live id=x", "</div>", "<div data-live id=b>", "a > b data-live", "div>") {
		var b bytes.Buffer
		if err := page.Execute(&b, text); err != nil {
			t.Fatal(err)
		}
		var got, want []string
		regions(b.Bytes(), func(id string, text []byte) { got = append(got, id, string(text)) })
		tokenized(b.Bytes(), func(id string, text []byte) { want = append(want, id, string(text)) })
		if !slices.Equal(got, want) || len(want) < 4 {
			t.Errorf("%q: %q, and not %q", text, got, want)
		}
	}
}

// TestBudgets pins the sizes of what a first visit loads.
func TestBudgets(t *testing.T) {
	t.Parallel()
	f := newFiles()
	for name, limit := range map[string]int{"console.css": 20_000, "console.js": 20_000,
		"icon.svg": 1000} {
		if n := len(f.all[name].text); n == 0 || n > limit {
			t.Errorf("%s has %d bytes, at most %d", name, n, limit)
		}
	}
}

// TestTook pins how long something took, for people.
func TestTook(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{-time.Second: "", 0: "", 999 * time.Microsecond: "",
		63 * time.Millisecond: "63 ms", 1540 * time.Millisecond: "1.5 s", 90 * time.Second: "1 min 30 s",
		3*time.Hour + 4*time.Minute + 5*time.Second: "3 h 4 min"} {
		if got := took(from, from.Add(d)); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
