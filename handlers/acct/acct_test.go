package acct

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"southbound/handlers/internal/rigtest"
	"southbound/handlers/internal/roottest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// machine makes a directory that the programs take for the root of a machine. Nothing of this one's
// own users is touched.
func machine(dir string) error {
	defs, err := os.ReadFile("/etc/login.defs")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"etc/passwd":      "root:x:0:0:root:/root:/bin/bash\n# a note\n",
		"etc/group":       "root:x:0:\nadm:x:4:\nwheel:x:10:root\n",
		"etc/shadow":      "root:*:19000:0:99999:7:::\n",
		"etc/gshadow":     "root:*::\nadm:*::\nwheel:*::root\n",
		"etc/login.defs":  string(defs),
		"etc/skel/.hello": "hello\n",
		"home/.keep":      "",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// world describes the users, the groups and all home directories.
func world(dir string) (string, error) {
	var b strings.Builder
	for _, name := range []string{"passwd", "group", "shadow", "gshadow"} {
		data, err := os.ReadFile(filepath.Join(dir, "etc", name))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Split(line, ":")
			if name == "shadow" && len(fields) > 2 {
				fields[2] = "" // the day of the last change
			}
			b.WriteString(strings.Join(fields, ":"))
		}
	}
	err := filepath.Walk(filepath.Join(dir, "home"),
		func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			data := []byte(nil)
			if info.Mode().IsRegular() {
				data, err = os.ReadFile(path)
			}
			fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), data)
			return err
		})
	return b.String(), err
}

// conform runs the suite. The handler of a case works on the machine that was made for it.
func conform(
	t *testing.T, d provider.Definition, with func(h host) rigtest.Handler,
	c func() providertest.Case,
) {
	t.Helper()
	s := &providertest.Stopper{}
	all := &relay{}
	d.Handler = all
	providertest.Run(t,
		providertest.Subject{Definition: d,
			New: func(dir string, of *providertest.Host) (providertest.Case, error) {
				c := c()
				all.add(of.AddFile([]byte(dir)),
					with(host{root: dir, before: func([]string) error { return s.Before() }}))
				c.World = func() (string, error) { return world(dir) }
				c.Interrupt = s.Interrupt
				return c, machine(dir)
			}})
}

// relay passes each call on to the handler of the machine that the call is for. A call is known by
// the file that its host has.
type relay struct {
	mu    sync.Mutex
	files []resource.File
	all   []provider.Handler
}

func (r *relay) add(f resource.File, h provider.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files, r.all = append(r.files, f), append(r.all, h)
}

func (r *relay) get(ctx *provider.Context) provider.Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.all) - 1
	for i := last; i >= 0; i-- {
		if f, err := ctx.Files().Open(context.WithoutCancel(ctx), r.files[i].Hash); err == nil {
			_ = f.Close()
			return r.all[i]
		}
	}
	return r.all[last]
}

func (r *relay) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return r.get(ctx).Read(ctx, req)
}

func (r *relay) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	h, _ := r.get(items[0].Context).(provider.BatchReader)
	return h.ReadBatch(ctx, items)
}

func (r *relay) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return r.get(ctx).Create(ctx, req)
}

func (r *relay) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return r.get(ctx).Update(ctx, req)
}

func (r *relay) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return r.get(ctx).Delete(ctx, req)
}

func (r *relay) Diff(
	ctx *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	h, _ := r.get(ctx).(provider.Differ)
	return h.Diff(ctx, desired, observed)
}

func (r *relay) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	h, _ := r.get(ctx).(provider.Nooper)
	return h.Noop(ctx, planned)
}

func (r *relay) Remembers(want provider.Resource) []string {
	h, _ := r.all[0].(provider.Rememberer)
	return h.Remembers(want)
}

func (r *relay) List(ctx *provider.Context, found func(provider.Found) error) error {
	h, _ := r.get(ctx).(provider.Lister)
	return h.List(ctx, found)
}

