package fs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// stranger is a user who may write in directories on the way to what is managed.
const stranger = 54321

// give makes things the stranger's. Only the superuser can; for others, they stay their own and
// self is another user than their owner.
func (g *rig) give(names ...string) {
	g.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, name := range names {
		g.do(os.Lchown(g.path(name), stranger, stranger))
	}
}

// foreignSystem is one on which links that give has given away belong to another user than the one
// who makes changes.
func foreignSystem(before func(string) error) *disk.System {
	s := &disk.System{Before: before}
	if os.Geteuid() != 0 {
		s.Self = stranger
	}
	return s
}

func TestLinksOnTheWay(t *testing.T) {
	for _, tc := range []struct {
		why    string
		set    func(g *rig) // makes "way", a link, beside "dir", which has "f"
		path   string
		reason string // of a refusal
	}{
		{"one of our own is followed", func(g *rig) { g.do(os.Symlink("dir", g.path("way"))) },
			"way/f", ""},
		{"also with an absolute target",
			func(g *rig) { g.do(os.Symlink(g.path("dir"), g.path("way"))) }, "way/f", ""},
		{"and over others", func(g *rig) {
			g.do(os.Symlink("dir", g.path("b")))
			g.do(os.Symlink("./b/../b/.", g.path("way")))
		}, "way/f", ""},
		{"one of a stranger to what is the stranger's",
			func(g *rig) { g.do(os.Symlink("dir", g.path("way"))); g.give("dir", "way") }, "way/f",
			""},
		{"one of a stranger to what is ours", func(g *rig) {
			g.do(os.Symlink("../usr", g.path("way")))
			g.do(os.Symlink("/usr", g.path("usr")))
			g.elsewhere("way", "/usr")
		},
			"way/f", "belongs to user"},
		{"one of a stranger through one of ours", func(g *rig) {
			g.do(os.Symlink("/usr", g.path("b")))
			g.do(os.Symlink("b", g.path("way")))
			g.give("way")
		}, "way/f", "belongs to user"},
		{"one of a stranger in the middle", func(g *rig) { g.elsewhere("way", "/") }, "way/usr/f",
			"belongs to user"},
		{"one of a stranger over the root and back",
			func(g *rig) { g.elsewhere("way", "/"); g.give("dir") }, "way" + "/f",
			"belongs to user"},
		{"a ring", func(g *rig) { g.do(os.Symlink("way", g.path("way"))) }, "way/f",
			"too many levels"},
		{"one that leads to a file", func(g *rig) { g.do(os.Symlink("dir/f", g.path("way"))) },
			"way/f", "missing"},
		{"one that leads nowhere", func(g *rig) { g.do(os.Symlink("none", g.path("way"))) },
			"way/f", "missing"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			d := File()
			d.Handler = file{foreignSystem(nil)}
			g := newRig(t, d)
			g.do(os.Mkdir(g.path("dir"), 0o755))
			g.write("dir/f", "here", 0o644)
			tc.set(g)
			r := g.resource(map[string]any{"path": g.path(tc.path), "content": "here"})
			obs, err := d.Handler.Read(g.ctx(), provider.ReadRequest{Resource: r})
			switch {
			case tc.reason == "" && err == nil && obs.Exists && obs.Attributes["content"] == "here":
			case tc.reason == "missing" && err == nil && !obs.Exists:
			case tc.reason != "" && err != nil && strings.Contains(err.Error(), tc.reason) &&
				provider.ClassOf(err) == provider.NeedsChange:
			default:
				t.Fatalf("%v, %v; expected %q", obs, err, tc.reason)
			}
		})
	}
}

