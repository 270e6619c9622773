//go:build e2e

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// TestHome deploys the stack, does everything with it, and destroys it.
func TestHome(t *testing.T) {
	w := open(t)
	t.Run("use", func(t *testing.T) {
		// Nothing of the scripts is the handler function's, and most of what follows its end is a
		// wait: they go on meanwhile.
		t.Run("scripts", func(t *testing.T) {
			t.Parallel()
			scripts(t, w)
		})
		t.Run("handler", func(t *testing.T) {
			t.Parallel()
			w.handled(t)
		})
	})
	noDeadLetters(t, w)
	nothingLeft(t, w)
}

// handled does what the handler function takes part in, and kills that when nothing else needs it.
func (w *world) handled(t *testing.T) {
	t.Run("together", func(t *testing.T) {
		scenarios := map[string]func(t *testing.T, w *world){
			"life": life, "runner": runner, "archive": archive, "secret": secret,
			"two exports at once": twice, "queue purged": purged, "messages doubled": doubled,
			"stale and strange messages": strange, "two stacks": neighbour, "examples": example,
			"many new agents": crowd, "services": services, "console": console,
			"terraform": terraform,
		}
		if w.local != nil { // its handlers write files of this machine
			scenarios["python"] = python
		}
		for name, do := range scenarios {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				do(t, w)
			})
		}
	})
	if w.local != nil { // elsewhere the processes of functions cannot be reached
		t.Run("killed", func(t *testing.T) { killed(t, w) })
	}
}

// cloud returns the description of an agent that the handler function serves.
func (w *world) cloud(lanes int) string {
	endpoint := ""
	if w.stack.Endpoint != "" {
		endpoint = ", endpoint: \"" + w.stack.Endpoint + "\""
	}
	return fmt.Sprintf("southbound: 1\ndefaults: {agent: cloud}\nagents:\n"+
		"  cloud: {transport: aws, region: us-east-1, role: \"%s\", lanes: %d%s}\nresources:\n",
		w.role, lanes, endpoint)
}

// target makes a bucket for what agents manage.
func (w *world) target(t *testing.T) string {
	t.Helper()
	name := "southbound-e2e-" + token()
	if _, err := w.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// object returns the bytes of an object; false: it is not there.
func (w *world) object(t *testing.T, bucket, key string) (string, bool) {
	t.Helper()
	out, err := w.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", false
	}
	defer func() { _ = out.Body.Close() }()
	data, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), true
}

// life is what happens to things in the cloud: made, looked at, changed, mended, purged.
func life(t *testing.T, w *world) {
	u, bucket := w.user(t, "life"), w.target(t)
	document := func(purged bool) string {
		return u.cloud(2) + fmt.Sprintf(`  - type: aws::s3::Object
    attributes: {bucket: %s, key: index.html, content: {file: index.html}, content_type: text/html}
    purged: %v
  - type: std::Null
    attributes: {name: after}
    requires: ["aws::s3::Object[cloud,bucket=%s,key=index.html]"]
`, bucket, purged, bucket)
	}
	u.write(t, "index.html", "one")
	u.write(t, "site.yaml", document(false))
	if s := u.export(t); s.Version != 1 || s.Changed != 2 || s.Counts["deployed"] != 2 {
		t.Errorf("the first export answers %+v", s)
	}
	if got, _ := w.object(t, bucket, "index.html"); got != "one" {
		t.Errorf("the object holds %q", got)
	}
	if s := u.export(t); s.Changed != 0 || s.Unchanged != 2 {
		t.Errorf("the same export answers %+v", s)
	}

	type line struct{ Resource, Action, Outcome, Change string }
	lines := decode[line](t, u.run(t, 0, "logs", "--all", "--json"))
	if !slices.ContainsFunc(lines, func(l line) bool {
		return strings.HasPrefix(l.Resource, "aws::s3::Object") && l.Change == "created"
	}) {
		t.Errorf("the log does not tell that the object was created: %+v", lines)
	}

	u.write(t, "index.html", "two")
	u.run(t, 5, "plan", ".", "--exit-code")
	if s := u.export(t); s.Version != 2 && s.Changed != 1 {
		t.Errorf("an export with one change answers %+v", s)
	}
	if got, _ := w.object(t, bucket, "index.html"); got != "two" {
		t.Errorf("after the update the object holds %q", got)
	}

	key := "index.html"
	if _, err := w.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket,
		Key: &key}); err != nil {
		t.Fatal(err)
	}
	u.run(t, 0, "repair")
	if got, _ := w.object(t, bucket, key); got != "two" {
		t.Errorf("after the repair the object holds %q", got)
	}

	// What exists is found by the function that reaches it.
	if found := u.run(t, 0, "discover", "aws::s3::Object", "--agent", "cloud",
		"bucket="+bucket); !strings.Contains(string(found), "key: "+key) {
		t.Errorf("discover finds\n%s", found)
	}

	u.write(t, "site.yaml", document(true))
	u.export(t)
	if _, there := w.object(t, bucket, key); there {
		t.Error("the object was not purged")
	}
	u.run(t, 0, "status")
	u.run(t, 0, "resources", "--json")
}