func (r *relay) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	h, _ := r.get(ctx).(provider.FactReader)
	return h.Facts(ctx, req)
}

func TestGroupConformance(t *testing.T) {
	conform(t, Group(), func(h host) rigtest.Handler { return group{h} },
		func() providertest.Case {
			return providertest.Case{
				Attributes: map[string]any{"name": "deploy", "gid": int64(2000)},
				Updates: []map[string]any{{"gid": int64(2001)}, {"members": []any{"root"}},
					{"members": []any{}}, {"members": []any{"root"}, "exact_members": false,
						"duplicate": true, "gid": int64(10)}},
				Others: []map[string]any{{"name": "other"}, {"name": "sys", "system": true}},
				Edges:  []string{"*"},
				Unfit: map[string]string{"members": "names of users that do not exist",
					"gid": "the number 0 is taken"},
			}
		})
}

const hash = "$6$s3cr3tsalt$s3cr3thash/x.Y"

// TestUserConformance has a home directory where files can be given to its user.
func TestUserConformance(t *testing.T) {
	conform(t, User(), func(h host) rigtest.Handler { return user{h} }, func() providertest.Case {
		c := providertest.Case{
			Attributes: map[string]any{"name": "bob", "shell": "/bin/sh", "manage_home": true,
				"home": "/home/bob", "password": hash,
				"authorized_keys": []any{"ssh-ed25519 AAAA bob@here"}},
			Updates: []map[string]any{
				{"uid": int64(2005), "comment": "Bob B", "groups": []any{"adm"},
					"expires": "2031-02-03", "home": "/home/robert"},
				{"locked": true, "min_days": int64(1), "max_days": int64(90), "warn_days": int64(7),
					"inactive_days": int64(3)},
				{"locked": false, "min_days": int64(0), "max_days": int64(-1),
					"inactive_days": int64(-1)},
				{"groups": []any{}, "exact_groups": true, "locked": nil, "password": "!",
					"expires": "never", "authorized_keys": []any{}},
			},
			Others: []map[string]any{{"name": "svc", "system": true,
				"shell": "/usr/sbin/nologin"}},
			Secrets: []string{"s3cr3thash"},
			Edges: []string{"min_days", "max_days", "warn_days", "inactive_days", "comment",
				"password", "expires", "system", "exact_groups", "exact_keys"},
		}
		if roottest.Limited() {
			for _, attrs := range append(c.Updates, c.Attributes) {
				delete(attrs, "manage_home")
				delete(attrs, "authorized_keys")
			}
			return c
		}
		c.Edges = append(c.Edges, "authorized_keys")
		return c
	})
}

// rig drives a handler on a machine of its own.
type rig struct {
	*rigtest.Rig
	root string
}

func newRig(t *testing.T, d provider.Definition, with func(host) rigtest.Handler) *rig {
	t.Helper()
	root := t.TempDir()
	if err := machine(root); err != nil {
		t.Fatal(err)
	}
	return &rig{rigtest.New(t, d, with(host{root: root})), root}
}

func (g *rig) write(name, text string) {
	g.T.Helper()
	if err := os.WriteFile(filepath.Join(g.root, name), []byte(text), 0o600); err != nil {
		g.T.Fatal(err)
	}
}

func (g *rig) has(name, part string) {
	g.T.Helper()
	if data, err := os.ReadFile(filepath.Join(g.root, name)); err != nil ||
		!strings.Contains(string(data), part) {
		g.T.Fatalf("%s: %q, %v; expected %q in it", name, data, err, part)
	}
}

