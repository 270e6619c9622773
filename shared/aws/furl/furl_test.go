package furl_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/furl"
)

// signed is an event as a function URL with IAM sends it.
const signed = `{"version":"2.0","routeKey":"$default","rawPath":"/v1/a%2Fb/%C3%A9","rawQueryString":"x=1&x=2&y=%20","cookies":["a=1","b=2"],
"headers":{"host":"abc.lambda-url.eu-west-1.on.aws","content-type":"application/json","x-many":"1,2"},
"requestContext":{"accountId":"1","authorizer":{"iam":{"userArn":"arn:aws:sts::1:assumed-role/ci/run","userId":"u"}},"domainName":"abc.lambda-url.eu-west-1.on.aws",
"http":{"method":"POST","path":"/v1/a/b","protocol":"HTTP/1.1","sourceIp":"203.0.113.7"}},"body":"eyJhIjoxfQ==","isBase64Encoded":true}`

func event(t *testing.T, text string) *events.LambdaFunctionURLRequest {
	t.Helper()
	var e events.LambdaFunctionURLRequest
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	return &e
}

func TestRequest(t *testing.T) {
	t.Parallel()
	req, err := furl.Request(t.Context(), event(t, signed))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(req.Body)
	cookie, _ := req.Cookie("b")
	got := []any{req.Method, req.URL.Path, req.URL.EscapedPath(), req.URL.Query(), req.Host,
		req.Header.Get("X-Many"), cookie.Value, string(body),
		req.ContentLength, req.RemoteAddr}
	want := []any{"POST", "/v1/a/b/é", "/v1/a%2Fb/%C3%A9",
		map[string][]string{"x": {"1", "2"}, "y": {" "}}, "abc.lambda-url.eu-west-1.on.aws", "1,2",
		"2", `{"a":1}`,
		int64(7), "203.0.113.7"}
	for i := range want {
		if i == 3 {
			continue
		}
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%d: %s", i, diff)
		}
	}
	if q := req.URL.Query(); len(q["x"]) != 2 || q.Get("y") != " " {
		t.Errorf("query %v", q)
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	for reason, text := range map[string]string{
		"an event of a queue":       `{"Records":[]}`,
		"a path that is none":       `{"rawPath":"x","requestContext":{"http":{"method":"GET"}}}`,
		"a body that is not base64": `{"rawPath":"/","requestContext":{"http":{"method":"GET"}},"body":"***","isBase64Encoded":true}`,
		"a method that is none":     `{"rawPath":"/","requestContext":{"http":{"method":"G T"}}}`,
	} {
		if req, err := furl.Request(t.Context(), event(t, text)); err == nil {
			t.Errorf("%s became %v", reason, req)
		}
	}
	if out := furl.Handle(t.Context(), http.NotFoundHandler(),
		event(t, `{}`)); out.StatusCode != http.StatusBadRequest || !json.Valid([]byte(out.Body)) {
		t.Errorf("%+v", out)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	zipped := "\x1f\x8b\xff\x00"
	for _, c := range []struct {
		reason string
		h      http.HandlerFunc
		want   events.LambdaFunctionURLResponse
	}{
		{"JSON is text; headers of one name are joined, cookies are not",
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
				w.Header().Add("Vary", "A")
				w.Header().Add("Vary", "B")
				w.Header().Add("Set-Cookie", "a=1; Path=/")
				w.Header().Add("Set-Cookie", "b=2")
				w.WriteHeader(http.StatusTeapot)
				w.Header().Set("Too-Late", "1")
				_, _ = io.WriteString(w, `{"x":"é"}`)
			}, events.LambdaFunctionURLResponse{StatusCode: 418,
				Headers: map[string]string{"content-type": "application/problem+json; charset=utf-8", "vary": "A, B"},
				Body:    `{"x":"é"}`, Cookies: []string{"a=1; Path=/", "b=2"}}},
		{"bytes are base64", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/gzip")
			_, _ = io.WriteString(w, zipped)
		}, events.LambdaFunctionURLResponse{StatusCode: 200,
			Headers: map[string]string{"content-type": "application/gzip"},
			Body:    base64.StdEncoding.EncodeToString([]byte(zipped)), IsBase64Encoded: true}},
		{"encoded text is bytes", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "abc")
		}, events.LambdaFunctionURLResponse{StatusCode: 200,
			Headers: map[string]string{"content-type": "text/plain", "content-encoding": "br"},
			Body:    base64.StdEncoding.EncodeToString([]byte("abc")), IsBase64Encoded: true}},
		{"text that is not UTF-8 is bytes", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "\xff")
		}, events.LambdaFunctionURLResponse{StatusCode: 200,
			Headers: map[string]string{"content-type": "text/plain"}, Body: "/w==",
			IsBase64Encoded: true}},
	} {
		out := furl.Handle(t.Context(), c.h, event(t, signed))
		if diff := cmp.Diff(&c.want, out); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
	large := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, strings.Repeat("x", 5<<20))
	}
	if out := furl.Handle(t.Context(), http.HandlerFunc(large),
		event(t, signed)); out.StatusCode != http.StatusInsufficientStorage {
		t.Errorf("an answer that Lambda refuses: %d", out.StatusCode)
	}
}

// FuzzHandle pins that no event makes the adapter panic, and that what it hands on is a request and
// what it answers is JSON.
func FuzzHandle(f *testing.F) {
	f.Add([]byte(signed))
	f.Add([]byte(
		`{"rawPath":"/%zz","requestContext":{"http":{"method":"GET"}},"headers":{"":"","x\n":"y"},"cookies":["\u0000"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e events.LambdaFunctionURLRequest
		if json.Unmarshal(text, &e) != nil {
			return
		}
		out := furl.Handle(t.Context(),
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == "" || r.URL == nil || !strings.HasPrefix(r.URL.Path, "/") {
					t.Errorf("request %+v", r)
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				_, _ = w.Write(body)
			}), &e)
		if out.StatusCode < 100 || out.StatusCode > 599 {
			t.Errorf("status %d", out.StatusCode)
		}
		if _, err := json.Marshal(out); err != nil {
			t.Error(err)
		}
		if out.IsBase64Encoded {
			if _, err := base64.StdEncoding.DecodeString(out.Body); err != nil {
				t.Error(err)
			}
		}
	})
}
