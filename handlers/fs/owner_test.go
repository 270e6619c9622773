package fs

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// me is who this process runs as, by name and number, and an owner that is not: another user for
// the superuser, the superuser for others.
func me(t *testing.T) (name, group string, uid, gid int) {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username, g.Name, os.Getuid(), os.Getgid()
}

func TestOwnersByNameAndNumber(t *testing.T) {
	name, group, uid, gid := me(t)
	for _, d := range []provider.Definition{File(), Directory(), Symlink()} {
		for _, tc := range []struct {
			why          string
			owner, group any
		}{
			{"by name", name, group},
			{"by number, as text", strconv.Itoa(uid), strconv.Itoa(gid)},
			{"by number", int64(uid), int64(gid)},
			{"the owner alone", name, nil},
			{"the group alone", nil, int64(gid)},
		} {
			t.Run(d.Type.Name+" "+tc.why, func(t *testing.T) {
				g := newRig(t, d)
				attrs := map[string]any{"path": g.path("a"), "owner": tc.owner, "group": tc.group}
				if d.Type.Name == "fs::Symlink" {
					attrs["target"] = "nowhere"
				}
				r := g.resource(attrs)
				g.must(r, diff.Created)
				if st := g.owner("a"); st != fmt.Sprintf("%d:%d", uid, gid) {
					t.Fatal(st)
				}
				if os.Geteuid() != 0 {
					return
				}
				g.do(os.Lchown(g.path("a"), stranger, stranger+1))
				change, diffs, err := g.apply(r)
				if err != nil || change != diff.Updated {
					t.Fatal(change, err)
				}
				if tc.owner != nil &&
					diffs["owner"] != (diff.Diff{Current: strconv.Itoa(stranger),
						Desired: tc.owner}) {
					t.Fatal(diffs)
				}
				want := map[bool]string{true: strconv.Itoa(uid),
					false: strconv.Itoa(stranger)}[tc.owner != nil] + ":" +
					map[bool]string{true: strconv.Itoa(gid),
						false: strconv.Itoa(stranger + 1)}[tc.group != nil]
				if st := g.owner("a"); st != want {
					t.Fatalf("%s, expected %s", st, want)
				}
			})
		}
	}
}

// owner returns the numbers of the owner and the group of a thing.
func (g *rig) owner(name string) string {
	g.t.Helper()
	all, err := world(g.dir)
	g.do(err)
	for line := range strings.Lines(all) {
		if fields := strings.Fields(line); fields[0] == name {
			return fields[2]
		}
	}
	return ""
}

// TestAnotherOwner gives things away, which only the superuser may; others are told so, and nothing
// is left behind.
func TestAnotherOwner(t *testing.T) {
	for _, d := range []provider.Definition{File(), Directory(), Symlink()} {
		t.Run(d.Type.Name, func(t *testing.T) {
			g := newRig(t, d)
			attrs := map[string]any{"path": g.path("a"), "owner": "nobody", "group": "nogroup"}
			if os.Geteuid() != 0 {
				attrs["owner"], attrs["group"] = "root", "root"
			}
			if d.Type.Name == "fs::Symlink" {
				attrs["target"] = "nowhere"
			} else {
				// which a change of owner takes away when it comes after the mode
				attrs["mode"] = "4755"
			}
			r := g.resource(attrs)
			if os.Geteuid() != 0 {
				g.fails(r, provider.Terminal, "run it as a user that may")
				g.has()
				return
			}
			g.must(r, diff.Created)
			if st := g.owner("a"); st != "65534:65534" {
				t.Fatal(st)
			}
			g.do(os.Lchown(g.path("a"), 0, 0))
			g.must(r, diff.Updated)
		})
	}
}

func TestUnknownOwners(t *testing.T) {
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		text  string
	}{
		{"a user", map[string]any{"owner": "no-such-user"}, `there is no user "no-such-user"`},
		{"a group", map[string]any{"group": "no-such-group"}, `there is no group "no-such-group"`},
		{"a number that stands for none", map[string]any{"owner": "4294967295"},
			`there is no user "4294967295"`},
		{"a number below zero", map[string]any{"owner": "-1"}, `there is no user "-1"`},
		{"a number beyond all", map[string]any{"group": "99999999999999999999"},
			`there is no group "99999999999999999999"`},
	} {
		for _, d := range []provider.Definition{File(), Directory(), Symlink()} {
			t.Run(tc.why+" "+d.Type.Name, func(t *testing.T) {
				g := newRig(t, d)
				tc.attrs["path"], tc.attrs["target"] = g.path("a"), "x"
				if d.Type.Name != "fs::Symlink" {
					delete(tc.attrs, "target")
				}
				r := g.resource(tc.attrs)
				g.fails(r, provider.Retryable, tc.text)
				g.has()
				// What is to go does not need its owner.
				r.Purged = true
				if change, _, err := g.apply(r); err != nil || change != diff.NoChange {
					t.Fatal(change, err)
				}
			})
		}
	}
}

