package console

import (
	"fmt"
	"html/template"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/net/html"

	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/definition"
)

// documented renders the template documentation for attributes.
func documented(t *testing.T, s *site, texts map[string]any, attributes ...definition.Attribute) string {
	t.Helper()
	r := s.request(httptest.NewRequestWithContext(t.Context(), "GET", "/console/e/", nil),
		&session{})
	v := s.documentation(r, &definition.Service{Part: definition.Part{Attributes: attributes}}, texts,
		func(target string) *transferForm {
			if target != "up" {
				return nil
			}
			return &transferForm{"/console/e/do/x", [][2]string{{"target", target}}}
		})
	parts, err := template.ParseFS(templateFiles, "templates/parts*.html")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := parts.ExecuteTemplate(&b, "documentation", v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// written is an attribute with documentation.
func written(name string, annotations ...any) definition.Attribute {
	a := definition.Attribute{Name: name, Type: "string", Modifier: definition.ReadOnly,
		Annotations: map[string]any{"web_presentation": "documentation"}}
	for i := 0; i+1 < len(annotations); i += 2 {
		a.Annotations[fmt.Sprint(annotations[i])] = annotations[i+1]
	}
	return a
}

func testSite(diagrams bool) *site {
	s := New(nil, Options{Now: func() time.Time { return time.Unix(0, 0) }}).site
	delete(s.files.all, mermaidModule)
	if diagrams {
		s.files.all[mermaidModule] = file{kind: "text/javascript"}
	}
	return s
}

// TestMarkdown pins what of Markdown is rendered, and how.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"headings go below those of the page, without gaps", "# A\n### B\n## C",
			`<h3 id="p-a">A</h3> <h4 id="p-b">B</h4> <h4 id="p-c">C</h4>`},
		{"two headings with a name", "# A\n# A\n# !", `<h3 id="p-a">A</h3> <h3 id="p-a-2">A</h3> <h3 id="p--1">!</h3>`},
		{"line breaks stay", "a\nb", "<p>a<br> b</p>"},
		{"tables", "|a|\n|-|\n|1|", "<table> <thead> <tr> <th>a</th> </tr> </thead> <tbody> <tr> <td>1</td> </tr> </tbody> </table>"},
		{"task lists", "- [x] a\n- [ ] b", `<ul> <li>☑ a</li> <li>☐ b</li> </ul>`},
		{"emoji and quotes", `:tada: "a" -- b`, "<p>🎉 “a” – b</p>"},
		{"links", "<https://example.org> www.example.org", `<p><a href="https://example.org" rel="nofollow noreferrer">https://example.org</a> <a href="http://www.example.org" rel="nofollow noreferrer">www.example.org</a></p>`},
		{"links within the text", "[a](#b)", `<p><a href="#p-b" rel="nofollow noreferrer">a</a></p>`},
		{"images become links", "![a](https://example.org/a.png)", `<p><a href="https://example.org/a.png" rel="nofollow noreferrer">a</a></p>`},
		{"an image without text", "![](https://example.org/a.png)", `<p><a href="https://example.org/a.png" rel="nofollow noreferrer">https://example.org/a.png</a></p>`},
		{"an image in a link is its text", "[![a](b.png)](https://example.org)", `<p><a href="https://example.org" rel="nofollow noreferrer">a</a></p>`},
		{"code keeps its language", "```go\nx\n```", `<pre><code class="language-go">x </code></pre>`},
		{"raw HTML is not rendered", "a <b>b</b>\n\n<div>c</div>", "<p>a b</p>"},
		{"entities", "&emsp;&lt;b&gt;", "<p>\u2003&lt;b&gt;</p>"},
	} {
		blocks, ok := newMarkdown().render(c.text, "p-", 3)
		if !ok || len(blocks) != 1 {
			t.Errorf("%s: %d blocks", c.name, len(blocks))
			continue
		}
		got := strings.Join(strings.FieldsFunc(string(blocks[0].HTML), func(r rune) bool {
			return r == ' ' || r == '\n'
		}), " ")
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestDocumentation pins tabs, diagrams and buttons.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	const graph = "```mermaid\nflowchart LR\na --> b\n```\n"
	icons := newIcons(fstest.MapFS{"assets/icons.json.gz": {Data: zipped([]byte(
		`{"solid":{"tv":["0 0 1 1","M1"],"question":["0 0 1 1","M2"],"registered":["0 0 1 1","M5"]},` +
			`"regular":{"clock":["0 0 1 1","M3"]},"brands":{"github":["0 0 1 1","M4"]}}`))}})
	for _, c := range []struct {
		name       string
		diagrams   bool
		texts      map[string]any
		attributes []definition.Attribute
		has, no    []string
	}{
		{"no documentation", true, nil, []definition.Attribute{{Name: "a", Modifier: "r"}}, nil,
			[]string{"<"}},
		{"an attribute that customers set is none", true, map[string]any{"a": "x"},
			[]definition.Attribute{{Name: "a", Modifier: "rw", Annotations: written("a").Annotations}}, nil,
			[]string{"<"}},
		{"one text has no title", true, map[string]any{"a": "# x"},
			[]definition.Attribute{written("a", "web_title", "T", "web_icon", "FaTv")},
			[]string{`<h2 id="doc-a-x">x</h2>`}, []string{"<summary", "<script"}},
		{"several are cards, in their order", true, map[string]any{"a": "1", "b_c": "2"},
			[]definition.Attribute{written("a", "web_title", "Last"), written("b_c", "web_order", 1.0,
				"web_icon", "FaRegClock", "web_default_open", false)},
			[]string{`<details class="card doc" id="doc-b_c"><summary>`, ` d="M3"`, "B c</h2>",
				`id="doc-a" open>`}, nil},
		{"icons by rule", true, nil, []definition.Attribute{written("a", "web_icon", "FaTv"),
			written("b", "web_icon", "FaGithub"), written("c", "web_icon", "FaNone"),
			written("d", "web_icon", "FaRegistered")}, []string{"M1", "M4", "M2", "M5"}, nil},
		{"the default until the model has written", true, nil, []definition.Attribute{{Name: "a",
			Modifier: "r", Annotations: written("a").Annotations, Default: "later"}},
			[]string{"<p>later</p>"}, nil},
		{"nothing yet", true, map[string]any{"a": nil}, []definition.Attribute{written("a")},
			[]string{"The model has written nothing yet."}, nil},
		{"a diagram is a frame without rights, and its text", true, map[string]any{"a": "x\n" + graph + "y"},
			[]definition.Attribute{written("a")}, []string{`sandbox="allow-scripts"`,
				`title="Diagram: flowchart LR"`, "<pre tabindex=\"0\">flowchart LR\na --&gt; b", "<script src=",
				"<p>x</p>", "<p>y</p>"}, []string{"allow-same-origin"}},
		{"without mermaid the text", false, map[string]any{"a": graph},
			[]definition.Attribute{written("a")}, []string{"Diagram, as text", "a --&gt; b"},
			[]string{"<iframe", "<script"}},
		{"a button of an offered transfer", true,
			map[string]any{"a": "```setState\n{\"targetState\": \"up\", \"displayText\": \"Go <up>\"}\n```"},
			[]definition.Attribute{written("a")},
			[]string{`action="/console/e/do/x"`, `name="target" value="up"`, "Go &lt;up&gt;</button>"}, nil},
		{"a button of a transfer that is not offered", true,
			map[string]any{"a": "```setState\n{\"targetState\": \"down\"}\n```"},
			[]definition.Attribute{written("a")},
			[]string{"Set state down: not offered in this state."}, []string{"<form"}},
		{"a button that is written wrong", true, map[string]any{"a": "```setState\n{\n```"},
			[]definition.Attribute{written("a")}, []string{"needs targetState"}, []string{"<form"}},
		{"a text that is too large", true, map[string]any{"a": strings.Repeat("a<", 1<<20)},
			[]definition.Attribute{written("a")}, []string{"shown as it is", "a&lt;a&lt;", "…"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := testSite(c.diagrams)
			s.icons = icons
			out := documented(t, s, c.texts, c.attributes...)
			consoletest.CheckHTML(t, c.name, out)
			for _, text := range c.has {
				if !strings.Contains(out, text) {
					t.Errorf("%q is missing in\n%s", text, out)
				}
			}
			for _, text := range c.no {
				if strings.Contains(out, text) {
					t.Errorf("%q is in\n%s", text, out)
				}
			}
		})
	}
}

