package archive_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/fs"
	"southbound/handlers/std"
	"southbound/shared/api"
	"southbound/shared/archive"
	"southbound/shared/archive/unpack"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// entry is one of an archive.
type entry struct {
	name, text string
	kind       byte // of tar; 0: a file
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Size: int64(len(e.text)), Mode: 0o644}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.kind == tar.TypeXGlobalHeader {
			h = &tar.Header{Typeflag: e.kind, PAXRecords: map[string]string{"comment": e.text}}
		}
		if e.kind == tar.TypeSymlink || e.kind == tar.TypeLink {
			h.Linkname, h.Size = e.text, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipOf(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func unpacked(t *testing.T, packed []byte, limits unpack.Limits) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "archive")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	model := filepath.Join(dir, "a", "model")
	if err := os.MkdirAll(model, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, unpack.Archive(f, int64(len(packed)), model, limits)
}

var roomy = unpack.Limits{Entries: 100, Unpacked: 1 << 20, Name: 100}

func TestUnpack(t *testing.T) {
	t.Parallel()
	files := []entry{{name: "site.yaml", text: "one"}, {name: "files/deep/index.html", text: "two"},
		{name: "empty"}}
	withFolders := append([]entry{{name: "./", kind: tar.TypeDir},
		{name: "./files/", kind: tar.TypeDir}, {text: "0123", kind: tar.TypeXGlobalHeader}},
		files...)
	for reason, packed := range map[string][]byte{"tar": tarOf(t, files...),
		"tar.gz": gzipOf(t, tarOf(t, files...)), "zip": zipOf(t, files...),
		"tar with folders and git's header": tarOf(t, withFolders...)} {
		dir, err := unpacked(t, packed, roomy)
		if err != nil {
			t.Errorf("%s: %v", reason, err)
			continue
		}
		for _, e := range files {
			if b, err := os.ReadFile(filepath.Join(dir, "a", "model", e.name)); err != nil ||
				string(b) != e.text {
				t.Errorf("%s: %s: %v %q", reason, e.name, err, b)
			}
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 101)
	for reason, packed := range map[string][]byte{
		"a name that leaves the folder": tarOf(t, entry{name: "../up", text: "x"}),
		"one that leaves it on the way": tarOf(t, entry{name: "a/../../up", text: "x"}),
		"an absolute name":              tarOf(t, entry{name: "/etc/up", text: "x"}),
		"a name of another system":      zipOf(t, entry{name: `..\up`, text: "x"}),
		"a symbolic link": tarOf(t,
			entry{name: "a", text: "/etc", kind: tar.TypeSymlink}, entry{name: "a/up", text: "x"}),
		"a hard link": tarOf(t,
			entry{name: "a", text: "/etc/passwd", kind: tar.TypeLink}),
		"a device": tarOf(t, entry{name: "a", kind: tar.TypeChar}),
		"a name twice": tarOf(t, entry{name: "a", text: "x"},
			entry{name: "./a", text: "y"}),
		"a file and a folder of one name": tarOf(t, entry{name: "a", text: "x"},
			entry{name: "a/b", text: "y"}),
		"a long name":  tarOf(t, entry{name: long, text: "x"}),
		"many entries": tarOf(t, make([]entry, 101)...),
		"a file larger than all may be": gzipOf(t,
			tarOf(t, entry{name: "a", text: strings.Repeat("0", 1<<20+1)})),
		"files that are too large together": zipOf(t,
			entry{name: "a", text: strings.Repeat("0", 1<<19)},
			entry{name: "b", text: strings.Repeat("0", 1<<19+1)}),
		"an archive cut off": tarOf(t,
			entry{name: "a", text: strings.Repeat("0", 5000)})[:3000],
		"a compressed archive cut off": gzipOf(t,
			tarOf(t, entry{name: "a", text: strings.Repeat("0123", 5000)}))[:100],
		"no archive": []byte("southbound: 1\nresources: []\n" +
			strings.Repeat("#", 600)),
		"a zip whose directory is gone": zipOf(t, entry{name: "a", text: "x"})[:30],
		"an empty name":                 zipOf(t, entry{name: "", text: "x"}),
		"the folder itself as a file":   zipOf(t, entry{name: ".", text: "x"}),
		"a name with a zero byte":       zipOf(t, entry{name: "a\x00b", text: "x"}),
		"a name with a zero byte and more beyond": zipOf(t,
			entry{name: "a\x00/../../up", text: "x"}),
	} {
		dir, err := unpacked(t, packed, roomy)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", reason, err)
		}
		for _, up := range []string{filepath.Join(dir, "up"), filepath.Join(dir, "a", "up")} {
			if _, err := os.Lstat(up); err == nil {
				t.Errorf("%s: it wrote %s", reason, up)
			}
		}
	}
}

// FuzzUnpack pins that nothing is written outside the folder, whatever the archive is.
func FuzzUnpack(f *testing.F) {
	f.Add(tarOf(f, entry{name: "a/b", text: "x"}))
	f.Add(gzipOf(f, tarOf(f, entry{name: "../b", text: "x"})))
	f.Add(zipOf(f, entry{name: "a/b", text: "x"}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		dir, err := unpacked(t, packed, unpack.Limits{Entries: 20, Unpacked: 4096, Name: 64})
		if err != nil && fault.KindOf(err) == fault.Unknown {
			t.Errorf("an error without a kind: %v", err)
		}
		for _, sub := range []string{dir, filepath.Join(dir, "a")} {
			entries, err := os.ReadDir(sub)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Name() != "archive" && e.Name() != "a" && e.Name() != "model" {
					t.Errorf("it wrote %s", filepath.Join(sub, e.Name()))
				}
			}
		}
	})
}

