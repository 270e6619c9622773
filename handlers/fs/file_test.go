package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// TestShownContent shows what is there when it is not what is wanted, and no more of it than people
// can read.
func TestShownContent(t *testing.T) {
	long := strings.Repeat("0123456789", 20_000)
	host := providertest.NewHost(nil)
	hashed := host.AddFile([]byte("hash me"))
	for _, tc := range []struct {
		why   string
		there string
		want  any
		shown any
	}{
		{"what is the same is the wanted value", "same", "same", "same"},
		{"nothing", "", "", ""},
		{"a long text", long, long, long},
		{"a difference at the end", long + "y", long + "z", host.AddFile([]byte(long + "y"))},
		{"a difference at the beginning", "y" + long, "z" + long, host.AddFile([]byte("y" + long))},
		{"a longer one", long, long + "z", host.AddFile([]byte(long))},
		{"a shorter one", long, long[1:], host.AddFile([]byte(long))},
		{"a short text", "old", "new", "old"},
		{"as much as is shown", long[:maxShown], "new", long[:maxShown]},
		{"a difference behind four thousand bytes", long[:5000] + "y", long[:5000] + "z",
			long[:5000] + "y"},
		{"one more", long[:maxShown+1], "new", host.AddFile([]byte(long[:maxShown+1]))},
		{"nothing instead of something", "", "new", ""},
		{"what is not text", "a\xff\xfeb", "new", host.AddFile([]byte("a\xff\xfeb"))},
		{"what would be the same if it were shown as text", "a\xffb", "a?b",
			host.AddFile([]byte("a\xffb"))},
		{"a large one of the same size", strings.Repeat("x", maxHashed+1),
			strings.Repeat("y", maxHashed+1), resource.File{Size: maxHashed + 1}},
		{"the same hash", "hash me", hashed, hashed},
		{"another text than that of a file", "else", hashed, "else"},
		{"another text of the same length", "hash m3", hashed, "hash m3"},
		{"bytes that are not text", "hash\x00me", hashed, host.AddFile([]byte("hash\x00me"))},
		{"a long one", long, hashed, host.AddFile([]byte(long))},
		{"a large file that its size tells apart is not hashed", strings.Repeat("x", maxHashed+1),
			hashed, resource.File{Size: maxHashed + 1}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, File())
			g.write("a", tc.there, 0o600)
			r := g.resource(map[string]any{"path": g.path("a"), "content": tc.want})
			obs, err := g.def.Handler.Read(g.ctx(), provider.ReadRequest{Resource: r})
			g.do(err)
			if got := obs.Attributes["content"]; got != tc.shown {
				t.Fatalf("shown is %.80q (%T)\nexpected %.80q", got, got, tc.shown)
			}
		})
	}
}

// uploads is a host whose files misbehave.
type uploads struct {
	*providertest.Host
	open func() (io.ReadCloser, error)
}

// Files implements provider.Host.
func (u uploads) Files() provider.Files { return u }

// Open implements provider.Files.
func (u uploads) Open(context.Context, string) (io.ReadCloser, error) { return u.open() }

func TestUploadsThatCannotBeHad(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	for _, tc := range []struct {
		why   string
		ctx   context.Context
		open  func() (io.ReadCloser, error)
		class provider.Class
		text  string
	}{
		{"they are gone", t.Context(),
			func() (io.ReadCloser, error) { return nil, fault.New(fault.NotFound, "open", "none") },
			provider.NeedsChange, "export again"},
		{"the store fails", t.Context(),
			func() (io.ReadCloser, error) { return nil, errors.New("no network") },
			provider.Retryable, "no network"},
		{"reading fails", t.Context(), func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("x"), failing{})), nil
		}, provider.Retryable, "cable pulled"},
		{"they are damaged", t.Context(),
			func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("other bytes")), nil
			}, provider.Terminal, "are damaged; upload them again"},
		{"the caller gives up", ctx, func() (io.ReadCloser, error) {
			cancel()
			return io.NopCloser(strings.NewReader("x")), nil
		}, provider.Retryable, "context canceled"},
	} {
		for kind, fileSystem := range fileSystems() {
			t.Run(tc.why+"/"+kind, func(t *testing.T) {
				g := newRig(t, withFile(&disk.System{Before: fileSystem}))
				g.write("old", "old", 0o600)
				for _, name := range []string{"old", "new"} {
					r := g.resource(map[string]any{"path": g.path(name),
						"content": resource.File{Hash: strings.Repeat("0", 64), Size: 1},
						"backup":  true})
					c := provider.NewContext(tc.ctx, uploads{g.host, tc.open}, provider.Options{})
					_, err := g.def.Handler.Update(c,
						provider.UpdateRequest{Resource: r,
							Changes: map[string]diff.Diff{"content": {}}})
					if err == nil || provider.ClassOf(err) != tc.class ||
						!strings.Contains(err.Error(), tc.text) {
						t.Fatalf("%s: %v", provider.ClassOf(err), err)
					}
				}
				g.has(`old -rw------- "old"`)
			})
		}
	}
	cancel()
}