func TestUser(t *testing.T) {
	g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	attrs := map[string]any{"name": "bob", "uid": int64(3000), "group": "wheel",
		"groups": []any{"adm"}, "manage_home": true, "home": "/home/bob"}
	g.Must(attrs, diff.Created)
	g.has("etc/passwd", "bob:x:3000:10::/home/bob:")
	if info, err := os.Stat(filepath.Join(g.root, "home/bob")); err != nil || !info.IsDir() {
		t.Fatal(info, err)
	}

	// Groups: without exact_groups, those that were added go.
	g.Must(map[string]any{"name": "bob", "groups": []any{}}, diff.Updated)
	// it is the primary one
	g.Must(map[string]any{"name": "bob", "groups": []any{"wheel"}}, diff.NoChange)
	g.Must(map[string]any{"name": "bob", "groups": []any{"root"}}, diff.Updated)
	g.Must(map[string]any{"name": "bob", "groups": []any{"root", "adm"}, "exact_groups": true},
		diff.Updated)
	g.Must(map[string]any{"name": "bob", "groups": []any{"root"}, "exact_groups": true},
		diff.Updated)
	g.Must(map[string]any{"name": "bob", "group": int64(4)}, diff.Updated)
	g.Must(map[string]any{"name": "bob", "group": "adm"}, diff.NoChange)
	g.Fails(map[string]any{"name": "bob", "groups": []any{"none"}}, false, provider.Retryable,
		"none")
	g.Fails(map[string]any{"name": "eve", "uid": int64(3000)}, false, provider.NeedsChange, "3000")

	// A group that is to be another one than the primary one is not left when that changes.
	g.Must(map[string]any{"name": "bob", "group": int64(10), "groups": []any{"adm"}}, diff.Updated)
	g.Must(map[string]any{"name": "bob", "group": int64(4)}, diff.Updated)

	// Another user may have the number where that is said.
	g.Must(map[string]any{"name": "twin", "uid": int64(3000), "duplicate": true}, diff.Created)

	// A password that is locked is the same when it is unlocked, and nothing is unlocked that is
	// not there.
	g.Must(map[string]any{"name": "twin", "locked": true}, diff.NoChange) // as it was made
	g.Fails(map[string]any{"name": "twin", "locked": false}, false, provider.NeedsChange,
		"no password")
	g.Must(map[string]any{"name": "twin", "password": hash, "locked": true}, diff.Updated)
	g.has("etc/shadow", "twin:!"+hash)
	g.Must(map[string]any{"name": "twin", "locked": false}, diff.Updated)
	g.Must(map[string]any{"name": "twin", "password": hash}, diff.NoChange)
	g.Must(map[string]any{"name": "twin", "locked": true, "max_days": int64(30)}, diff.Updated)
	// who says nothing of a lock wants the password to fit
	g.Must(map[string]any{"name": "twin", "password": hash}, diff.Updated)

	// What has no name in the password file, the hash of another password, an end of the account.
	g.Must(map[string]any{"name": "bob", "expires": "2030-01-02"}, diff.Updated)
	g.has("etc/shadow", ":21916:")
	g.Must(map[string]any{"name": "bob", "expires": "never"}, diff.Updated)
	g.Must(map[string]any{"name": "bob", "password": hash}, diff.Updated)
	g.has("etc/shadow", "bob:"+hash+":")
	if !roottest.Limited() { // which cannot give a directory to its user
		g.home(attrs)
	}
}