// exporter exports into a home on this machine, from one archive.
func exporter(t *testing.T, packed []byte, err error) *archive.Exporter {
	t.Helper()
	h, openErr := local.Open(t.TempDir())
	if openErr != nil {
		t.Fatal(openErr)
	}
	t.Cleanup(func() { _ = h.Close() })
	types := []provider.Definition{fs.Directory(), fs.File(), std.Null()}
	registry, regErr := schema.NewRegistry(provider.Types(types)...)
	if regErr != nil {
		t.Fatal(regErr)
	}
	e := deploy.New(deploy.Config{State: h, Files: h.Files(), Notifier: h.Notifier,
		Clock: platform.Clock{}, Caller: platform.Caller{}, Secrets: h.Secrets(),
		Connector: &transport.Connector{Local: true}, Types: registry,
		Handlers: provider.Handlers(types),
		Pack:     "test", Holder: h.Holder(), NewID: h.NewID, Jitter: rand.Float64})
	return &archive.Exporter{Service: api.New(api.Config{Engine: e}), Dir: t.TempDir(),
		Open: func(context.Context, string, string) (io.ReadCloser, int64, error) {
			return io.NopCloser(bytes.NewReader(packed)), 0, err
		}}
}

const document = `southbound: 1
resources:
  - {type: fs::File, agent: web1, attributes: {path: /srv/index.html, content: {file: index.html}}}
  - {type: std::Null, agent: web1, attributes: {name: x}, set: front}
`

func TestExport(t *testing.T) {
	t.Parallel()
	x := exporter(t,
		gzipOf(t, tarOf(t, entry{name: "site.yaml", text: document},
			entry{name: "index.html", text: "<p>"},
			entry{name: "southbound.yaml", text: "environment: production\n"})), nil)
	for i, want := range []string{
		`{"environment":"production","version":1,"author":"","message":"","commit":"","resources":2,"changed":2,"unchanged":0,"removed":0,"repaired":0,"recovered":0,"files_uploaded":1,"changes":[],"counts":{"available":2,"blocked":0,`,
		`{"environment":"production","version":1,"author":"","message":"","commit":"","resources":2,"changed":0,"unchanged":2,"removed":0,"repaired":0,"recovered":0,"files_uploaded":0,"changes":[],"counts":{"available":2,"blocked":0,`,
	} {
		out, err := x.Export(t.Context(), archive.Event{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(out)
		if !strings.HasPrefix(string(got), want) {
			t.Errorf("%d: %s", i, got)
		}
	}
	if left, err := os.ReadDir(x.Dir); err != nil || len(left) != 0 {
		t.Errorf("%v: it left %v behind", err, left)
	}
	no := false
	out, err := x.Export(t.Context(), archive.Event{Key: "k", Environment: "other", Release: &no})
	if err != nil || out.Report == nil || out.Environment != "other" ||
		out.Counts[state.StatusAvailable] != 0 {
		t.Errorf("%v: %+v", err, out)
	}
}

func TestExportAnswersProblems(t *testing.T) {
	t.Parallel()
	bad := tarOf(t,
		entry{name: "teams/a.yaml",
			text: "southbound: 1\nresources:\n  - {type: std::Null, agent: web1, attributes: " +
				"{name: 1}}\n"})
	for _, c := range []struct {
		reason string
		packed []byte
		event  archive.Event
		open   error
		want   string
	}{
		{"documents that are wrong", bad, archive.Event{Key: "k"}, nil,
			`"file":"teams/a.yaml","line":3,`},
		{"no archive at all", []byte("x"), archive.Event{Key: "k"}, nil,
			`{"error":{"kind":"invalid","message":"read archive: `},
		{"no key", nil, archive.Event{}, nil, `{"error":{"kind":"usage",`},
		{"a name that no environment has", tarOf(t, entry{name: "a.yaml", text: document},
			entry{name: "index.html", text: "x"}), archive.Event{Key: "k", Environment: "a/b"}, nil,
			`{"error":{"kind":"usage",`},
		{"an archive that is not there", nil, archive.Event{Key: "k"},
			fault.New(fault.NotFound, "read archive", "gone"), `{"error":{"kind":"not_found",`},
	} {
		out, err := exporter(t, c.packed, c.open).Export(t.Context(), c.event)
		got, _ := json.Marshal(out)
		if err != nil || !strings.Contains(string(got), c.want) ||
			strings.Contains(string(got), os.TempDir()) {
			t.Errorf("%s: %v: %s", c.reason, err, got)
		}
	}
	if _, err := exporter(t, nil, fault.New(fault.Unavailable, "read archive", "away")).
		Export(t.Context(), archive.Event{Key: "k"}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a fault that passes is an answer: %v", err)
	}
}