// TestCostly pins that texts which would take long to render are shown as they are.
func TestCostly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		rendered   bool
	}{
		{"a table of 2,000 links", "|a|\n|-|\n" + strings.Repeat("|[a](b) x_y_z|\n", 2000), true},
		{"10,000 paragraphs of links", strings.Repeat("[a](b) *c*\n\n", 10000), true},
		{"rules and underlines", strings.Repeat("-", 300) + "\n\n" + strings.Repeat("* ", 40), true},
		{"10,000 brackets", strings.Repeat("[a](", 10000), false},
		{"20,000 images", strings.Repeat("![a](\n", 20000), false},
		{"100,000 stars", strings.Repeat("**a_ ", 100000), false},
		{"1,000 quotes", strings.Repeat("> ", 1000) + "a", false},
		{"1,000 lists", strings.Repeat("1. ", 1000) + "a", false},
		{"a list that is indented by 500", strings.Repeat(" ", 500) + "- a", false},
		{"more than 1 MB", strings.Repeat("a", maxMarkdown+1), false},
	} {
		if _, ok := newMarkdown().render(c.text, "", 2); ok != c.rendered {
			t.Errorf("%s: rendered %v", c.name, ok)
		}
	}
}

// attacks returns texts that would run script, reach other hosts, or leave their place, if a
// renderer were wrong.
func attacks() []string {
	raw := []string{
		"<script>canary()</script>", "<img src=x onerror=canary()>", "<svg onload=canary()>",
		"<svg><script>canary()</script></svg>", "<iframe src=javascript:canary()>",
		"<iframe srcdoc='<script>parent.canary()</script>'>", "<body onload=canary()>",
		"<a href=javascript:canary()>x</a>", "<form action=javascript:canary()><button>x",
		"<math><mtext></form><form><mglyph><style></math><img src onerror=canary()>",
		"<details open ontoggle=canary()>", "<style>*{background:url(javascript:canary())}</style>",
		"<link rel=stylesheet href=//evil.example>", "<meta http-equiv=refresh content=0;url=//evil.example>",
		"<base href=//evil.example>", "<object data=javascript:canary()>", "<embed src=//evil.example>",
		"<!--><script>canary()</script>-->", "<![CDATA[<script>canary()</script>]]>",
		"<?php <script>canary()</script> ?>", "</pre></details><script>canary()</script>",
		"</textarea><script>canary()</script>", "</title><script>canary()</script>",
		"<scr<script>ipt>canary()</script>", "<SCRIPT\n>canary()</SCRIPT\n>", "<template><script>canary()</script>",
		"<noscript><p title=\"</noscript><img src=x onerror=canary()>\">",
		"<input autofocus onfocus=canary()>", "<video><source onerror=canary()>",
		"<x:script xmlns:x='http://www.w3.org/1999/xhtml'>canary()</x:script>",
		"&lt;script&gt;canary()&lt;/script&gt;", "&#60;script&#62;canary()&#60;/script&#62;",
	}
	links := []string{
		"[x](javascript:canary())", "[x](JaVaScRiPt:canary())", "[x](java\tscript:canary())",
		"[x](&#106;avascript:canary())", "[x](javascript&colon;canary())", "[x](%6aavascript:canary())",
		"[x](<javascript:canary()>)", "[x](data:text/html,<script>canary()</script>)",
		"[x](vbscript:canary())", "[x]( javascript:canary())", "[x]: javascript:canary()\n\n[x]",
		"<javascript:canary()>", "![x](javascript:canary())", "![x](data:image/svg+xml,<svg/onload=canary()>)",
		"[x](https://a \"' onclick='canary()\")", "[x](https://a'onclick=canary())",
		"![\" onerror=\"canary()](x)", "[x](blob:canary)", "[x](file:///etc/passwd)",
		"![x][x]\n\n[x]: javascript:canary()",
	}
	blocks := []string{
		"```\"><script>canary()</script>\nx\n```", "```mermaid\n</pre><script>canary()</script>\n```",
		"```mermaid\nflowchart LR\na[\"<img src=x onerror=canary()>\"]\n```",
		"```mermaid\nflowchart LR\na-->b\nclick a \"javascript:canary()\"\n```",
		"```mermaid\nflowchart LR\na-->b\nclick a call canary()\n```",
		"```mermaid\n%%{init: {\"securityLevel\": \"loose\"}}%%\nflowchart LR\na[\"<script>canary()</script>\"]\n```",
		"```mermaid\n---\ntitle: <script>canary()</script>\n---\nflowchart LR\na\n```",
		"```mermaid\n\" onload=canary() x=\"\n```",
		"```setState\n{\"targetState\": \"up\", \"displayText\": \"</button><script>canary()</script>\"}\n```",
		"```setState\n{\"targetState\": \"\\\"><script>canary()</script>\"}\n```",
		"# <script>canary()</script> {#x onclick=canary()}", "# a {onclick=canary()}",
		"\uE0000\uE001 \uE0001\uE001", "|<script>canary()</script>|\n|-|\n|<img src=x onerror=canary()>|",
		"- [x] <script>canary()</script>", ":\"><script>canary()</script>:",
	}
	return append(append(raw, links...), blocks...)
}

