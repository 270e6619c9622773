package consoletest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Host is the host under which a Browser reaches a console; name it in the options of the console.
const Host = "127.0.0.1:8300"

// Browser is a browser without script. It keeps cookies and follows redirects.
type Browser struct {
	t       testing.TB
	handler http.Handler
	cookies map[string]*http.Cookie
	URL     string // of the page that was answered last
	// CookiesSet are all cookies that answers have set, as they were set.
	CookiesSet []*http.Cookie
}

// NewBrowser returns a browser that visits the pages of a handler.
func NewBrowser(t testing.TB, h http.Handler) *Browser {
	return &Browser{t: t, handler: h, cookies: map[string]*http.Cookie{}}
}

// Do makes one request, with headers in pairs, and follows no redirect.
func (b *Browser) Do(method, target, body string, headers ...string) *http.Response {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, target, strings.NewReader(body))
	r.Host = Host
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Del(headers[i])
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	rec := httptest.NewRecorder()
	b.handler.ServeHTTP(rec, r)
	res := rec.Result()
	for _, c := range res.Cookies() {
		b.CookiesSet = append(b.CookiesSet, c)
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	b.URL = target
	return res
}

// Get returns a page after all redirects. It fails the test unless the status is want and the page
// is valid, see CheckHTML.
func (b *Browser) Get(target string, want int) string {
	b.t.Helper()
	return b.follow(b.Do(http.MethodGet, target, ""), want)
}

// Post sends a form, and returns the page after all redirects.
func (b *Browser) Post(target string, form url.Values, want int) string {
	b.t.Helper()
	return b.follow(b.Do(http.MethodPost, target, form.Encode()), want)
}

func (b *Browser) follow(res *http.Response, want int) string {
	b.t.Helper()
	for n := 0; res.StatusCode/100 == 3 && n < 5; n++ {
		res = b.Do(http.MethodGet, res.Header.Get("Location"), "")
	}
	text := Body(b.t, res)
	if res.StatusCode != want {
		b.t.Fatalf("%s: status %d, want %d: %s", b.URL, res.StatusCode, want, TextOf(text))
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		CheckHTML(b.t, b.URL, text)
	}
	return text
}

// Body reads the body of an answer.
func Body(t testing.TB, res *http.Response) string {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TextOf returns the text of a page with single spaces: what a person reads.
func TextOf(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var out []string
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(strings.Join(out, " ")), " ")
		case html.TextToken:
			out = append(out, string(z.Text()))
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			out = append(out, " ")
		}
	}
}

// void are the elements without an end tag.
func void(name string) bool {
	return strings.Contains(" area base br col embed hr img input link meta source track wbr ",
		" "+name+" ")
}

// CheckHTML fails a test if a page, or a part of one, is not well-formed: each element is closed in
// order, ids are unique, labels and descriptions name controls that exist, and neither style nor
// script is inline.
func CheckHTML(t testing.TB, name, page string) {
	t.Helper()
	for _, p := range problemsOf(page) {
		t.Errorf("%s: %s", name, p)
	}
}

func problemsOf(page string) (problems []string) {
	z := html.NewTokenizer(strings.NewReader(page))
	var open []string
	ids, refs := map[string]bool{}, map[string]string{}
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		tok := z.Token()
		switch kind {
		case html.StartTagToken, html.SelfClosingTagToken:
			problems = append(problems, attributeProblems(&tok, ids, refs)...)
			if kind == html.StartTagToken && !void(tok.Data) {
				open = append(open, tok.Data)
			}
		case html.EndTagToken:
			if len(open) == 0 || open[len(open)-1] != tok.Data {
				problems = append(problems, "</"+tok.Data+"> closes nothing; open are "+
					strings.Join(open, " > "))
				continue
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		problems = append(problems, "not closed: "+strings.Join(open, " > "))
	}
	if !strings.Contains(page, "<!doctype") { // a part
		return problems
	}
	for id, by := range refs {
		if !ids[id] {
			problems = append(problems, by+" names the id "+id+", which no element has")
		}
	}
	if n := strings.Count(page, "<h1"); n != 1 {
		problems = append(problems, "the page does not have exactly one h1")
	}
	return problems
}

func attributeProblems(tok *html.Token, ids map[string]bool, refs map[string]string) (out []string) {
	seen, src := map[string]bool{}, false
	for _, a := range tok.Attr {
		if seen[a.Key] {
			out = append(out, "<"+tok.Data+"> has the attribute "+a.Key+" twice")
		}
		seen[a.Key] = true
		switch {
		case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
			out = append(out, "<"+tok.Data+"> has the inline attribute "+a.Key)
		case a.Key == "src":
			src = true
		case a.Key == "id" && ids[a.Val]:
			out = append(out, "the id "+a.Val+" is there twice")
		case a.Key == "id":
			ids[a.Val] = true
		case a.Key == "for" || a.Key == "aria-describedby" || a.Key == "aria-labelledby" ||
			a.Key == "list":
			for id := range strings.FieldsSeq(a.Val) {
				refs[id] = a.Key
			}
		case (a.Key == "href" || a.Key == "action") &&
			strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:"):
			out = append(out, "<"+tok.Data+"> runs script: "+a.Val)
		}
	}
	if tok.Data == "style" || tok.Data == "script" && !src {
		out = append(out, "<"+tok.Data+"> is inline")
	}
	return out
}
