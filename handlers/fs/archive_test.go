package fs

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func withArchive(s *disk.System) provider.Definition {
	d := Archive()
	d.Handler = archive{s}
	return d
}

// member is one thing in an archive that a test makes.
type member struct {
	name, body string
	kind       byte // tar.TypeReg unless said
	mode       int64
}

func plainFile(name, body string) member { return member{name, body, tar.TypeReg, 0o644} }
func linkTo(name, target string) member  { return member{name, target, tar.TypeSymlink, 0o777} }

// tarOf makes an archive.
func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Typeflag: m.kind, Mode: m.mode,
			ModTime: time.Unix(1_700_000_000, 0), Uid: 4242, Gid: 4242, Uname: "evil"}
		switch m.kind {
		case tar.TypeReg:
			h.Size = int64(len(m.body))
		case tar.TypeSymlink, tar.TypeLink:
			h.Linkname = m.body
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if m.kind == tar.TypeReg {
			if _, err := w.Write([]byte(m.body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func versions(t testing.TB) (one, two []byte) {
	t.Helper()
	return tarOf(t, member{"./", "", tar.TypeDir, 0o755}, plainFile("./app/run", "run one"),
			member{"./app/bin/", "", tar.TypeDir, 0o750},
			member{"./app/bin/tool", "tool", tar.TypeReg, 0o755 | 0o4000},
			linkTo("app/bin/t", "tool"), linkTo("app/bin/up", "../old"),
			member{"app/bin/same", "app/bin/tool", tar.TypeLink, 0o755},
			plainFile("app/old/gone", "x"), plainFile("app/turns", "file")),
		tarOf(t, plainFile("app/run", "run two"), member{"app/bin/tool", "tool", tar.TypeReg,
			0o755}, plainFile("app/turns/into", "directory"), linkTo("app/bin/t", "same"),
			plainFile("app/empty", ""))
}

func TestArchiveConformance(t *testing.T) {
	one, two := versions(t)
	for kind, fileSystem := range fileSystems() {
		if kind != "usual" {
			continue // files are always made under a hidden name
		}
		s := &providertest.Stopper{}
		providertest.Run(t, providertest.Subject{Definition: withArchive(stopped(s, fileSystem)),
			New: func(_ string, host *providertest.Host) (providertest.Case, error) {
				dir := memoryDir(t)
				path := filepath.Join(dir, "a")
				first, second := host.AddFile(one), host.AddFile(two)
				c := providertest.Case{
					Attributes: map[string]any{"path": path, "source": first, "strip": int64(1)},
					Updates:    []map[string]any{{"source": second}, {"strip": int64(0)}},
					Others: []map[string]any{{"path": path + "2", "source": first},
						{"path": dir, "name": "beside", "source": second, "strip": int64(1)}},
					World:     func() (string, error) { return world(dir) },
					Vanish:    func() error { return os.RemoveAll(path) },
					Interrupt: s.Interrupt,
					Edges: []string{"format", "verify", "checksum", "max_size", "max_files",
						"strip", "source"},
				}
				return c, nil
			}})
	}
}

// unpackedShape describes what was unpacked, without the list.
func (g *rig) unpackedShape(name string) string {
	g.t.Helper()
	got, err := world(g.path(name))
	if err != nil {
		g.t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(got,
		fmt.Sprintf(" %d:%d", os.Getuid(), os.Getgid()), "")) {
		if !strings.Contains(line, ".southbound-archive") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestArchive(t *testing.T) {
	g := newRig(t, Archive())
	one, two := versions(t)
	attrs := map[string]any{"path": g.path("a"), "source": g.host.AddFile(one), "strip": int64(1)}
	g.must(g.resource(attrs), diff.Created)
	const first = "bin drwxr-x---\nbin/same -rwxr-xr-x \"tool\"\nbin/t Lrwxrwxrwx -> tool\n" +
		"bin/tool -rwxr-xr-x \"tool\"\nbin/up Lrwxrwxrwx -> ../old\nold drwxr-xr-x\n" +
		"old/gone -rw-r--r-- \"x\"\nrun -rw-r--r-- \"run one\"\nturns -rw-r--r-- \"file\"\n"
	if shape := g.unpackedShape("a"); shape != first {
		t.Fatal(shape)
	}
	attrs["source"] = g.host.AddFile(two)
	g.must(g.resource(attrs), diff.Updated)
	const second = "bin drwxr-x---\nbin/t Lrwxrwxrwx -> same\nbin/tool -rwxr-xr-x \"tool\"\n" +
		"empty -rw-r--r-- \"\"\nrun -rw-r--r-- \"run two\"\nturns drwxr-xr-x\n" +
		"turns/into -rw-r--r-- \"directory\"\n"
	if shape := g.unpackedShape("a"); shape != second {
		t.Fatal(shape)
	}
	g.do(os.WriteFile(g.path("a/.archive.southbound-archive"), []byte("{}"), 0o600))
	g.fails(g.resource(attrs), provider.Terminal, "remove it by hand")
	g.do(os.WriteFile(g.path("a/.archive.southbound-archive"),
		[]byte(`{"southbound_archive":1,"entries":[{"name":"../../evil"}]}`), 0o600))
	g.fails(g.resource(attrs), provider.Terminal, "evil")
}

// TestArchiveBlocked puts something of another kind in the place of an entry: the plan foresees that the
// archive cannot be unpacked.
func TestArchiveBlocked(t *testing.T) {
	for name, dir := range map[string]bool{"run": true, "bin/tool": true, "bin/t": true, "empty": true,
		"turns": false} {
		g := newRig(t, Archive())
		_, two := versions(t)
		r := g.resource(map[string]any{"path": g.path("a"), "source": g.host.AddFile(two),
			"strip": int64(1)})
		if err := g.would(r); err != nil {
			t.Fatal(err)
		}
		g.must(r, diff.Created)
		g.do(os.RemoveAll(g.path("a/" + name)))
		if err := g.would(r); err != nil {
			t.Fatal(err)
		}
		if dir {
			g.do(os.Mkdir(g.path("a/"+name), 0o755))
		} else {
			g.write("a/"+name, "mine", 0o644)
		}
		if err := g.would(r); err == nil || !strings.Contains(err.Error(), name+": there is a ") {
			t.Errorf("%s: the plan says %v", name, err)
		}
		g.fails(r, provider.NeedsChange, "remove it")
	}
}

// TestArchiveOfOddNames unpacks, checks and removes what has names and targets of any bytes.
func TestArchiveOfOddNames(t *testing.T) {
	g := newRig(t, Archive())
	var members []member
	for i, name := range []string{"caf\xe9", "caf\xe8", "é", "-rf", "a b"} {
		members = append(members, plainFile("d/"+name, "x"), linkTo(fmt.Sprint("l", i), "d/"+name))
	}
	dir := member{"d/", "", tar.TypeDir, 0o1777}
	attrs := map[string]any{"path": g.path("a"),
		"source": g.host.AddFile(tarOf(t, append([]member{dir}, members...)...))}
	g.must(g.resource(attrs), diff.Created)
	g.do(os.WriteFile(g.path("a/d/caf\xe9"), []byte("other"), 0o600))
	obs, err := g.def.Handler.Read(g.ctx(), provider.ReadRequest{Resource: g.resource(attrs)})
	g.do(err)
	if drifted := fmt.Sprint(obs.Attributes["drifted"]); drifted != `[d/caf\xe9]` {
		t.Fatal(drifted)
	}
	g.must(g.resource(attrs), diff.Updated)
	if info, err := os.Stat(g.path("a/d")); err != nil || info.Mode()&os.ModeSticky == 0 {
		t.Fatal("a directory for everybody lost its sticky bit", info, err)
	}
	g.must(g.resource(attrs, true), diff.Purged)
	if _, err := os.Lstat(g.path("a")); !os.IsNotExist(err) {
		t.Fatal("something was left", err)
	}
}

// TestArchiveRefused has archives that would write elsewhere, or too much. Nothing is written.
func TestArchiveRefused(t *testing.T) {
	big := strings.Repeat("0", 1<<20)
	for _, tc := range []struct {
		why     string
		members []member
		part    string
	}{
		{"up and out", []member{plainFile("fine", ""), plainFile("../evil", "")}, "leads out"},
		{"up in the middle", []member{plainFile("a/../../evil", "")}, "leads out"},
		{"absolute", []member{plainFile("/etc/evil", "")}, "absolute"},
		{"backslashes", []member{plainFile(`..\evil`, "")}, "character"},
		{"a link out", []member{linkTo("a", "../b")}, "leads to"},
		{"an absolute link", []member{linkTo("a", "/etc")}, "leads to"},
		{"a link that turns", []member{linkTo("a", "b/../..")}, "leads to"},
		{"a link that is deep", []member{linkTo("a/b/c", "../../../d")}, "leads to"},
		{"a file below a link", []member{linkTo("a", "b"), plainFile("a/c", "")},
			"not a directory"},
		{"a link above a file", []member{plainFile("a/c", ""), linkTo("a", "b")},
			"not a directory"},
		{"a file below a file", []member{plainFile("a/c", ""), plainFile("a", "")},
			"not a directory"},
		{"a directory that is a link", []member{{"a/", "", tar.TypeDir, 0o755}, linkTo("a", "b")},
			"twice"},
		{"a hard link out", []member{{"a", "/etc/passwd", tar.TypeLink, 0o644}}, "absolute"},
		{"a hard link to what is not in it", []member{{"a", "b", tar.TypeLink, 0o644}},
			"does not stand before"},
		{"a device", []member{{"a", "", tar.TypeChar, 0o666}}, "device"},
		{"a pipe", []member{{"a", "", tar.TypeFifo, 0o666}}, "device"},
		{"a name of ours", []member{plainFile(".x.southbound-archive", "{}")}, "only Southbound"},
		{"too much", []member{plainFile("a", big), plainFile("b", big)}, "max_size"},
		{"too much that is left out", []member{plainFile("x", strings.Repeat(big, 8))}, "max_"},
		{"too many", []member{plainFile("a", ""), plainFile("b", ""), plainFile("c", ""),
			plainFile("d", "")}, "max_files"},
		{"a hard link bomb", []member{plainFile("a", big), {"b", "a", tar.TypeLink, 0o644},
			{"c", "a", tar.TypeLink, 0o644}}, "max_size"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, Archive())
			attrs := map[string]any{"path": g.path("a"),
				"source": g.host.AddFile(tarOf(t, tc.members...)), "max_size": int64(1 << 20),
				"max_files": int64(3)}
			if strings.Contains(tc.why, "left out") {
				attrs["strip"] = int64(1)
			}
			g.fails(g.resource(attrs), provider.NeedsChange, tc.part)
			g.has()
		})
	}
}

// TestArchiveFormats reads what the programs of the system write.
func TestArchiveFormats(t *testing.T) {
	from := t.TempDir()
	random := make([]byte, 60_000)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(random)
	for name, data := range map[string][]byte{"top/a": []byte("hello"), "top/deep/er/ü": random,
		"top/" + strings.Repeat("n", 150): nil} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("deep/er", from+"/top/link"); err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, tc := range []struct{ format, command string }{
		{"tar", "tar -cf %s top"},
		{"tar", "tar --format=pax --pax-option=globexthdr.name=g,comment=first -cf %s top"},
		{"tar", "tar --format=pax -H pax --pax-option=mtime:=1700000000.5 -cf %s top"},
		{"tar", "git init -q . && git add top && git -c user.name=a -c user.email=a@b commit -qm " +
			"c && git archive -o %s HEAD && rm -r .git"},
		{"tar.gz", "tar -czf %s top"}, {"tar.bz2", "tar -cjf %s top"},
		{"tar.xz", "tar -cJf %s top"}, {"tar.zst", "tar -c top | zstd -q -o %s"},
		{"zip", "python3 -c 'import shutil,sys; shutil.make_archive(sys.argv[1][:-4], \"zip\", " +
			"\".\", \"top\")' %s.zip && mv %[1]s.zip %[1]s"},
	} {
		t.Run(tc.format, func(t *testing.T) {
			g := newRig(t, Archive())
			cmd := exec.Command("sh", "-c", fmt.Sprintf(tc.command, g.path("archive")))
			cmd.Dir = from
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v %s", err, out)
			}
			data, err := os.ReadFile(g.path("archive"))
			g.do(err)
			sum := sha512.Sum512(data)
			attrs := map[string]any{"path": g.path("a"), "source": g.path("archive"),
				"strip": int64(1), "checksum": "sha512:" + hex.EncodeToString(sum[:])}
			g.must(g.resource(attrs), diff.Created)
			shape := g.unpackedShape("a")
			if tc.format == "zip" || strings.HasPrefix(tc.command, "git") {
				// one follows links, the other has modes of its own
				if !strings.Contains(shape, `"hello"`) || !strings.Contains(shape, "deep/er/ü") {
					t.Fatal(shape)
				}
			} else if want == "" {
				want = shape
			} else if shape != want {
				t.Fatalf("%s\nis not\n%s", shape, want)
			}
			for _, cut := range []int{len(data) / 2, len(data) - 5} {
				if tc.format == "tar" && cut != len(data)/2 {
					continue // padding
				}
				g.do(os.WriteFile(g.path("cut"), data[:cut], 0o600))
				g.fails(g.resource(map[string]any{"path": g.path("b"), "source": g.path("cut"),
					"format": tc.format}), provider.NeedsChange, "damaged")
			}
		})
	}
}

// TestArchiveZip has what only zip files have.
func TestArchiveZip(t *testing.T) {
	g := newRig(t, Archive())
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	h := &zip.FileHeader{Name: "link"}
	h.SetMode(os.ModeSymlink | 0o777)
	f, err := w.CreateHeader(h)
	g.do(err)
	_, err = f.Write([]byte("../../etc"))
	g.do(err)
	g.do(w.Close())
	g.fails(g.resource(map[string]any{"path": g.path("a"), "source": g.host.AddFile(b.Bytes())}),
		provider.NeedsChange, "leads to")
	g.fails(
		g.resource(map[string]any{"path": g.path("a"),
			"source": g.host.AddFile([]byte("no archive at all"))}), provider.NeedsChange,
		"neither tar")
	g.fails(g.resource(map[string]any{"path": g.path("a"), "source": g.path("none")}),
		provider.Retryable, "there is no archive")
	g.fails(g.resource(map[string]any{"path": g.path("none/a"),
		"source": g.host.AddFile(tarOf(t))}), provider.Retryable, "directory above it")
	wrong := sha256.Sum256([]byte("other"))
	g.write("local", string(tarOf(t, plainFile("a", ""))), 0o600)
	g.fails(g.resource(map[string]any{"path": g.path("a"), "source": g.path("local"),
		"checksum": "sha256:" + hex.EncodeToString(wrong[:])}), provider.NeedsChange,
		"not the desired one")
	g.has(`local -rw------- ` + fmt.Sprintf("%q", tarOf(t, plainFile("a", ""))))
}

// TestArchiveDrift changes what was unpacked in every way.
func TestArchiveDrift(t *testing.T) {
	one, _ := versions(t)
	for why, drift := range map[string]func(g *rig) error{
		"a file is gone": func(g *rig) error { return os.Remove(g.path("a/app/run")) },
		"other bytes": func(g *rig) error {
			return os.WriteFile(g.path("a/app/run"), []byte("run 0ne"), 0o644)
		},
		"another mode": func(g *rig) error {
			return os.Chmod(g.path("a/app/run"), 0o600)
		},
		"rights of another user": func(g *rig) error {
			return os.Chmod(g.path("a/app/bin/tool"), 0o755|os.ModeSetuid)
		},
		"a link leads elsewhere": func(g *rig) error {
			_ = os.Remove(g.path("a/app/bin/up"))
			return os.Symlink("run", g.path("a/app/bin/up"))
		},
		"a link instead of bytes": func(g *rig) error {
			_ = os.Remove(g.path("a/app/run"))
			return os.Symlink("/etc/passwd", g.path("a/app/run"))
		},
		"a directory is gone": func(g *rig) error { return os.RemoveAll(g.path("a/app/bin")) },
		"a link out instead of a directory": func(g *rig) error {
			return errors.Join(os.RemoveAll(g.path("a/app/bin")),
				os.Symlink("/etc", g.path("a/app/bin")))
		},
		"a link to its own copy instead of a directory": func(g *rig) error {
			return errors.Join(os.Rename(g.path("a/app/bin"), g.path("bin")),
				os.Symlink("../../bin", g.path("a/app/bin")))
		},
		"a link within instead of a directory": func(g *rig) error {
			return errors.Join(os.RemoveAll(g.path("a/app/bin")),
				os.Symlink(".", g.path("a/app/bin")))
		},
	} {
		t.Run(why, func(t *testing.T) {
			g := newRig(t, Archive())
			r := g.resource(map[string]any{"path": g.path("a"), "source": g.host.AddFile(one)})
			g.must(r, diff.Created)
			before := g.unpackedShape("a")
			g.write("a/app/mine", "not of the archive", 0o600)
			mine := g.unpackedShape("a")
			g.do(drift(g))
			g.must(r, diff.Updated)
			if after := g.unpackedShape("a"); after != mine {
				t.Fatalf("%s\nand before\n%s", after, before)
			}
			r.Purged = true
			g.must(r, diff.Purged)
			if after := g.unpackedShape(
				"a"); after != "app drwxr-xr-x\napp/mine -rw------- \"not of the archive\"\n" {
				t.Fatal(after)
			}
		})
	}
}

// TestArchiveIsNoWayOut has somebody put a link to another place where the archive has a directory.
func TestArchiveIsNoWayOut(t *testing.T) {
	one, _ := versions(t)
	g := newRig(t, Archive())
	g.do(os.MkdirAll(g.path("outside/bin"), 0o755))
	g.do(os.Mkdir(g.path("a"), 0o755))
	g.do(os.Symlink("../outside", g.path("a/app")))
	r := g.resource(map[string]any{"path": g.path("a"), "source": g.host.AddFile(one)})
	if change, _, err := g.apply(r); err == nil {
		t.Fatal(change)
	}
	if shape := g.unpackedShape("outside"); shape != "bin drwxr-xr-x\n" {
		t.Fatal(shape)
	}
}

// TestArchivePurgedOverALink has somebody put a link to another place where a directory was
// unpacked: what is there is not ours.
func TestArchivePurgedOverALink(t *testing.T) {
	one, _ := versions(t)
	g := newRig(t, Archive())
	r := g.resource(map[string]any{"path": g.path("a"), "source": g.host.AddFile(one)})
	g.must(r, diff.Created)
	g.do(errors.Join(os.Rename(g.path("a/app/bin"), g.path("bin")),
		os.Symlink("../../bin", g.path("a/app/bin"))))
	before := g.unpackedShape("bin")
	r.Purged = true
	g.must(r, diff.Purged)
	if after := g.unpackedShape("bin"); after != before {
		t.Fatal(after)
	}
	if after := g.unpackedShape("a"); after != "app drwxr-xr-x\napp/bin -> ../../bin\n" &&
		!strings.Contains(after, "app/bin L") {
		t.Fatal(after)
	}
}

func TestArchiveCreatesAndQuick(t *testing.T) {
	one, _ := versions(t)
	g := newRig(t, Archive())
	attrs := map[string]any{"path": g.path("a"), "source": g.host.AddFile(one),
		"creates": "app/run"}
	g.must(g.resource(attrs), diff.Created)
	g.do(os.Remove(g.path("a/app/turns")))
	g.must(g.resource(attrs), diff.NoChange)
	delete(attrs, "creates")
	attrs["verify"] = "quick"
	g.must(g.resource(attrs), diff.Updated)
	// as long as it was, at another time
	g.do(os.WriteFile(g.path("a/app/run"), []byte("run 0ne"), 0o644))
	g.must(g.resource(attrs), diff.Updated)
	attrs["owner"] = int64(os.Getuid())
	g.must(g.resource(attrs), diff.NoChange)
	if os.Getuid() == 0 {
		attrs["owner"] = int64(4243)
		g.must(g.resource(attrs), diff.Updated)
	}
}

// TestArchiveIsNoPipe pins that what waits for a writer is refused, and not waited for.
func TestArchiveIsNoPipe(t *testing.T) {
	g := newRig(t, Archive())
	g.do(os.Mkdir(g.path("a"), 0o755))
	g.do(unix.Mkfifo(g.path("pipe"), 0o600))
	failed := make(chan error, 1)
	go func() {
		_, _, err := g.apply(g.resource(map[string]any{"path": g.path("a"),
			"source": g.path("pipe")}))
		failed <- err
	}()
	select {
	case err := <-failed:
		if provider.ClassOf(err) != provider.NeedsChange {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for somebody to write")
		f, err := os.OpenFile(g.path("pipe"), os.O_WRONLY, 0)
		g.do(err)
		_ = f.Close()
		t.Error(<-failed)
	}
}