// TestMovedIntoTheWay has a stranger move what the superuser made to where the superuser works
// next.
func TestMovedIntoTheWay(t *testing.T) {
	if !runsAsRoot() {
		return // there is no stranger
	}
	for _, tc := range []struct {
		why     string
		set     func(g *rig) // makes "way/in", which is "dir", where "f" is
		refused string
	}{
		{"a link in a directory of a stranger",
			func(g *rig) { g.give("way"); g.do(os.Symlink("../dir", g.path("way/in"))) },
			"symbolic link"},
		{"which leads to what is the stranger's",
			func(g *rig) { g.give("way", "dir"); g.do(os.Symlink("../dir", g.path("way/in"))) },
			""},
		{"a link where everybody may write",
			func(g *rig) { g.open("way", 0o777); g.do(os.Symlink("../dir", g.path("way/in"))) },
			"by everybody"},
		{"which leads to where everybody may", func(g *rig) {
			g.open("way", 0o777)
			g.open("dir", 0o777)
			g.do(os.Symlink("../dir", g.path("way/in")))
		}, ""},
		{"a link that only its owner may move",
			func(g *rig) {
				g.open("way", 0o777|os.ModeSticky)
				g.do(os.Symlink("../dir", g.path("way/in")))
			}, ""},
		{"a link where a group may write", func(g *rig) {
			g.do(os.Chown(g.path("way"), 0, stranger))
			g.open("way", 0o775)
			g.do(os.Symlink("../dir", g.path("way/in")))
		}, "by group 54321"},
		{"a link in a directory that a link of ours leads to", func(g *rig) {
			g.do(os.Rename(g.path("way"), g.path("theirs")))
			g.give("theirs")
			g.do(os.Symlink("theirs", g.path("way")))
			g.do(os.Symlink("../dir", g.path("theirs/in")))
		}, "symbolic link"},
		{"a directory in a directory of a stranger",
			func(g *rig) { g.give("way"); g.do(os.Rename(g.path("dir"), g.path("way/in"))) },
			"directory"},
		{"which is the stranger's", func(g *rig) {
			g.give("way", "dir")
			g.do(os.Rename(g.path("dir"), g.path("way/in")))
		}, ""},
		{"which is a third one's", func(g *rig) {
			g.give("way")
			g.do(os.Chown(g.path("dir"), stranger+1, 0))
			g.do(os.Rename(g.path("dir"), g.path("way/in")))
		}, ""},
		{"a directory where everybody may write",
			func(g *rig) { g.open("way", 0o777); g.do(os.Rename(g.path("dir"), g.path("way/in"))) },
			"by everybody"},
		{"a directory that only its owner may move", func(g *rig) {
			g.open("way", 0o777|os.ModeSticky)
			g.do(os.Rename(g.path("dir"), g.path("way/in")))
		}, ""},
		{"a directory where a group may write", func(g *rig) {
			g.do(os.Chown(g.path("way"), 0, stranger))
			g.open("way", 0o775)
			g.do(os.Rename(g.path("dir"), g.path("way/in")))
		}, ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, File())
			g.do(os.Mkdir(g.path("dir"), 0o755))
			g.do(os.Mkdir(g.path("way"), 0o755))
			g.write("dir/f", "here", 0o644)
			tc.set(g)
			before := g.shape(false)
			for _, attrs := range []map[string]any{{"content": "new"}, {"owner": int64(stranger)},
				{"purged": true}} {
				purged := attrs["purged"] == true
				delete(attrs, "purged")
				attrs["path"] = g.path("way/in/f")
				r := g.resource(attrs)
				r.Purged = purged
				if tc.refused == "" {
					if _, _, err := g.apply(r); err != nil {
						t.Fatal(err)
					}
					continue
				}
				g.fails(r, provider.NeedsChange, tc.refused)
				if after := g.shape(false); after != before {
					t.Fatalf("there is\n%s", after)
				}
			}
		})
	}
}

// open sets the mode of a directory, whatever umask says.
func (g *rig) open(name string, mode os.FileMode) {
	g.t.Helper()
	g.do(os.Chmod(g.path(name), mode))
}

// elsewhere makes a link of a stranger that leads to a directory of the superuser.
func (g *rig) elsewhere(name, target string) {
	g.t.Helper()
	if _, err := os.Lstat(g.path(name)); err == nil {
		g.do(os.Remove(g.path(name)))
	}
	g.do(os.Symlink(target, g.path(name)))
	g.give(name)
}

// swap puts a link to another place where a thing is, and keeps the thing beside it; the link is a
// stranger's.
func (g *rig) swap(name, target string) {
	g.t.Helper()
	g.do(os.Rename(g.path(name), g.path(name)+".moved"))
	g.elsewhere(name, target)
}

