//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// site is the console of a user's command line over the stack, visited without script.
type site struct {
	*testing.T
	http.Client
	address string // of the console
	root    string // the path of the environment
}

// console starts the console with the credentials of the user, and signs in.
func (u *user) console(t *testing.T) *site {
	t.Helper()
	cmd := u.command(t.Context(), "console", "--no-open", "--json")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the console says: %s", &problems)
		}
	})
	var line struct{ Open string }
	if err := json.NewDecoder(out).Decode(&line); err != nil {
		t.Fatalf("the console prints no address: %v", err)
	}
	open, err := url.Parse(line.Open)
	if err != nil {
		t.Fatal(err)
	}
	x := &site{T: t, address: open.Scheme + "://" + open.Host, root: "/console/" + u.env + "/"}
	x.Jar, _ = cookiejar.New(nil) // without options it does not fail
	x.get(open.RequestURI())
	return x
}

// ask makes a request with headers in pairs. With a form it posts that. The caller closes the body.
func (x *site) ask(ctx context.Context, path string, form url.Values, headers ...string) *http.Response {
	x.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
		headers = append(headers, "Content-Type", "application/x-www-form-urlencoded")
	}
	r, err := http.NewRequestWithContext(ctx, method, x.address+path, body)
	if err != nil {
		x.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := x.Do(r)
	if err != nil {
		x.Fatal(err)
	}
	return res
}

var tagOf = regexp.MustCompile(`<[^>]*>`)

// read returns the text of an answer, as a person reads it.
func (x *site) read(res *http.Response) string {
	x.Helper()
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		x.Fatal(err)
	}
	text := strings.Join(strings.Fields(tagOf.ReplaceAllString(string(b), " ")), " ")
	if res.StatusCode != http.StatusOK {
		x.Errorf("%s: %s: %s", res.Request.URL, res.Status, text)
	}
	return text
}

func (x *site) get(path string) string { return x.read(x.ask(x.Context(), path, nil)) }

func (x *site) post(path string, form url.Values) string {
	form.Set("back", x.root)
	return x.read(x.ask(x.Context(), path, form))
}

// console walks through the console of the stack: pages, a repair of what a person has changed,
// regions that follow by polling and by a stream, and the audit.
func console(t *testing.T, w *world) {
	u, bucket := w.user(t, "console"), w.target(t)
	u.write(t, "site.yaml", u.cloud(1)+"  - type: aws::s3::Object\n    attributes: {bucket: "+bucket+
		", key: index.html, content: hello}\n")
	if s := u.export(t); s.Counts["deployed"] != 1 {
		t.Fatalf("the export answers %+v", s)
	}
	x := u.console(t)
	id := "aws::s3::Object[cloud,bucket=" + bucket + ",key=index.html]"
	for path, wants := range map[string][]string{
		"":                                   {"Nothing is wrong", "Version 1"},
		"resources":                          {bucket, "deployed"},
		"resources?status=deployed":          {"1 of 1", bucket},
		"resources?status=failed":            {"No resource"},
		"resource?id=" + url.QueryEscape(id): {"index.html", "site.yaml"},
		"agents":                             {"cloud", "aws"},
		"actions":                            {"index.html", "deploy"},
		"versions":                           {"in force"},
		"versions/1":                         {"index.html"},
		"parameters":                         {"Parameters"},
		"services":                           {"Services"},
		"orders":                             {"Orders"},
		"graph":                              {"aws::s3::Object"},
		"search?q=aws::s3::Object":           {"index.html"},
	} {
		text := x.get(x.root + path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%q has no %q: %s", path, want, text)
			}
		}
	}

	if _, err := w.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket,
		Key: aws.String("index.html"), Body: strings.NewReader("changed by hand")}); err != nil {
		t.Fatal(err)
	}
	if got := x.post(x.root+"do/repair", url.Values{"scope": {"all"}}); !strings.Contains(got,
		"1 resource is checked and repaired") {
		t.Errorf("a repair says %s", got)
	}
	until(t, "the object is repaired", 5*time.Minute, func() bool {
		is, _ := w.object(t, bucket, "index.html")
		return is == "hello"
	})
	x.follows()
	got := x.get(x.root + "audit")
	for _, act := range []string{"repair", "halt", "unhalt"} {
		if !strings.Contains(got, act) {
			t.Errorf("the audit has no %s: %s", act, got)
		}
	}
}

// follows halts the environment. The regions of the overview show it, by polling and by the stream.
func (x *site) follows() {
	x.Helper()
	poll := func(digest string) (string, string) {
		res := x.ask(x.Context(), x.root, nil, "X-Region", "*", "If-None-Match", digest)
		if res.StatusCode == http.StatusNotModified {
			_ = res.Body.Close()
			return "", digest
		}
		return x.read(res), res.Header.Get("ETag")
	}
	_, digest := poll("")
	// The regions change while the repair ends, and with times such as "1 min ago", on a busy machine
	// with each poll.
	for before, polls := "-", 0; before != "" && polls < 20; polls++ {
		var text string
		if text, digest = poll(digest); text == before {
			x.Fatalf("regions that have not changed are sent again: %s", text)
		}
		before = text
		time.Sleep(time.Second)
	}
	ctx, cancel := context.WithTimeout(x.Context(), 5*time.Minute)
	defer cancel()
	stream := x.ask(ctx, "/console/live?page="+url.QueryEscape(x.root), nil)
	defer func() { _ = stream.Body.Close() }()
	x.post(x.root+"do/halt", url.Values{})
	if got, _ := poll(digest); !strings.Contains(got, "halted") {
		x.Errorf("the regions after a halt: %s", got)
	}
	said := bufio.NewScanner(stream.Body)
	said.Buffer(nil, 1<<20)
	for !strings.Contains(said.Text(), "halted") {
		if !said.Scan() {
			x.Fatalf("the stream does not tell that the environment is halted: %v", said.Err())
		}
	}
	x.post(x.root+"do/unhalt", url.Values{})
}