func TestModes(t *testing.T) {
	for _, mode := range []string{"0000", "0400", "644", "0755", "0777", "1777", "2755", "4755",
		"6711", "7777", "0007"} {
		for _, d := range []provider.Definition{File(), Directory()} {
			t.Run(d.Type.Name+" "+mode, func(t *testing.T) {
				g := newRig(t, d)
				r := g.resource(map[string]any{"path": g.path("a"), "mode": mode})
				g.must(r, diff.Created)
				g.do(os.Chmod(g.path("a"), 0o751))
				g.must(r, diff.Updated)
				r.Purged = true
				g.must(r, diff.Purged)
			})
		}
	}
}

func TestModesThatNobodyAskedFor(t *testing.T) {
	for _, tc := range []struct {
		why    string
		def    provider.Definition
		before func(g *rig)
		attrs  map[string]any
		want   string
	}{
		{"a new file", File(), func(*rig) {}, map[string]any{"content": ""}, "-rw-r--r--"},
		{"a new directory", Directory(), func(*rig) {}, nil, "drwxr-xr-x"},
		{"a new directory where groups are handed on", Directory(),
			func(g *rig) { g.do(os.Chmod(g.dir, 0o755|os.ModeSetgid)) }, nil, "dgrwxr-xr-x"},
		{"a file keeps its own", File(), func(g *rig) { g.write("a", "x", 0o604) },
			map[string]any{"content": ""}, "-rw----r--"},
		{"but other bytes do not run as another user", File(),
			func(g *rig) { g.write("a", "x", 0o755|os.ModeSetuid|os.ModeSetgid) },
			map[string]any{"content": ""}, "-rwxr-xr-x"},
		{"unless that is asked for", File(),
			func(g *rig) { g.write("a", "x", 0o755|os.ModeSetuid) },
			map[string]any{"content": "", "mode": "4755"}, "urwxr-xr-x"},
		{"a file instead of a link", File(),
			func(g *rig) { g.do(os.Symlink("/etc/passwd", g.path("a"))) },
			map[string]any{"content": ""}, "-rw-r--r--"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, tc.def)
			tc.before(g)
			attrs := map[string]any{"path": g.path("a")}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			if _, _, err := g.apply(g.resource(attrs)); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(g.path("a"))
			g.do(err)
			if got := info.Mode().String(); got != tc.want {
				t.Fatalf("%s, expected %s", got, tc.want)
			}
		})
	}
}

// TestReplacedFilesKeepTheirOwner changes what is in files of other users.
func TestReplacedFilesKeepTheirOwner(t *testing.T) {
	g := newRig(t, File())
	g.write("a", "old", 0o640)
	want := fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
	if os.Geteuid() == 0 {
		g.do(os.Chown(g.path("a"), stranger, stranger+1))
		want = fmt.Sprintf("%d:%d", stranger, stranger+1)
	}
	g.must(g.resource(map[string]any{"path": g.path("a"), "content": "new"}), diff.Updated)
	if got := g.owner("a"); got != want {
		t.Fatalf("%s, expected %s", got, want)
	}
}

// TestReplacedFilesKeepTheirAttributes changes what is in a file that has extended attributes, an
// access list among them, alone and with a second name.
func TestReplacedFilesKeepTheirAttributes(t *testing.T) {
	// user::rw-, user:65534:r--, group::r--, mask::r--, other::---
	list := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" +
		"\x02\x00\x04\x00\xfe\xff\x00\x00" +
		"\x04\x00\x04\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff" +
		"\x20\x00\x00\x00\xff\xff\xff\xff"
	for _, c := range []struct {
		why    string
		linked bool
		want   map[string]any
	}{
		{"other bytes", false, map[string]any{"content": "new"}},
		{"another mode of a file with two names, which is copied", true,
			map[string]any{"content": "old", "mode": "0600"}},
		{"other bytes, with a backup", false, map[string]any{"content": "new", "backup": ".old"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			g := newRig(t, File())
			g.dir = t.TempDir()
			g.write("a", "old", 0o640)
			if c.linked {
				g.do(os.Link(g.path("a"), g.path("b")))
			}
			g.do(unix.Setxattr(g.path("a"), "user.note", []byte("kept"), 0))
			g.do(unix.Setxattr(g.path("a"), "system.posix_acl_access", []byte(list), 0))
			c.want["path"] = g.path("a")
			g.must(g.resource(c.want), diff.Updated)
			buf := make([]byte, 64)
			if n, err := unix.Getxattr(g.path("a"), "user.note", buf); err != nil ||
				string(buf[:n]) != "kept" {
				t.Errorf("the note is %q: %v", buf[:max(n, 0)], err)
			}
			n, err := unix.Getxattr(g.path("a"), "system.posix_acl_access", buf)
			if err != nil || !strings.Contains(string(buf[:n]), "\x02\x00\x04\x00\xfe\xff") {
				t.Errorf("the access list is %q: %v", buf[:max(n, 0)], err)
			}
		})
	}
}