// home has a user with a home directory and keys.
func (g *rig) home(attrs map[string]any) {
	t := g.T
	t.Helper()
	// A home directory that is gone is made again.
	if err := os.RemoveAll(filepath.Join(g.root, "home/bob")); err != nil {
		t.Fatal(err)
	}
	attrs["group"], attrs["groups"] = nil, nil
	g.Must(attrs, diff.Updated)
	g.has("home/bob/.hello", "hello")
	if info, err := os.Stat(filepath.Join(g.root, "home/bob/.hello")); err != nil ||
		!strings.Contains(fmt.Sprint(info.Sys()), "3000") {
		t.Fatal(info, err)
	}

	// Keys: those of others stay, unless ours are all.
	g.Must(map[string]any{"name": "bob", "authorized_keys": []any{}}, diff.NoChange)
	g.Must(map[string]any{"name": "bob", "authorized_keys": []any{"ssh-rsa A"}}, diff.Updated)
	g.write("home/bob/.ssh/authorized_keys",
		"ssh-rsa mine\n"+"# BEGIN keys of the model\nssh-rsa A\n# END keys of the model")
	g.Must(map[string]any{"name": "bob", "authorized_keys": []any{"ssh-rsa A"}}, diff.NoChange)
	g.Must(map[string]any{"name": "bob", "authorized_keys": []any{"ssh-rsa B", "ssh-rsa C"}},
		diff.Updated)
	g.has("home/bob/.ssh/authorized_keys",
		"ssh-rsa mine\n# BEGIN keys of the model\nssh-rsa B\nssh-rsa C\n")
	g.Must(map[string]any{"name": "bob", "authorized_keys": []any{"ssh-rsa D"}, "exact_keys": true},
		diff.Updated)
	if data, err := os.ReadFile(filepath.Join(g.root,
		"home/bob/.ssh/authorized_keys")); err != nil || string(data) != "ssh-rsa D\n" {
		t.Fatalf("%q %v", data, err)
	}

	if got, err := g.Apply(attrs, true); err != nil || got != diff.Purged {
		t.Fatal(got, err)
	}
	if _, err := os.Stat(filepath.Join(g.root, "home/bob")); !os.IsNotExist(err) {
		t.Fatal("the home directory is still there", err)
	}
}

// TestUserWithGroupOfItsName is a user whose group is there before.
func TestUserWithGroupOfItsName(t *testing.T) {
	g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	g.Must(map[string]any{"name": "adm"}, diff.Created)
	g.has("etc/passwd", ":4::")
}

// TestBadHash makes no user whose password cannot be set: what was a secret is seen only here.
func TestBadHash(t *testing.T) {
	for _, attrs := range []map[string]any{{"password": "in clear"}, {"password": "$ecret"},
		{"password": "!", "locked": false}, {"expires": "2027-13-31"}} {
		g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
		attrs["name"] = "bob"
		_, err := g.Handler.Create(providertest.NewHost(nil).Context(t.Context(), provider.Options{}),
			provider.CreateRequest{
				Resource: provider.Resource{Type: "acct::User", Attributes: attrs},
			})
		if err == nil || provider.ClassOf(err) != provider.NeedsChange {
			t.Errorf("%v: %v", attrs, err)
		}
		if b, err := os.ReadFile(g.root + "/etc/passwd"); err != nil ||
			strings.Contains(string(b), "bob") {
			t.Errorf("%v: %v, %s", attrs, err, b)
		}
	}
}

// TestKeysOfAHostileUser has a user put links to what belongs to the superuser where the keys are.
func TestKeysOfAHostileUser(t *testing.T) {
	for why, set := range map[string]func(g *rig, home string) error{
		"a link for the file": func(g *rig, home string) error {
			return errors.Join(os.Mkdir(home+"/.ssh", 0o700),
				os.Symlink(g.root+"/etc/passwd", home+"/.ssh/authorized_keys"),
				os.Lchown(home+"/.ssh/authorized_keys", 3000, 3000))
		},
		"a link for the directory": func(g *rig, home string) error {
			return errors.Join(os.Symlink(g.root+"/etc", home+"/.ssh"),
				os.Lchown(home+"/.ssh", 3000, 3000))
		},
	} {
		if roottest.Limited() {
			continue // where there is nobody else
		}
		t.Run(why, func(t *testing.T) {
			g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
			g.Must(map[string]any{"name": "bob", "uid": int64(3000), "manage_home": true,
				"home": "/home/bob"}, diff.Created)
			if err := set(g, g.root+"/home/bob"); err != nil {
				t.Fatal(err)
			}
			_, err := g.Apply(map[string]any{"name": "bob",
				"authorized_keys": []any{"ssh-rsa evil"}}, false)
			if err == nil || provider.ClassOf(err) != provider.NeedsChange {
				t.Fatal(err)
			}
			if _, err := os.Stat(g.root + "/etc/authorized_keys"); !os.IsNotExist(err) {
				t.Fatal("it was written outside", err)
			}
			g.has("etc/passwd", "root:x:0:0:")
		})
	}
}

