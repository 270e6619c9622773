package cli_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// leaks is a program of the scripts: it looks for secrets, the lines of the file SECRETS, in each of
// its other arguments, and prints where it looked and each place with a secret:
//
//	PATH            a file, or all files of a directory, as they are and decompressed
//	api=URL,TOKEN   the answers to all GET operations that the API describes; TOKEN is a file
//	console=URL     the pages of a console that the address signs in to, and all that they lead to
//
// It returns 0 if no secret was found and each argument had something to look at.
func leaks(out io.Writer, args []string) int {
	text, err := os.ReadFile(args[0])
	if err != nil {
		_, _ = fmt.Fprintln(out, err)
		return 2
	}
	s := &seeker{out: out, forms: formsOf(strings.Fields(string(text)))}
	for _, arg := range args[1:] {
		n, what := 0, "files"
		if at, is := strings.CutPrefix(arg, "api="); is {
			n, what = s.api(at), "operations"
		} else if at, is := strings.CutPrefix(arg, "console="); is {
			n, what = s.console(at), "pages"
		} else {
			n = s.files(arg)
		}
		_, _ = fmt.Fprintf(out, "%d %s of %s\n", n, what, arg)
		if s.failed != nil || n == 0 {
			_, _ = fmt.Fprintln(out, "not searched:", s.failed)
			return 2
		}
	}
	if s.found > 0 {
		return 1
	}
	return 0
}

// seeker looks for secrets.
type seeker struct {
	out    io.Writer
	forms  map[string]string // the text to look for; its name
	found  int
	failed error
}

// formsOf returns the forms of secrets: as they are, in hexadecimal digits, in base64 at any place of
// a longer text, in URLs, in HTML and in JSON.
func formsOf(secrets []string) map[string]string {
	forms := map[string]string{}
	for _, secret := range secrets {
		digits := hex.EncodeToString([]byte(secret))
		quoted, _ := json.Marshal(secret)
		escaped := ""
		for _, c := range []byte(secret) {
			escaped += fmt.Sprintf("%%%02X", c)
		}
		for form, name := range map[string]string{secret: "text", digits: "hex",
			strings.ToUpper(digits): "hex", url.QueryEscape(secret): "a query", url.PathEscape(secret): "a path",
			escaped: "a URL", strings.ToLower(escaped): "a URL", html.EscapeString(secret): "HTML",
			strings.Trim(string(quoted), `"`): "JSON"} {
			forms[form] = name
		}
		for skip := range 3 { // the alignments; the first and the last letters hold neighbors
			padded := append(make([]byte, skip), secret...)
			for _, code := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				text := code.EncodeToString(padded)
				forms[text[4*min(skip, 1):len(text)-4]] = "base64"
			}
		}
	}
	return forms
}

// look reports the secrets in bytes.
func (s *seeker) look(at string, b []byte) {
	for form, name := range s.forms {
		if bytes.Contains(b, []byte(form)) {
			s.found++
			_, _ = fmt.Fprintf(s.out, "%s has a secret as %s: %s\n", at, name, form)
		}
	}
}

// files returns the number of files at a path.
func (s *seeker) files(path string) (n int) {
	plain, err := zstd.NewReader(nil)
	if err != nil {
		s.failed = err
		return 0
	}
	defer plain.Close()
	s.failed = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		n++
		s.look(path, b)
		if whole, failed := plain.DecodeAll(b, nil); failed == nil {
			s.look(path+", decompressed", whole)
		}
		return err
	})
	return n
}

// maxPages bounds the pages of a console, and the requests for one operation.
const maxPages, maxRequests = 400, 40

// console returns the number of pages of a console.
func (s *seeker) console(open string) (n int) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.failed = err
		return 0
	}
	c := &http.Client{Jar: jar, Timeout: 5 * time.Minute}
	links := regexp.MustCompile(`(?:href|src|action|data-url)="([^"#]+)`)
	seen := map[string]bool{}
	for queue := []string{open}; len(queue) > 0 && n < maxPages; queue = queue[1:] {
		at, err := url.Parse(queue[0])
		if err != nil || seen[at.String()] || strings.Contains(at.Path, "/assets/") ||
			strings.Contains(at.Path, "signout") {
			continue
		}
		seen[at.String()] = true
		b, header, status := s.get(c, at.String(), "")
		if status == http.StatusOK {
			n++
		}
		s.look(at.String(), b)
		if !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, m := range links.FindAllStringSubmatch(string(b), -1) {
			to, err := at.Parse(html.UnescapeString(m[1]))
			if err == nil && to.Host == at.Host && strings.Contains(to.Path, "/console/") {
				queue = append(queue, to.String())
			}
		}
	}
	return n
}