// TestHostileDocumentation pins that the texts of attacks give only elements and attributes of
// documents, and only links with http, https or mailto.
func TestHostileDocumentation(t *testing.T) {
	t.Parallel()
	if n := len(attacks()); n < 60 {
		t.Errorf("only %d attacks", n)
	}
	s := testSite(true)
	for _, text := range append(attacks(), strings.Join(attacks(), "\n\n")) {
		out := documented(t, s, map[string]any{"a": text, "b": text}, written("a"),
			written("b", "web_title", text, "web_icon", text))
		consoletest.CheckHTML(t, text, out)
		for _, p := range harmful(out) {
			t.Errorf("%q gives %s in\n%s", text, p, out)
		}
	}
}

// harmful returns the elements and attributes of a page that documentation must not have.
func harmful(out string) (bad []string) {
	allowed := " a abbr b blockquote br button circle code dd del details div dl dt em form h2 h3 h4 h5 " +
		"h6 hr i iframe input li ol p path pre script strong sub summary sup svg table tbody td th thead " +
		"tr ul use "
	z := html.NewTokenizer(strings.NewReader(out))
	for z.Next() != html.ErrorToken {
		tok := z.Token()
		if tok.Type != html.StartTagToken && tok.Type != html.SelfClosingTagToken {
			continue
		}
		if !strings.Contains(allowed, " "+tok.Data+" ") {
			bad = append(bad, "<"+tok.Data+">")
		}
		for _, a := range tok.Attr {
			own := strings.HasPrefix(a.Val, "/console/")
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				bad = append(bad, a.Key)
			case (a.Key == "src" || a.Key == "action") && !own:
				bad = append(bad, a.Key+"="+a.Val)
			case a.Key == "href" && !linkable(a.Val):
				bad = append(bad, a.Key+"="+a.Val)
			case a.Key == "sandbox" && a.Val != "allow-scripts":
				bad = append(bad, a.Key+"="+a.Val)
			case a.Key == "class" && tok.Data == "script":
				bad = append(bad, "a script with a class")
			}
		}
	}
	return bad
}

