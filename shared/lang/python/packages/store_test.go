package packages

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"southbound/shared/fault"
)

// bundleOf returns a zip with files, and its digest.
func bundleOf(t *testing.T, files map[string]string) (data []byte, hash string) {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range files {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), hex.EncodeToString(sum[:])
}

// reads returns bytes, and counts how often they are asked for.
func reads(data []byte, n *int) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) {
		*n++
		return io.NopCloser(bytes.NewReader(data)), nil
	}
}

// TestStoreUnpacksBundles pins that what Build packs is what the store unpacks, and that damage inside
// a file is found even if the digest of the zip is that of the damaged bytes.
func TestStoreUnpacksBundles(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	text := strings.Repeat("the same line in each place\n", 100_000)
	for name, text := range map[string]string{"a.py": text, "b/empty.py": "", "b/c/short.py": "x"} {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	zipped := filepath.Join(t.TempDir(), "zip")
	b := &Bundle{}
	if err := b.pack(from, zipped); err != nil {
		t.Fatal(err)
	}
	if b.Unpacked != int64(len(text))+1 || b.Size > b.Unpacked/100 {
		t.Errorf("the bundle has %d bytes of %d", b.Size, b.Unpacked)
	}
	data, err := os.ReadFile(zipped)
	if err != nil {
		t.Fatal(err)
	}
	s, n := &Store{Dir: filepath.Join(t.TempDir(), "store")}, 0
	dir, err := s.Open(t.Context(), b.Hash, reads(data, &n))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.py": text, "b/empty.py": "", "b/c/short.py": "x"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s has %d bytes: %v", name, len(got), err)
		}
	}
	damaged := bytes.Clone(data)
	damaged[len("PK..")+26+len("a.py")+20] ^= 0xff // in the compressed bytes of a.py
	sum := sha256.Sum256(damaged)
	_, err = s.Open(t.Context(), hex.EncodeToString(sum[:]), reads(damaged, &n))
	if err == nil {
		t.Error("a damaged file is unpacked")
	}
	if got := names(t, s); len(got) != 1 {
		t.Errorf("a refused bundle leaves %v", got)
	}
}

// names returns what is in the folder of a store.
func names(t *testing.T, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestStoreKeepsTwo pins that a bundle is read once while it is one of the last two, also by the
// next process.
func TestStoreKeepsTwo(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: filepath.Join(t.TempDir(), "packages")}
	n := 0
	var hashes []string
	open := func(text string) string {
		t.Helper()
		data, hash := bundleOf(t, map[string]string{"a/__init__.py": text})
		dir, err := s.Open(t.Context(), hash, reads(data, &n))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "a", "__init__.py"))
		if err != nil || string(got) != text {
			t.Fatalf("%q, %v", got, err)
		}
		hashes = append(hashes, hash)
		return hash
	}
	for i, step := range []struct {
		text string
		read int // bundles read so far
	}{{"1", 1}, {"2", 2}, {"1", 2}, {"3", 3}, {"1", 3}, {"2", 4}} {
		open(step.text)
		if n != step.read {
			t.Errorf("step %d: %d bundles were read, want %d", i, n, step.read)
		}
	}
	if got := names(t, s); len(got) != 2 {
		t.Errorf("kept: %v", got)
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, "half"+newSuffix), 0o700); err != nil {
		t.Fatal(err)
	}
	s = &Store{Dir: s.Dir} // the next process
	open("2")
	if n != 4 || len(names(t, s)) != 2 {
		t.Errorf("%d read, %v", n, names(t, s))
	}
}

// TestStoreRefuses pins the bundles that are refused, and that nothing of them is left.
func TestStoreRefuses(t *testing.T) {
	t.Parallel()
	good, hash := bundleOf(t, map[string]string{"a.py": strings.Repeat("x", 1000)})
	outside, outsideHash := bundleOf(t, map[string]string{"../a.py": "x"})
	text := []byte("no zip")
	sum := sha256.Sum256(text)
	for _, test := range []struct {
		name, hash string
		data       []byte
		room       int64
		err        error
		kind       fault.Kind
		want       string
	}{
		{"another digest", hash, append([]byte("x"), good...), 0, nil, fault.Invalid, "is damaged"},
		{"cut short", hash, good[:50], 0, nil, fault.Invalid, "is damaged"},
		{"outside", outsideHash, outside, 0, nil, fault.Invalid, "not a file of a package"},
		{"no zip", hex.EncodeToString(sum[:]), text, 0, nil, fault.Invalid, "is no zip"},
		{"no room", hash, good, 999, nil, fault.Unavailable, "/tmp is full"},
		{"full disk", hash, good, 0, syscall.ENOSPC, fault.Unavailable, "/tmp is full"},
		{"unreachable", hash, good, 0, fault.New(fault.Unavailable, "read", "the bucket is away"),
			fault.Unavailable, "the bucket is away"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &Store{Dir: t.TempDir(), Room: test.room}
			_, err := s.Open(t.Context(), test.hash, func(context.Context) (io.ReadCloser, error) {
				if test.err != nil {
					return nil, test.err
				}
				return io.NopCloser(bytes.NewReader(test.data)), nil
			})
			if !fault.Is(err, test.kind) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s: %s", err, test.kind, test.want)
			}
			if got := names(t, s); len(got) != 0 {
				t.Errorf("left: %v", got)
			}
			n := 0 // the next one is unpacked all the same
			s.Room = 0
			if _, err := s.Open(t.Context(), hash, reads(good, &n)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStoreMakesRoom pins that a bundle is unpacked in place of all others if the disk is full.
func TestStoreMakesRoom(t *testing.T) {
	t.Parallel()
	s := &Store{Dir: t.TempDir()}
	n := 0
	first, hash := bundleOf(t, map[string]string{"a.py": "1"})
	if _, err := s.Open(t.Context(), hash, reads(first, &n)); err != nil {
		t.Fatal(err)
	}
	second, hash := bundleOf(t, map[string]string{"a.py": "2"})
	tries := 0
	dir, err := s.Open(t.Context(), hash, func(ctx context.Context) (io.ReadCloser, error) {
		if tries++; tries == 1 {
			return io.NopCloser(io.MultiReader(bytes.NewReader(second[:20]), fails{})), nil
		}
		return reads(second, &n)(ctx)
	})
	if err != nil || filepath.Base(dir) != hash {
		t.Fatalf("%s, %v", dir, err)
	}
	if got := names(t, s); len(got) != 1 || got[0] != hash {
		t.Errorf("left: %v", got)
	}
}

// fails is a reader that meets a full disk.
type fails struct{}

func (fails) Read([]byte) (int, error) { return 0, errors.Join(syscall.ENOSPC) }
