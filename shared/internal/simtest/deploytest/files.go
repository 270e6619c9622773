package deploytest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// FilesHarness is one fresh, empty store of files, accessed by two processes.
type FilesHarness struct {
	A, B state.Files
	// Damage changes the stored bytes of a hash without the store's knowledge. It is nil if that is
	// not possible.
	Damage func(hash string)
	// Now returns the time that List reports for a file stored now; nil: the time of the machine.
	Now func() time.Time
	// Serial means that handles must not be called concurrently.
	Serial bool
}

// HashOf returns the name under which a store keeps b.
func HashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func blob(text string) state.Blob {
	return state.Blob{Hash: HashOf([]byte(text)), Size: int64(len(text)), Data: []byte(text)}
}

// stream returns a blob whose bytes are read when it is stored.
func stream(data []byte) state.Blob {
	return state.Blob{Hash: HashOf(data), Size: int64(len(data)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

type filesCheck struct {
	name string
	run  func(ctx context.Context, t *testing.T, h FilesHarness)
}

// TestFiles runs the conformance suite for Files. open returns a new, empty store for each subtest.
func TestFiles(t *testing.T, open func(t *testing.T) FilesHarness) {
	t.Helper()
	for _, c := range append(storeChecks(), readChecks()...) {
		t.Run(c.name, func(t *testing.T) { c.run(t.Context(), t, open(t)) })
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v (kind %q)", err, fault.KindOf(err))
	}
}

// stored pins which of hashes are stored.
func stored(ctx context.Context, t *testing.T, f state.Files, hashes []string, missing ...string) {
	t.Helper()
	got, err := f.Missing(ctx, hashes)
	noError(t, err)
	slices.Sort(got)
	slices.Sort(missing)
	if !slices.Equal(got, missing) {
		t.Errorf("missing: %v, want %v", got, missing)
	}
}

func storeChecks() []filesCheck {
	return []filesCheck{
		{"PutThenGet", func(ctx context.Context, t *testing.T, h FilesHarness) {
			big := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
			blobs := []state.Blob{blob("one"), blob(""), stream([]byte("two")), stream(nil),
				stream(big)}
			noError(t, h.A.Put(ctx, blobs))
			noError(t, h.A.Put(ctx, nil))
			got, err := h.B.Get(ctx, []string{blobs[4].Hash, blobs[0].Hash, blobs[1].Hash,
				blobs[2].Hash, blobs[0].Hash})
			noError(t, err)
			for i, want := range [][]byte{big, []byte("one"), nil, []byte("two"), []byte("one")} {
				if !bytes.Equal(got[i], want) {
					t.Errorf("file %d: %d bytes that differ from the %d that were stored, or "+
						"another order", i, len(got[i]), len(want))
				}
			}
		}},
		{"PutOfWhatIsThere", func(ctx context.Context, t *testing.T, h FilesHarness) {
			one, two := blob("one"), blob("two")
			noError(t, h.A.Put(ctx, []state.Blob{one, one}))
			noError(t, h.B.Put(ctx, []state.Blob{one, two}))
			stored(ctx, t, h.A, []string{one.Hash, two.Hash})
		}},
		{"MissingNamesWhatIsNotStored", func(ctx context.Context, t *testing.T, h FilesHarness) {
			one, two, three := blob("one"), blob("two"), blob("three")
			stored(ctx, t, h.A, nil)
			stored(ctx, t, h.A, []string{one.Hash, two.Hash}, one.Hash, two.Hash)
			noError(t, h.A.Put(ctx, []state.Blob{two}))
			stored(ctx, t, h.B, []string{one.Hash, two.Hash, three.Hash}, one.Hash, three.Hash)
		}},
		{"OtherBytesAreRefused", otherBytesAreRefused},
		{"AStreamThatBreaksStoresNothing", func(ctx context.Context, t *testing.T, h FilesHarness) {
			broken := blob("broken")
			broken.Data, broken.Open = nil,
				func() (io.ReadCloser, error) { return nil, errors.New("cannot be read") }
			if err := h.A.Put(ctx, []state.Blob{broken}); err == nil {
				t.Error("no error")
			}
			broken.Open = func() (io.ReadCloser, error) {
				return io.NopCloser(io.MultiReader(bytes.NewReader([]byte("bro")), brokenReader{})),
					nil
			}
			if err := h.A.Put(ctx, []state.Blob{broken}); err == nil {
				t.Error("no error")
			}
			stored(ctx, t, h.B, []string{broken.Hash}, broken.Hash)
		}},
		{"ManyAtOnce", manyAtOnce},
	}
}

type brokenReader struct{}

// Read implements io.Reader.
func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("cannot be read further") }

func readChecks() []filesCheck {
	return []filesCheck{
		{"UnknownIsNotFound", unknownIsNotFound},
		{"OpenStreams", func(ctx context.Context, t *testing.T, h FilesHarness) {
			data := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
			noError(t, h.A.Put(ctx, []state.Blob{stream(data)}))
			r, err := h.B.Open(ctx, HashOf(data))
			noError(t, err)
			got, err := io.ReadAll(r)
			noError(t, err)
			if !bytes.Equal(got, data) {
				t.Error("other bytes")
			}
			noError(t, r.Close())
		}},
		{"DamagedIsSaid", func(ctx context.Context, t *testing.T, h FilesHarness) {
			if h.Damage == nil {
				return // the harness cannot damage the store
			}
			one := blob("one, a little longer")
			noError(t, h.A.Put(ctx, []state.Blob{one}))
			h.Damage(one.Hash)
			if _, err := h.B.Get(ctx, []string{one.Hash}); !fault.Is(err, fault.Damaged) {
				t.Errorf("get: %v", err)
			}
			r, err := h.B.Open(ctx, one.Hash)
			if err == nil {
				_, err = io.ReadAll(r)
				_ = r.Close()
			}
			if !fault.Is(err, fault.Damaged) {
				t.Errorf("open: %v", err)
			}
			noError(t, h.A.Put(ctx, []state.Blob{one}))
			got, err := h.B.Get(ctx, []string{one.Hash})
			noError(t, err)
			if !bytes.Equal(got[0], one.Data) {
				t.Error("storing it again did not mend it")
			}
		}},
		{"ListNamesAll", listNamesAll},
		{"DeleteRemoves", func(ctx context.Context, t *testing.T, h FilesHarness) {
			one, two := blob("one"), blob("two")
			noError(t, h.A.Put(ctx, []state.Blob{one, two}))
			noError(t, h.A.Delete(ctx, []string{one.Hash, HashOf([]byte("none"))}))
			noError(t, h.A.Delete(ctx, nil))
			stored(ctx, t, h.B, []string{one.Hash, two.Hash}, one.Hash)
			noError(t, h.B.Put(ctx, []state.Blob{one}))
			stored(ctx, t, h.A, []string{one.Hash, two.Hash})
		}},
	}
}

func listNamesAll(ctx context.Context, t *testing.T, h FilesHarness) {
	now := h.Now
	if now == nil {
		now = time.Now
	}
	list := func() map[string]time.Time {
		got := map[string]time.Time{}
		noError(t, h.B.List(ctx, func(hash string, stored time.Time) error {
			got[hash] = stored
			return nil
		}))
		return got
	}
	if got := list(); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	var blobs []state.Blob
	for n := range 20 {
		blobs = append(blobs, blob(fmt.Sprint(n)))
	}
	const slack = time.Minute // tolerance for different clocks of store and machine
	began := now().Add(-slack)
	noError(t, h.A.Put(ctx, blobs))
	got := list()
	for _, b := range blobs {
		if at := got[b.Hash]; at.Before(began) || at.After(now().Add(slack)) {
			t.Errorf("%s was stored at %v", b.Hash, at)
		}
	}
	if len(got) != len(blobs) {
		t.Errorf("%d are listed, want %d", len(got), len(blobs))
	}
	stop := errors.New("enough")
	calls := 0
	err := h.B.List(ctx, func(string, time.Time) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("stopped after %d calls with %v", calls, err)
	}
}

// otherBytesAreRefused pins that a store rejects bytes that do not match their hash.
func otherBytesAreRefused(ctx context.Context, t *testing.T, h FilesHarness) {
	good := blob("good")
	for reason, bad := range map[string]state.Blob{
		"other bytes":        {Hash: HashOf([]byte("x")), Size: 1, Data: []byte("y")},
		"fewer bytes":        {Hash: HashOf([]byte("xx")), Size: 2, Data: []byte("x")},
		"more bytes":         {Hash: HashOf([]byte("x1")), Size: 2, Data: []byte("x1 and more")},
		"a stream of others": {Hash: HashOf([]byte("z")), Size: 1, Open: stream([]byte("w")).Open},
		"no hash":            {Hash: "", Size: 1, Data: []byte("x")},
		"a path for a hash":  {Hash: "../../../../tmp/x", Size: 1, Data: []byte("x")},
		"an upper-case hash": {
			Hash: "2D711642B726B04401627CA9FBAC32F5C8530FB1903CC4DB02258717921A4881", Size: 1,
			Data: []byte("x")},
	} {
		if err := h.A.Put(ctx, []state.Blob{good, bad}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, want kind %q", reason, err, fault.Invalid)
		}
		if len(bad.Hash) == 64 && bad.Hash[0] != '2' {
			stored(ctx, t, h.B, []string{bad.Hash}, bad.Hash)
		}
	}
	noError(t, h.A.Put(ctx, []state.Blob{good}))
}

// manyAtOnce stores the same files concurrently.
func manyAtOnce(ctx context.Context, t *testing.T, h FilesHarness) {
	const writers, files = 4, 40
	errs := make(chan error, writers)
	var hashes []string
	for n := range files {
		hashes = append(hashes, blob(fmt.Sprint(n)).Hash)
	}
	for w := range writers {
		put := func() {
			f := []state.Files{h.A, h.B}[w%2]
			var blobs []state.Blob
			for n := range files {
				blobs = append(blobs, blob(fmt.Sprint(n)))
			}
			errs <- f.Put(ctx, blobs)
		}
		if h.Serial {
			put()
		} else {
			go put()
		}
	}
	for range writers {
		noError(t, <-errs)
	}
	stored(ctx, t, h.A, hashes)
	got, err := h.B.Get(ctx, hashes)
	noError(t, err)
	for n, b := range got {
		if string(b) != fmt.Sprint(n) {
			t.Errorf("file %d holds %q", n, b)
		}
	}
}

// unknownIsNotFound pins the errors of reading files that are not stored, and that no path outside
// the store can be read.
func unknownIsNotFound(ctx context.Context, t *testing.T, h FilesHarness) {
	noError(t, h.A.Put(ctx, []state.Blob{blob("one")}))
	none := HashOf([]byte("none"))
	if _, err := h.B.Get(ctx, []string{blob("one").Hash, none}); !fault.Is(err, fault.NotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := h.B.Open(ctx, none); !fault.Is(err, fault.NotFound) {
		t.Errorf("open: %v", err)
	}
	for _, path := range []string{"", "..", "../../../../etc/passwd", none + "/x"} {
		if _, err := h.B.Get(ctx, []string{path}); err == nil {
			t.Errorf("%q was read", path)
		}
		if r, err := h.B.Open(ctx, path); err == nil {
			t.Errorf("%q was opened", path)
			_ = r.Close()
		}
	}
}