type failing struct{}

// Read implements io.Reader.
func (failing) Read([]byte) (int, error) { return 0, errors.New("cable pulled") }

// TestContentOfWhatIsMade has content that is for a file that is made, and for nothing that is
// there.
func TestContentOfWhatIsMade(t *testing.T) {
	g := newRig(t, File())
	r := g.resource(map[string]any{"path": g.path("a"), "content": "first\n", "replace": false,
		"mode": "0600"})
	g.must(r, diff.Created)
	g.has(`a -rw------- "first\n"`)
	g.write("a", "mine\n", 0o600)
	g.must(r, diff.NoChange)
	g.write("a", "mine\n", 0o644)
	g.must(r, diff.Updated)
	g.has(`a -rw------- "mine\n"`)
	g.do(os.Remove(g.path("a")))
	g.do(os.Symlink("nowhere", g.path("a"))) // no file is there
	g.must(r, diff.Updated)
	g.has(`a -rw------- "first\n"`)
	r.Purged = true
	g.must(r, diff.Purged)
}

func TestContentOfNoKind(t *testing.T) {
	g := newRig(t, File())
	g.write("a", "x", 0o600)
	for _, name := range []string{"a", "b"} {
		r := provider.Resource{Attributes: map[string]any{"path": g.path(name),
			"content": int64(1)}}
		g.fails(r, provider.NeedsChange, "content is neither text nor a file")
	}
	g.has(`a -rw------- "x"`)
}

