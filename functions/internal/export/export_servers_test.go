//go:build servers

package export

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/functions/internal/run"
	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/emf"
	"southbound/shared/aws/home/hometest"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFunction pins what the function answers to a plain invoke with an archive, to a request
// through its URL, and to what is neither.
func TestFunction(t *testing.T) {
	stack := hometest.New(t, handlers.All())
	f := &run.Function{Home: stack.Open(t, nil), Log: stack.Config.Log, Metrics: emf.NewSet("test")}
	put := func(key string, body []byte) {
		t.Helper()
		if _, err := f.Home.S3.PutObject(t.Context(),
			&s3.PutObjectInput{Bucket: &stack.Config.Bucket, Key: &key,
				Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	put("archives/good.zip",
		zipped(t,
			map[string]string{
				"site.yaml": "southbound: 1\n" +
					"agents: {web1: {transport: aws, region: us-east-1}}\nresources:\n" +
					"  - {type: std::Null, agent: web1, attributes: {name: a, value: {file: " +
					"big.bin}}}\n", "big.bin": strings.Repeat("x", 1<<20)}))
	put("archives/secrets.zip",
		zipped(t,
			map[string]string{
				"site.yaml": "southbound: 1\nagents: {web1: {transport: aws, region: us-east-1}}\n" +
					"resources:\n  - {type: std::Null, agent: web1, attributes: {name: a, value: " +
					"{secret: \"command:pass show db\"}}}\n"}))
	put("archives/bad.zip",
		zipped(t,
			map[string]string{
				"site.yaml": "southbound: 1\nresources:\n" +
					"  - {type: std::Nil, agent: web1, attributes: {}}\n"}))
	handle := handler(f)
	for _, c := range []struct{ reason, event, want string }{
		{"an archive", `{"key":"archives/good.zip","environment":"prod"}`,
			`"resources":1,"changed":1,"unchanged":0,"removed":0,"repaired":0,"recovered":0,"files_uploaded":1,`},
		{"the same again", `{"key":"archives/good.zip","environment":"prod","bucket":"` +
			stack.Config.Bucket + `"}`, `"resources":1,"changed":0,"unchanged":1,`},
		{"stored only", `{"key":"archives/good.zip","environment":"other","release":false}`,
			`{"environment":"other","version":1,`},
		{"documents that are wrong", `{"key":"archives/bad.zip"}`, `"file":"site.yaml","line":3,`},
		{"a secret that no function reads", `{"key":"archives/secrets.zip","environment":"secrets"}`,
			`functions read no secrets of command:`},
		{"a member with a wrong name", `{"key":"archives/good.zip","env":"prod"}`,
			`{"error":{"kind":"usage","message":"read event: there is no member \"env\"`},
		{"nothing there", `{"key":"archives/none.zip"}`, `{"error":{"kind":"not_found",`},
		{"not an event of ours", `{"Records":[]}`, `{"error":{"kind":"usage",`},
		{"not an object", `[]`, `{"error":{"kind":"usage",`},
	} {
		out, err := handle(t.Context(), json.RawMessage(c.event))
		got, _ := json.Marshal(out)
		if err != nil || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %v: %s", c.reason, err, got)
		}
	}
	request := `{"version":"2.0","rawPath":"/openapi.json","requestContext":{"http":{"method":"GET"}}}`
	out, err := handle(t.Context(), json.RawMessage(request))
	answer, ok := out.(*events.LambdaFunctionURLResponse)
	if err != nil || !ok || answer.StatusCode != 200 || !json.Valid([]byte(answer.Body)) {
		t.Errorf("%v: %+v", err, out)
	}
}
