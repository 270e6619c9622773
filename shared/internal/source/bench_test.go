package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// yamlOf writes a document of n files as people and generators do: six lines a resource.
func yamlOf(n int) []byte {
	var b bytes.Buffer
	b.WriteString("southbound: 1\ndefaults: {agent: web1}\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b,
			"  - type: fs::File\n    attributes:\n      path: /srv/site/dir%d/file-%05d.txt\n    "+
				"  content: \"hello from file number %d\"\n"+
				"      mode: \"0644\"\n    requires: "+
				"[\"fs::Directory[web1,path=/srv/site/dir%d]\"]\n",
			i%100, i, i, i%100)
	}
	return b.Bytes()
}

// jsonOf writes the same document in JSON.
func jsonOf(tb testing.TB, n int) []byte {
	type res struct {
		Type       string            `json:"type"`
		Attributes map[string]string `json:"attributes"`
		Requires   []string          `json:"requires"`
	}
	doc := struct {
		Southbound int               `json:"southbound"`
		Defaults   map[string]string `json:"defaults"`
		Resources  []res             `json:"resources"`
	}{1, map[string]string{"agent": "web1"}, nil}
	for i := range n {
		doc.Resources = append(doc.Resources, res{"fs::File", map[string]string{
			"path":    fmt.Sprintf("/srv/site/dir%d/file-%05d.txt", i%100, i),
			"content": fmt.Sprintf("hello from file number %d", i), "mode": "0644",
		}, []string{fmt.Sprintf("fs::Directory[web1,path=/srv/site/dir%d]", i%100)}})
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// benchInputs calls f with the files of documents that are measured.
func benchInputs(b *testing.B, f func(b *testing.B, opts Options, n int)) {
	for _, n := range []int{10_000, 100_000} {
		for _, in := range []struct {
			name string
			text []byte
		}{{"a.yaml", yamlOf(n)}, {"a.json", jsonOf(b, n)}} {
			b.Run(fmt.Sprintf("%s/%d", in.name, n), func(b *testing.B) {
				file := filepath.Join(b.TempDir(), in.name)
				if err := os.WriteFile(file, in.text, 0o600); err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(in.text)))
				b.ReportAllocs()
				f(b, Options{Path: file, Types: testTypes(b)}, n)
			})
		}
	}
}

// BenchmarkLoad reads one file of six-line resources.
func BenchmarkLoad(b *testing.B) {
	benchInputs(b, func(b *testing.B, opts Options, n int) {
		for b.Loop() {
			if m, _, err := Load(context.Background(), opts); err != nil || len(m.Resources) < n {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkFingerprint recognises inputs that have not changed.
func BenchmarkFingerprint(b *testing.B) {
	benchInputs(b, func(b *testing.B, opts Options, _ int) {
		_, in, err := Load(context.Background(), opts)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, ok := fingerprintOf(in, opts); !ok {
				b.Fatal("the fingerprint is not known")
			}
		}
	})
}