// TestSwappedOnTheWay exchanges one directory after the other above what is managed, and the thing
// itself, for a link to a place outside, before each step of every change. Nothing outside may
// change, whatever becomes of the change.
func TestSwappedOnTheWay(t *testing.T) {
	type attack struct{ victim, target string }
	attacks := []attack{{"one", "outside/one"}, {"one/two", "outside/one/two"},
		{"one/two/a", "outside/one/two/a"}, {"one/two/a", "outside"}}
	for _, c := range changes() {
		for _, a := range attacks {
			t.Run(c.name+"/"+strings.ReplaceAll(a.victim, "/", "-")+" for "+
				strings.ReplaceAll(a.target, "/", "-"), func(t *testing.T) {
				for n := 0; ; n++ {
					if done := attackAt(t, c, a.victim, a.target, n); done {
						break
					}
				}
			})
		}
	}
}

// attackAt carries a change out below one/two and strikes before its n-th step; done says that it
// has no such step.
func attackAt(t *testing.T, c change, victim, target string, n int) (done bool) {
	t.Helper()
	steps, struck := 0, false
	var base, g *rig
	sys := foreignSystem(func(string) error {
		if steps++; steps != n+1 || struck {
			return nil
		}
		if _, err := os.Lstat(base.path(victim)); err == nil {
			struck = true
			base.swap(victim, base.path(target))
		}
		return nil
	})
	base = newRig(t, c.handler(sys))
	g = &rig{t: t, def: base.def, typ: base.typ, host: base.host, dir: base.path("outside/one/two")}
	g.do(os.MkdirAll(g.dir, 0o755))
	c.before(g) // the same is outside as inside, so that every step finds something to work on
	g.dir = base.path("one/two")
	g.do(os.MkdirAll(g.dir, 0o755))
	c.before(g)
	attrs := c.attrs(g)
	if runsAsRoot() {
		base.give("one", "one/two")
	}
	outside := &rig{t: t, dir: base.path("outside")}
	before := outside.shape(false)
	r := g.resource(attrs)
	r.Purged = c.purged
	_, _, _ = g.apply(r)
	_, _, _ = g.apply(r)
	if after := outside.shape(false); after != before && runsAsRoot() {
		t.Fatalf("struck before step %d; outside there was\n%sand now is\n%s", n, before, after)
	}
	return steps <= n
}

// runsAsRoot reports whether there can be a stranger: without the superuser's rights, what a link
// leads to belongs to the same user as the link, who gains nothing by it.
func runsAsRoot() bool { return os.Geteuid() == 0 }

func TestReplacesWhatIsThereNotWhatItLeadsTo(t *testing.T) {
	for _, tc := range []struct {
		why  string
		set  func(g *rig)
		want []string
	}{
		{"a link to a file", func(g *rig) { g.do(os.Symlink("victim", g.path("a"))) }, nil},
		{"a link to a directory", func(g *rig) { g.do(os.Symlink("dir", g.path("a"))) }, nil},
		{"a link to nowhere", func(g *rig) { g.do(os.Symlink("none", g.path("a"))) }, nil},
		{"a link to itself", func(g *rig) { g.do(os.Symlink("a", g.path("a"))) }, nil},
		{"another name of a file", func(g *rig) { g.do(os.Link(g.path("victim"), g.path("a"))) },
			nil},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, File())
			g.write("victim", "unharmed", 0o600)
			g.do(os.Mkdir(g.path("dir"), 0o700))
			tc.set(g)
			g.must(g.resource(map[string]any{"path": g.path("a"), "content": "new",
				"mode": "0666"}), diff.Updated)
			g.has(`a -rw-rw-rw- "new"`, `dir drwx------`, `victim -rw------- "unharmed"`)
		})
	}
}

func TestOtherNamesOfAFileKeepTheirMode(t *testing.T) {
	g := newRig(t, File())
	g.write("victim", "shared", 0o600)
	g.do(os.Link(g.path("victim"), g.path("a")))
	g.must(g.resource(map[string]any{"path": g.path("a"), "mode": "0644", "content": "shared"}),
		diff.Updated)
	g.has(`a -rw-r--r-- "shared"`, `victim -rw------- "shared"`)
}