// TestAccessListsOfOthersGo takes a file over from a user who has put themselves into its access
// list, with other bytes and with the same. Who cannot take it over leaves the list.
func TestAccessListsOfOthersGo(t *testing.T) {
	// user::rw-, user:54321:r--, group::---, mask::r--, other::---
	list := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" +
		"\x02\x00\x04\x00\x31\xd4\x00\x00" +
		"\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x04\x00\xff\xff\xff\xff" +
		"\x20\x00\x00\x00\xff\xff\xff\xff"
	for _, content := range []string{"new", "old"} {
		g := newRig(t, File())
		g.dir = t.TempDir()
		g.write("a", "old", 0o600)
		g.do(unix.Setxattr(g.path("a"), "system.posix_acl_access", []byte(list), 0))
		others := os.Geteuid() == 0
		if others {
			g.do(os.Lchown(g.path("a"), stranger, stranger))
		}
		_, _, err := g.apply(g.resource(map[string]any{"path": g.path("a"), "content": content,
			"mode": "0640", "owner": int64(os.Geteuid()), "group": int64(os.Getegid())}))
		if err != nil {
			t.Fatal(err)
		}
		n, err := unix.Getxattr(g.path("a"), "system.posix_acl_access", make([]byte, 64))
		if has := err == nil && n > 0; has == others {
			t.Errorf("%s bytes: there is an access list: %t, %v", content, has, err)
		}
		if info, err := os.Stat(g.path("a")); err != nil || info.Mode() != 0o640 {
			t.Errorf("%s bytes: %v, %v", content, info.Mode(), err)
		}
	}
}

// TestAccessListsOfDirectoriesOfOthers makes and changes files of the superuser's in a directory
// whose owner has given it an access list for what is made in it.
func TestAccessListsOfDirectoriesOfOthers(t *testing.T) {
	// user::rw-, user:54321:rw-, group::---, mask::rw-, other::---
	list := "\x02\x00\x00\x00" + "\x01\x00\x06\x00\xff\xff\xff\xff" +
		"\x02\x00\x06\x00\x31\xd4\x00\x00" +
		"\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff" +
		"\x20\x00\x00\x00\xff\xff\xff\xff"
	for _, def := range []provider.Definition{File(), Line()} {
		for _, there := range []bool{false, true} {
			g := newRig(t, def)
			g.dir = t.TempDir()
			if there {
				g.write("a", "old\n", 0o640)
			}
			g.do(unix.Setxattr(g.dir, "system.posix_acl_default", []byte(list), 0))
			others := os.Geteuid() == 0
			if others {
				g.do(os.Lchown(g.dir, stranger, stranger))
			}
			attrs := map[string]any{"path": g.path("a"), "content": "new", "mode": "0640"}
			if def.Type.Name == "fs::Line" {
				attrs = map[string]any{"path": g.path("a"), "name": "n", "line": "new",
					"create": true}
			}
			if _, _, err := g.apply(g.resource(attrs)); err != nil {
				t.Fatal(err)
			}
			n, err := unix.Getxattr(g.path("a"), "system.posix_acl_access", make([]byte, 64))
			if has := err == nil && n > 0; has == others {
				t.Errorf("%s, there: %t: there is an access list: %t, %v", def.Type.Name, there,
					has, err)
			}
		}
	}
}

// TestAccessListsOfDirectories takes over a directory from a user who has put themselves into its
// access lists, and makes one in it.
func TestAccessListsOfDirectories(t *testing.T) {
	// user::rwx, user:54321:rwx, group::---, mask::rwx, other::---
	list := "\x02\x00\x00\x00" + "\x01\x00\x07\x00\xff\xff\xff\xff" +
		"\x02\x00\x07\x00\x31\xd4\x00\x00" +
		"\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x07\x00\xff\xff\xff\xff" +
		"\x20\x00\x00\x00\xff\xff\xff\xff"
	lists := []string{"system.posix_acl_default", "system.posix_acl_access"}
	for _, name := range []string{"d", "d/new"} {
		g := newRig(t, Directory())
		g.dir = t.TempDir()
		g.do(os.Mkdir(g.path("d"), 0o700))
		for _, of := range lists {
			g.do(unix.Setxattr(g.path("d"), of, []byte(list), 0))
		}
		others := os.Geteuid() == 0
		if others {
			g.do(os.Lchown(g.path("d"), stranger, stranger))
		}
		if _, _, err := g.apply(g.resource(map[string]any{"path": g.path(name), "mode": "0750",
			"owner": int64(os.Geteuid())})); err != nil {
			t.Fatal(err)
		}
		for _, of := range lists {
			n, err := unix.Getxattr(g.path(name), of, make([]byte, 64))
			if has := err == nil && n > 0; has == others {
				t.Errorf("%s has %s: %t, %v", name, of, has, err)
			}
		}
	}
}

// TestOwnersThatCannotBeKept has another user than the superuser replace a file that is not the
// user's own.
func TestOwnersThatCannotBeKept(t *testing.T) {
	d := File()
	d.Handler = file{&disk.System{Self: stranger}}
	g := newRig(t, d)
	g.write("a", "old", 0o640)
	g.must(g.resource(map[string]any{"path": g.path("a"), "content": "new"}), diff.Updated)
	if !strings.Contains(g.host.Output(), "only the superuser may keep the owner") {
		t.Fatal(g.host.Output())
	}
}
