package packs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

// TestLocked pins that each line of the lock names a package, an exact version and its SHA-512.
func TestLocked(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(lock) {
		f := strings.Fields(line)
		p, err := Locked(f[0])
		if err != nil || len(f) != 3 || strings.ContainsAny(p.Version, "^~*x ") ||
			!strings.HasPrefix(p.Sum, "sha512-") || len(p.Sum) != 95 {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := Locked("left-pad"); err == nil {
		t.Error("a package that is not locked was found")
	}
}

// TestSum pins that a changed archive is refused, with both sums.
func TestSum(t *testing.T) {
	t.Parallel()
	p, err := Locked("mermaid")
	if err != nil {
		t.Fatal(err)
	}
	err = p.check([]byte("another archive"))
	if err == nil || !strings.Contains(err.Error(), p.Sum) {
		t.Errorf("the error is %v", err)
	}
}

// TestFiles pins which entries of an archive are files: none outside of it, and no links.
func TestFiles(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range []tar.Header{
		{Name: "package/dist/a.mjs", Typeflag: tar.TypeReg, Size: 1},
		{Name: "package/dist/a.mjs.map", Typeflag: tar.TypeReg, Size: 1},
		{Name: "package/../../b.mjs", Typeflag: tar.TypeReg, Size: 1},
		{Name: "package/c.mjs", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			_, _ = w.Write([]byte("x"))
		}
	}
	_, _ = w.Close(), z.Close()
	files, err := Files(b.Bytes(), func(name string) bool { return strings.HasSuffix(name, ".mjs") })
	var names []string
	for name := range files {
		names = append(names, name)
	}
	if err != nil || !slices.Equal(names, []string{"dist/a.mjs"}) {
		t.Errorf("files are %v, %v", names, err)
	}
	if _, err := Files([]byte("no archive"), func(string) bool { return true }); err == nil {
		t.Error("bytes that are no archive were accepted")
	}
}