// runner serves an agent that no function reaches from this machine.
func runner(t *testing.T, w *world) {
	u := w.user(t, "runner")
	path := filepath.Join(t.TempDir(), "file.txt")
	u.write(t, "host.yaml", fmt.Sprintf(`southbound: 1
defaults: {agent: here}
resources:
  - type: fs::File
    attributes: {path: %s, content: "by a runner\n"}
`, path))
	u.run(t, 0, "export", ".")
	cmd := u.command(t.Context(), "agent", "run", "here")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the file is there", 2*time.Minute, func() bool {
		got, err := os.ReadFile(path)
		return err == nil && string(got) == "by a runner\n"
	})
	if s := u.export(t); s.Counts["deployed"] != 1 {
		t.Errorf("the runner leaves %+v", s)
	}
	// From here nothing reaches the file: the function asks the runner what it finds.
	if err := os.WriteFile(path, []byte("by another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"dryrun"}, {"plan", "."}} {
		got := string(u.run(t, 5, append(command, "--exit-code")...))
		if !strings.Contains(got, "update    fs::File[here,path="+path) ||
			!strings.Contains(got, `"by another\n" -> "by a runner\n"`) {
			t.Errorf("%s says\n%s", command[0], got)
		}
	}
	found := string(u.run(t, 0, "discover", "acct::Group", "--agent", "here"))
	if !strings.Contains(found, "name: root") {
		t.Errorf("discover finds\n%s", found)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("a runner that is stopped ends with %v", err)
	}
}

// archive exports as a pipeline without the command line does: an archive in the bucket, and a
// plain invoke.
func archive(t *testing.T, w *world) {
	u := w.user(t, "archive")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	files := tar.NewWriter(z)
	text := u.cloud(1) + "  - type: std::Null\n    attributes: {name: packed}\n"
	if err := files.WriteHeader(&tar.Header{Name: "a.yaml", Mode: 0o600,
		Size: int64(len(text))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(files, text); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bucket, key := w.out["Bucket"], "archives/"+u.env+".tar.gz"
	if _, err := w.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key,
		Body: bytes.NewReader(packed.Bytes())}); err != nil {
		t.Fatal(err)
	}
	event, _ := json.Marshal(map[string]any{"environment": u.env, "key": key, "release": true})
	out, err := w.lambda.Invoke(t.Context(),
		&lambda.InvokeInput{FunctionName: aws.String(w.out["ExportFunction"]), Payload: event})
	if err != nil || out.FunctionError != nil {
		t.Fatalf("invoke: %v, %s", err, out.Payload)
	}
	if s := decode[summary](t, out.Payload)[0]; s.Version != 1 || s.Changed != 1 {
		t.Errorf("the function answers %s", out.Payload)
	}
	u.deployed(t, 1, 2*time.Minute)
}

// deployed waits until so many resources are deployed, and nothing else is there.
func (u *user) deployed(t *testing.T, n int, limit time.Duration) {
	t.Helper()
	type row struct{ ID, Status, Reason string }
	var last string
	until(t, fmt.Sprintf("%d resources are deployed", n), limit, func() bool {
		out, err := u.command(t.Context(), "resources", "--json").Output()
		if err != nil {
			return false
		}
		rows := decode[row](t, out)
		last = string(out)
		return len(rows) == n &&
			!slices.ContainsFunc(rows, func(r row) bool { return r.Status != "deployed" })
	})
	_ = last
}
