//go:build servers

package functions_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/handlers"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/buildtest"
	"southbound/shared/deploy/state"
	"southbound/shared/scaffold"
	"southbound/shared/transport/http/apitest"
)

// buildPack makes a pack as its author does, and builds it as `make deploy PACK=` does.
func buildPack(t *testing.T) (program string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := scaffold.Pack(dir, "acme", "..", false); err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "acme")
	return buildFrom(t, dir, buildtest.Pack(t, dir)...)
}

// buildFrom builds the pack in a directory as `make deploy PACK=` does.
func buildFrom(t *testing.T, dir string, env ...string) (program string) {
	t.Helper()
	out := t.TempDir()
	architecture := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if architecture == "" {
		architecture = runtime.GOARCH
	}
	build := exec.CommandContext(t.Context(), "make", "-f", "infra/build/"+architecture+"/Makefile",
		"build-HandlerFunction", "ARTIFACTS_DIR="+out, "PACK="+dir)
	build.Dir = ".."
	build.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(out, "bootstrap")
}

// packed is a document in an archive.
func packed(t *testing.T, document string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "site.yaml", Mode: 0o600,
		Size: int64(len(document))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(document)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPack pins that a program of `southbound new pack` is the export function, which knows its
// types, and the handler function, which deploys them.
func TestPack(t *testing.T) {
	program := buildPack(t)
	api := apitest.New(t)
	stack := hometest.New(t, handlers.All())
	h := stack.Open(t, nil)
	key := "archives/site.tar.gz"
	document := fmt.Sprintf(
		"southbound: 1\nagents: {api: {transport: http, url: %q}}\ndefaults: {agent: api}\n"+
			"resources:\n"+
			"  - {type: acme::Thing, attributes: {name: first, size: 3, labels: [a, b]}}\n",
		api.URL)
	if _, err := h.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &stack.Config.Bucket,
		Key: &key, Body: bytes.NewReader(packed(t, document))}); err != nil {
		t.Fatal(err)
	}
	event := `{"key":"` + key + `","environment":"prod"}`
	if a := start(t, stack, "export").invoke(event); !strings.Contains(a.body,
		`unknown type \"acme::Thing\"`) {
		t.Errorf("a function without the pack: %s", a.body)
	}
	if a := start(t, stack, program, "SOUTHBOUND_FUNCTION=export").invoke(event); !strings.Contains(
		a.body, `"resources":1,"changed":1,`) {
		t.Fatalf("export: %+v", a)
	}
	// It notified nobody, since a function that could be notified is not deployed here: the sweep
	// would.
	if err := h.Notifier.Notify(t.Context(), "prod", []state.Notice{{Agent: "api"}}); err != nil {
		t.Fatal(err)
	}
	if a := start(t, stack, program, "SOUTHBOUND_FUNCTION=handler").
		invoke(received(t, h, "api")); a.body != done {
		t.Errorf("handler: %+v", a)
	}
	if n := counts(t, h)[state.StatusDeployed]; n != 1 {
		t.Errorf("%d were deployed", n)
	}
	if got, err := api.World("/things/"); err != nil ||
		!strings.Contains(got, `"labels":["a","b"]`) || !strings.Contains(got, `"size":3`) {
		t.Errorf("%v: the API has %s", err, got)
	}
}