func TestGroup(t *testing.T) {
	u := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	u.Must(map[string]any{"name": "bob", "group": "adm"}, diff.Created)
	g := &rig{rigtest.New(t, Group(), group{host{root: u.root}}), u.root}
	g.Must(map[string]any{"name": "wheel", "members": []any{"root"}}, diff.NoChange)
	g.Must(map[string]any{"name": "wheel", "members": []any{"bob", "root"}}, diff.Updated)
	g.Must(map[string]any{"name": "wheel", "members": []any{"root", "bob", "bob"}}, diff.NoChange)
	g.Must(map[string]any{"name": "wheel", "members": []any{"bob"}, "exact_members": false},
		diff.NoChange)
	g.Must(map[string]any{"name": "adm", "members": []any{"root"}}, diff.Updated)
	g.Must(map[string]any{"name": "adm", "members": []any{"bob"}, "exact_members": false},
		diff.Updated)
	g.Must(map[string]any{"name": "adm", "members": []any{"bob"}}, diff.NoChange)
	g.Fails(map[string]any{"name": "wheel", "members": []any{"nobody-here"}}, false,
		provider.Retryable, "no user")
	g.Fails(map[string]any{"name": "wheel", "gid": int64(4)}, false, provider.NeedsChange, "4")
	g.Fails(map[string]any{"name": "adm"}, true, provider.Retryable, "primary group of bob")
}

// TestListedIsNoCycle has a group and its member, which both are listed, in one model.
func TestListedIsNoCycle(t *testing.T) {
	if Group().Type.Relations != nil {
		t.Fatal("users require their groups; a group that requires its members makes a ring of it")
	}
	g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	g.Must(map[string]any{"name": "bob", "groups": []any{"adm"}, "uid": int64(3000)}, diff.Created)
	l, _ := g.Handler.(provider.Lister)
	var bob map[string]any
	err := l.List(providertest.NewHost(nil).Context(t.Context(), provider.Options{}),
		func(f provider.Found) error {
			if f.Attributes["name"] == "bob" {
				bob = f.Attributes
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	g.Must(bob, diff.NoChange)
	known, err := schema.NewRegistry(User().Type, Group().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := known.Type("acct::User")
	adm := schema.Related{Kind: schema.Require, ID: "acct::Group[web1,name=adm]"}
	if got := typ.Related("web1", bob); !slices.Contains(got, adm) {
		t.Fatal(got)
	}
}

func TestDeclaration(t *testing.T) {
	g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"a password in clear":        {map[string]any{"password": "hunter2"}, "password"},
		"a hash with another field":  {map[string]any{"password": "$6$a$b:0"}, "password"},
		"a day that is none":         {map[string]any{"expires": "2027-02-30"}, "expires"},
		"a comment with a new field": {map[string]any{"comment": "x:y"}, "comment"},
		"a comment with a new user":  {map[string]any{"comment": "x\nevil::0:0"}, "comment"},
		"a name that is an option":   {map[string]any{"name": "-r"}, "name"},
		"a key that is two": {map[string]any{"authorized_keys": []any{"a\nb"}},
			"authorized_keys"},
		"the number for nobody": {map[string]any{"uid": int64(4294967295)}, "uid"},
	} {
		attrs := map[string]any{"name": "x"}
		for k, v := range tc.attrs {
			attrs[k] = v
		}
		if _, problems := g.Type.Check(attrs); len(problems) != 1 ||
			problems[0].Attribute != tc.part {
			t.Errorf("%s: %v", why, problems)
		}
	}
}