// TestBytesUnderAnotherNameAreNotGivenAway refuses to copy what somebody may have linked to a place
// where it would become theirs.
func TestBytesUnderAnotherNameAreNotGivenAway(t *testing.T) {
	for _, attrs := range []map[string]any{
		{"owner": int64(stranger)}, {"mode": "0644"},
		{"mode": "0644", "content": "first", "replace": false},
	} {
		if !runsAsRoot() {
			delete(attrs, "owner")
			attrs["mode"] = "0644"
		}
		g := newRig(t, File())
		g.write("victim", "secret", 0o600)
		g.do(os.Link(g.path("victim"), g.path("a")))
		before := g.shape(false)
		attrs["path"] = g.path("a")
		g.fails(g.resource(attrs), provider.NeedsChange, "has 2 names")
		if after := g.shape(false); after != before {
			t.Errorf("%v: there is\n%s", attrs, after)
		}
	}
}

// TestOtherKinds leaves alone what is not what is described, and says what it is.
func TestOtherKinds(t *testing.T) {
	type maker struct {
		kind string
		make func(path string) error
	}
	makers := []maker{
		{"a regular file", func(p string) error { return os.WriteFile(p, nil, 0o600) }},
		{"a directory", func(p string) error { return os.Mkdir(p, 0o700) }},
		{"a symbolic link", func(p string) error { return os.Symlink("nowhere", p) }},
		{"a named pipe", func(p string) error { return unix.Mkfifo(p, 0o600) }},
		{"a socket", func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) }},
	}
	for _, tc := range []struct {
		def   provider.Definition
		attrs map[string]any
		fine  []string
	}{
		{File(), map[string]any{"content": "x"}, []string{"a regular file", "a symbolic link"}},
		{File(), map[string]any{"mode": "0600"}, []string{"a regular file", "a symbolic link"}},
		{Directory(), map[string]any{"recurse_purge": true}, []string{"a directory"}},
		{Symlink(), map[string]any{"target": "x"}, []string{"a symbolic link"}},
	} {
		for _, m := range makers {
			for _, purged := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v over %s, purged %t", tc.def.Type.Name, tc.attrs, m.kind,
					purged), func(t *testing.T) {
					g := newRig(t, tc.def)
					g.do(m.make(g.path("a")))
					before := g.shape(false)
					tc.attrs["path"] = g.path("a")
					r := g.resource(tc.attrs)
					r.Purged = purged
					_, _, err := g.apply(r)
					fine := strings.Contains(strings.Join(tc.fine, ","), m.kind)
					switch {
					case fine && err != nil:
						t.Fatal(err)
					case !fine &&
						(err == nil || provider.ClassOf(err) != provider.NeedsChange ||
							!strings.Contains(err.Error(), "the path holds "+m.kind)):
						t.Fatalf("%s: %v", provider.ClassOf(err), err)
					case !fine && g.shape(false) != before:
						t.Fatalf("there is\n%s", g.shape(false))
					}
				})
			}
		}
	}
}

// TestAppearedMeanwhile has something else appear under the name between the reading and each step
// of the change.
func TestAppearedMeanwhile(t *testing.T) {
	for _, c := range changes() {
		if !strings.HasPrefix(c.name, "create") {
			continue
		}
		for kept, appear := range map[string]func(string) error{
			"a/precious": func(p string) error {
				if err := os.Mkdir(p, 0o700); err != nil {
					return err
				}
				return os.WriteFile(p+"/precious", nil, 0o600)
			},
			// may be replaced, as what a run that was cut short left
			"": func(p string) error { return unix.Mkfifo(p, 0o600) },
		} {
			t.Run(c.name+"/"+kept, func(t *testing.T) {
				for n, steps := 0, 1; n < steps; n++ {
					steps = 0
					appeared := false
					var g *rig
					g, r := c.start(t, &disk.System{Before: func(string) error {
						if steps++; steps != n+1 {
							return nil
						}
						if err := appear(g.path("a")); err == nil {
							appeared = true
						} else if !errors.Is(err, os.ErrExist) {
							return err
						}
						return nil
					}})
					_, _, err := g.apply(r)
					now := g.shape(false)
					if strings.Contains(now, ".southbound-") ||
						appeared && !strings.Contains(now, kept) {
						t.Fatalf("step %d: %v; there is\n%s", n, err, now)
					}
				}
			})
		}
	}
}