func linkable(link string) bool {
	scheme, _, has := strings.Cut(link, ":")
	return !has || strings.ContainsAny(scheme, "/?#") || scheme == "http" || scheme == "https" ||
		scheme == "mailto"
}

// FuzzMarkdown renders any text; nothing harmful comes out.
func FuzzMarkdown(f *testing.F) {
	for _, text := range attacks() {
		f.Add(text)
	}
	m := newMarkdown()
	f.Fuzz(func(t *testing.T, text string) {
		blocks, _ := m.render(text, "p-", 2, languageMermaid)
		for _, b := range blocks {
			if bad := harmful(string(b.HTML)); bad != nil {
				t.Errorf("%v in %s", bad, b.HTML)
			}
		}
	})
}

// TestSanitize pins that the second guard alone keeps script out, and closes all elements.
func TestSanitize(t *testing.T) {
	t.Parallel()
	for _, text := range attacks() {
		out := sanitize([]byte(text), "p-")
		consoletest.CheckHTML(t, text, out)
		for _, p := range harmful(out) {
			t.Errorf("%q gives %s in %s", text, p, out)
		}
	}
	for in, want := range map[string]string{
		`<p>a<em>b</p>c</em>`:                            "<p>a<em>b</em></p>c",
		`<a href="//evil" onclick=x title=t>a</a>`:       `<a title="t" rel="nofollow noreferrer">a</a>`,
		`<h3 id="main">a</h3><h4 id="p-x">`:              `<h3>a</h3><h4 id="p-x"></h4>`,
		`<code class="x">a</code><ol start="3"></ol>`:    `<code>a</code><ol start="3"></ol>`,
		`<script>a</script><style>b</style><!--c-->&lt;`: "ab&lt;",
	} {
		if out := sanitize([]byte(in), "p-"); out != want {
			t.Errorf("%s gives %s, not %s", in, out, want)
		}
	}
}