// get returns an answer; of a stream, its beginning.
func (s *seeker) get(c *http.Client, at, token string) ([]byte, http.Header, int) {
	req, err := http.NewRequest(http.MethodGet, at, nil) //nolint:noctx // the client has a limit
	if err != nil {
		s.failed = err
		return nil, nil, 0
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("X-Inmanta-Tid", "default")
	}
	res, err := c.Do(req)
	if err != nil {
		s.failed = err
		return nil, nil, 0
	}
	defer func() { _ = res.Body.Close() }()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		line, _ := bufio.NewReader(res.Body).ReadBytes('\n')
		return line, res.Header, res.StatusCode
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.failed = err
	}
	return b, res.Header, res.StatusCode
}

// api returns the number of GET operations of an API that have answered. Their parameters are the
// values of members of earlier answers with the same name; it prints the operations without an
// answer.
func (s *seeker) api(at string) int {
	at, file, _ := strings.Cut(at, ",")
	token, err := os.ReadFile(file)
	if err != nil {
		s.failed = err
		return 0
	}
	c := &http.Client{Timeout: 5 * time.Minute}
	b, _, _ := s.get(c, at+"/openapi.json", "")
	var described struct {
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name, In string
				Required bool
			}
		}
	}
	if s.failed = json.Unmarshal(b, &described); s.failed != nil {
		return 0
	}
	known := values{"q": {"a"}, "environment": {"default"}, "env": {"default"}}
	asked, answered := map[string]bool{}, map[string]bool{}
	for range 4 { // answers name the parameters of further requests
		for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
			op, is := described.Paths[path]["get"]
			if !is {
				continue
			}
			queries := url.Values{}
			for _, p := range op.Parameters {
				if p.In == "query" && (p.Required || p.Name == "environment") && len(known[p.Name]) > 0 {
					queries.Set(p.Name, known[p.Name][0])
				}
			}
			for _, to := range known.expand(path) {
				if asked[to] {
					continue
				}
				asked[to] = true
				b, _, status := s.get(c, at+to+"?"+queries.Encode(), strings.TrimSpace(string(token)))
				s.look(to, b)
				if status == http.StatusOK {
					answered[path] = true
					known.learn(b)
				}
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
		if _, is := described.Paths[path]["get"]; is && !answered[path] {
			_, _ = fmt.Fprintln(s.out, "no answer from", path)
		}
	}
	return len(answered)
}

// values are values of parameters by name.
type values map[string][]string

// add adds a value.
func (v values) add(name, value string) {
	if value != "" && len(v[name]) < maxRequests && !slices.Contains(v[name], value) {
		v[name] = append(v[name], value)
	}
}

// learn adds the members of an answer. An id of a resource, a number of a version and the hash of a
// file have several names.
func (v values) learn(b []byte) {
	var answer any
	if json.Unmarshal(b, &answer) != nil {
		return
	}
	var walk func(name string, x any)
	walk = func(name string, x any) {
		switch x := x.(type) {
		case map[string]any:
			for key, item := range x {
				walk(key, item)
			}
		case []any:
			for _, item := range x {
				walk(name, item)
			}
		case string:
			v.add(name, x)
			switch {
			case strings.HasSuffix(x, "]") && strings.Contains(x, "::"):
				v.add("id", x)
			case name == "file" && len(x) == 64:
				v.add("hash", x)
			}
		case float64:
			v.add(name, fmt.Sprint(x))
			if name == "version" {
				v.add("number", fmt.Sprint(x))
			}
		}
	}
	walk("", answer)
}

// expand returns a path with each combination of the values of its parameters; none if the value of
// one is not known.
func (v values) expand(path string) []string {
	before, rest, found := strings.Cut(path, "{")
	if !found {
		return []string{path}
	}
	name, rest, _ := strings.Cut(rest, "}")
	var out []string
	for _, value := range v[name] {
		for _, end := range v.expand(rest) {
			if out = append(out, before+url.PathEscape(value)+end); len(out) >= maxRequests {
				return out
			}
		}
	}
	return out
}