// TestBatch has good and bad changes in one batch, of more files than are open at a time.
func TestBatch(t *testing.T) {
	for kind, fileSystem := range fileSystems() {
		t.Run(kind, func(t *testing.T) {
			g := newRig(t, withFile(&disk.System{Before: fileSystem}))
			h, _ := g.def.Handler.(file)
			g.write("obstacle", "", 0o600)
			g.do(os.Mkdir(g.path("0"), 0o700))
			g.do(os.Mkdir(g.path("1"), 0o700))
			var items []provider.BatchChange
			var reads []provider.BatchRead
			bad := map[int]provider.Class{}
			for i := range 3*group + 7 {
				attrs := map[string]any{"path": g.path(fmt.Sprintf("%d/%d", i%2, i)),
					"content": fmt.Sprint(i)}
				switch i % 50 {
				case 7:
					attrs["path"], bad[i] = g.path(fmt.Sprint("missing/", i)), provider.Retryable
				case 11:
					attrs["path"], bad[i] = g.path(fmt.Sprint("obstacle/", i)), provider.NeedsChange
				case 13:
					attrs["owner"], bad[i] = "no-such-user", provider.Retryable
				}
				r := g.resource(attrs)
				items = append(items, provider.BatchChange{Context: g.ctx(), Change: diff.Created,
					Resource: r})
				reads = append(reads,
					provider.BatchRead{Context: g.ctx(),
						ReadRequest: provider.ReadRequest{Resource: r}})
			}
			for i, a := range h.ApplyBatch(t.Context(), items) {
				class, isBad := bad[i]
				if isBad != (a.Err != nil) || isBad && provider.ClassOf(a.Err) != class {
					t.Fatalf("%d: %v", i, a.Err)
				}
			}
			for i, got := range h.ReadBatch(t.Context(), reads) {
				if _, isBad := bad[i]; isBad == got.Observation.Exists ||
					!isBad && got.Observation.Attributes["content"] != fmt.Sprint(i) {
					t.Fatalf("%d: %v", i, got)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			before := g.shape(false)
			for i := range items {
				items[i].Change = diff.Purged
			}
			for i, a := range h.ApplyBatch(ctx, items) {
				if _, isBad := bad[i]; a.Err == nil && !isBad {
					t.Fatalf("%d was purged after all was called off", i)
				}
			}
			if g.shape(false) != before {
				t.Fatal("something was changed after all was called off")
			}
		})
	}
}

// TestPanicsArePassedOn to whoever called, who can live with them.
func TestPanicsArePassedOn(t *testing.T) {
	for _, workers := range []int{1, 3} {
		func() {
			defer func() {
				if p := recover(); p != "broken" {
					t.Errorf("%d workers: %v", workers, p)
				}
			}()
			spread(10, workers, func(i int) {
				if i == 3 {
					panic("broken")
				}
			})
		}()
	}
}

// TestDirectoryThatIsThereAlready is created again after a run that was not recorded, with
// something in it by now.
func TestDirectoryThatIsThereAlready(t *testing.T) {
	g := newRig(t, Directory())
	g.do(os.Mkdir(g.path("a"), 0o755))
	g.write("a/in", "", 0o600)
	r := g.resource(map[string]any{"path": g.path("a"), "mode": "0700"})
	if _, err := g.def.Handler.Create(g.ctx(), provider.CreateRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
	g.has("a drwx------", `a/in -rw------- ""`)
	g.write("b", "", 0o600)
	_, err := g.def.Handler.Create(g.ctx(),
		provider.CreateRequest{Resource: g.resource(map[string]any{"path": g.path("b")})})
	if err == nil || provider.ClassOf(err) != provider.NeedsChange ||
		!strings.Contains(err.Error(), "does not hold a directory") {
		t.Fatal(err)
	}
	g.has("a drwx------", `a/in -rw------- ""`, `b -rw------- ""`)
}

func TestSymlinkOverOneThatIsThere(t *testing.T) {
	g := newRig(t, Symlink())
	g.do(os.Symlink("old", g.path("a")))
	if _, err := g.def.Handler.Create(g.ctx(),
		provider.CreateRequest{Resource: g.resource(map[string]any{"path": g.path("a"),
			"target": "new"})}); err != nil {
		t.Fatal(err)
	}
	g.has("a Lrwxrwxrwx -> new")
}

// mayNot returns the text for who runs the tests.
func mayNot(user, root string) string {
	if os.Geteuid() == 0 {
		return root
	}
	return user
}

// TestExplain gives every error of the system a class and advice.
func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		err   error
		class provider.Class
		text  string
	}{
		{nil, provider.Retryable, ""},
		{unix.ENOSPC, provider.Retryable, "make room"},
		{unix.EDQUOT, provider.Retryable, "make room"},
		{unix.EROFS, provider.Terminal, "read-only"},
		{unix.EACCES, provider.Terminal, mayNot("a user that may", "not even the superuser may")},
		{unix.EPERM, provider.Terminal, "lsattr"},
		{unix.ENOTDIR, provider.NeedsChange, "above it"},
		{unix.ENOENT, provider.Retryable, "describe that, too"},
		{unix.EISDIR, provider.NeedsChange, "the path holds a directory"},
		{unix.ENOTEMPTY, provider.NeedsChange, "recurse_purge"},
		{unix.ENAMETOOLONG, provider.NeedsChange, "another path"},
		{unix.EFBIG, provider.NeedsChange, "files of this size"},
		{unix.EBUSY, provider.Retryable, "uses it"},
		{unix.EMFILE, provider.Retryable, "ulimit -n"},
		{unix.EIO, provider.Retryable, "the disk"},
		{context.Canceled, provider.Retryable, "context canceled"},
		{provider.Errorf(provider.Terminal, "own words"), provider.Terminal, "own words"},
		{errors.New("anything"), provider.Retryable, "anything"},
	} {
		got := disk.Explain("make /a", fmt.Errorf("wrapped: %w", tc.err))
		if tc.err == nil {
			if got = disk.Explain("make /a", nil); got != nil {
				t.Error(got)
			}
			continue
		}
		if provider.ClassOf(got) != tc.class || !strings.Contains(got.Error(), tc.text) ||
			!strings.HasPrefix(got.Error(), "make /a: ") || !errors.Is(got, tc.err) {
			t.Errorf("%v: %s: %v", tc.err, provider.ClassOf(got), got)
		}
	}
}
