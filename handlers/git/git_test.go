package git

import (
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/rigtest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// run runs git as people do, and returns what it prints.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git",
		append([]string{"-C", dir, "-c", "protocol.file.allow=always", "-c", "user.name=T", "-c",
			"user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// origin makes a repository with a few commits: tag v1, annotated tag v2, branches main and dev.
func origin(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	write(t, dir+"/a", "one\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "1")
	run(t, dir, "tag", "v1")
	write(t, dir+"/b/c", "two\n")
	run(t, dir, "add", ".")
	run(t, dir, "commit", "-qm", "2")
	run(t, dir, "tag", "-a", "v2", "-m", "second")
	run(t, dir, "checkout", "-qb", "dev")
	write(t, dir+"/a", "dev\n")
	run(t, dir, "commit", "-qam", "3")
	run(t, dir, "checkout", "-q", "main")
	run(t, dir, "config", "uploadpack.allowReachableSHA1InWant", "true")
	return dir
}

// tree describes a working tree and where it is.
func tree(dir string) (string, error) {
	var b strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(dir, path)
		data := []byte(nil)
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), data)
		return err
	})
	if err == nil {
		if _, err := os.Stat(dir + "/x/.git"); err == nil {
			out, _ := exec.Command("git", "--git-dir", dir+"/x/.git", "--work-tree", dir+"/x",
				"status", "--branch", "--porcelain").CombinedOutput()
			refs, _ := exec.Command("git", "--git-dir", dir+"/x/.git", "log", "-1", "--format=%H").
				CombinedOutput()
			fmt.Fprintf(&b, "%s%s", out, refs)
		}
	}
	return b.String(), err
}

func TestConformance(t *testing.T) {
	source := origin(t)
	first := run(t, source, "rev-parse", "v1")
	s := &providertest.Stopper{}
	d := Checkout()
	d.Handler = handler{before: func([]string) error { return s.Before() }}
	providertest.Run(t,
		providertest.Subject{Definition: d,
			New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
				path := filepath.Join(dir, "x")
				return providertest.Case{
					Attributes: map[string]any{"path": path, "source": source,
						"password": "s3cr3t"},
					Updates:  []map[string]any{{"revision": first, "source": "file://" + source}},
					InitOnly: map[string]any{"bare": true},
					Others: []map[string]any{{"path": path + "2", "source": source,
						"revision": "v2", "depth": int64(1)}},
					World:     func() (string, error) { return tree(dir) },
					Vanish:    func() error { return os.RemoveAll(path) },
					Interrupt: s.Interrupt,
					Edges:     []string{"local", "update", "submodules", "username", "password"},
					Unfit:     map[string]string{"submodules": "the repository has none"},
					Secrets:   []string{"s3cr3t"},
				}, nil
			}})
}

// rig drives the handler.
type rig struct {
	*rigtest.Rig
	h handler
}

func newRig(t *testing.T) *rig {
	t.Helper()
	h := handler{config: []string{"protocol.file.allow=always"}}
	return &rig{rigtest.New(t, Checkout(), h), h}
}

func has(t *testing.T, path, text string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != text {
		t.Fatalf("%s: %q, %v; expected %q", path, data, err, text)
	}
}

// TestFollows follows a branch that moves, also when it is pushed by force, and does not lose what
// is only here.
func TestFollows(t *testing.T) {
	g, source, path := newRig(t), origin(t), t.TempDir() // an empty directory may be there
	attrs := map[string]any{"path": path, "source": source, "revision": "main"}
	g.Must(attrs, diff.Created)
	write(t, source+"/a", "moved\n")
	run(t, source, "commit", "-qam", "4")
	pinned := map[string]any{"path": path, "source": source, "revision": "main", "update": false}
	g.Must(pinned, diff.NoChange)
	has(t, path+"/a", "one\n")
	g.Must(attrs, diff.Updated)
	has(t, path+"/a", "moved\n")
	run(t, source, "reset", "-q", "--hard", "v1")
	write(t, source+"/a", "by force\n")
	run(t, source, "commit", "-qam", "5")
	g.Must(attrs, diff.Updated)
	has(t, path+"/a", "by force\n")
	if branch := run(t, path, "rev-parse", "--abbrev-ref", "HEAD",
		"@{upstream}"); branch != "main\norigin/main" {
		t.Fatal(branch)
	}

	write(t, path+"/a", "mine\n")
	g.Must(attrs, diff.NoChange) // it is where it is wanted
	write(t, source+"/a", "theirs\n")
	run(t, source, "commit", "-qam", "6")
	g.Fails(attrs, false, provider.NeedsChange, "not committed: a")
	g.Fails(attrs, true, provider.NeedsChange, "nowhere else: a")
	g.would(attrs, diff.Updated, "not committed: a")
	g.would(attrs, diff.Purged, "nowhere else: a")
	attrs["local"] = "keep"
	g.Fails(attrs, false, provider.NeedsChange, "would be overwritten")
	has(t, path+"/a", "mine\n")
	run(t, path, "commit", "-qam", "mine")
	attrs["local"] = "refuse"
	g.Fails(attrs, false, provider.NeedsChange, "the remote has not")
	g.Fails(attrs, true, provider.NeedsChange, "nowhere else: refs/heads/main")
	g.would(attrs, diff.Updated, "the remote has not")
	g.would(attrs, diff.Purged, "nowhere else: refs/heads/main")
	attrs["local"] = "discard"
	g.would(attrs, diff.Updated, "")
	g.would(attrs, diff.Purged, "")
	g.Must(attrs, diff.Updated)
	has(t, path+"/a", "theirs\n")
	write(t, path+"/a", "drift\n")
	if err := os.Remove(path + "/a"); err != nil {
		t.Fatal(err)
	}
	g.Must(attrs, diff.Updated)
	has(t, path+"/a", "theirs\n")

	attrs["local"] = "keep"
	write(t, path+"/a", "kept\n")
	write(t, source+"/new", "new\n")
	run(t, source, "add", "new")
	run(t, source, "commit", "-qm", "7")
	g.Must(attrs, diff.Updated)
	has(t, path+"/a", "kept\n")
	has(t, path+"/new", "new\n")
	g.Fails(attrs, true, provider.NeedsChange, "nowhere else: a")
	attrs["local"] = "discard"
	if did, err := g.Apply(attrs, true); err != nil || did != diff.Purged {
		t.Fatal(did, err)
	}
}

// TestForcedBranchIsNobodysWork leaves a branch that the remote has had and has no more.
func TestForcedBranchIsNobodysWork(t *testing.T) {
	g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
	attrs := map[string]any{"path": path, "source": source, "revision": "dev"}
	g.Must(attrs, diff.Created)
	run(t, source, "branch", "-qf", "dev", "v1")
	attrs["revision"] = "main"
	g.Must(attrs, diff.Updated)
	run(t, path, "fetch", "-q", "origin")
	g.would(attrs, diff.Purged, "")
	if did, err := g.Apply(attrs, true); err != nil || did != diff.Purged {
		t.Fatal(did, err)
	}
}

// would demands that a dry run says why a change would be refused, "" that it would not be.
func (g *rig) would(attrs map[string]any, change diff.Change, part string) {
	g.T.Helper()
	full, problems := g.Type.Check(attrs)
	if len(problems) > 0 {
		g.T.Fatal(problems)
	}
	ctx := g.Host.Context(g.T.Context(), provider.Options{DryRun: true})
	err := g.h.Noop(ctx, provider.BatchChange{Context: ctx, Change: change,
		Resource: provider.Resource{Attributes: full, Purged: change == diff.Purged},
		Changes:  map[string]diff.Diff{"revision": {}}})
	if (err != nil) != (part != "") || err != nil && !strings.Contains(err.Error(), part) {
		g.T.Fatalf("%v; expected %q", err, part)
	}
}

func TestRevisions(t *testing.T) {
	g, source := newRig(t), origin(t)
	dev := run(t, source, "rev-parse", "dev")
	path := filepath.Join(t.TempDir(), "x")
	for _, tc := range []struct {
		revision any
		depth    any
		a        string
		change   diff.Change
	}{
		{nil, nil, "one\n", diff.Created}, {"v1", nil, "one\n", diff.Updated},
		{"v2", nil, "one\n", diff.Updated}, {dev, nil, "dev\n", diff.Updated},
		{"dev", nil, "dev\n", diff.Updated},
		{"refs/tags/v1", nil, "one\n", diff.Updated}, {nil, nil, "one\n", diff.NoChange},
		{"refs/heads/main", int64(1), "one\n", diff.Updated},
	} {
		attrs := map[string]any{"path": path, "source": source, "revision": tc.revision,
			"depth": tc.depth}
		g.Must(attrs, tc.change)
		has(t, path+"/a", tc.a)
	}
	g.Fails(map[string]any{"path": path, "source": source, "revision": "none"}, false,
		provider.Retryable, "neither a branch nor a tag")
	for _, revision := range []string{"main", "v2", dev} {
		shallow := filepath.Join(t.TempDir(), "s")
		attrs := map[string]any{"path": shallow, "source": "file://" + source, "revision": revision,
			"depth": int64(1)}
		g.Must(attrs, diff.Created)
		if n := run(t, shallow, "rev-list", "--count", "HEAD"); n != "1" {
			t.Fatalf("%s has %s commits", revision, n)
		}
		attrs["depth"], attrs["revision"] = nil, "v1"
		g.Must(attrs, diff.Updated)
	}
	g.Fails(map[string]any{"path": filepath.Join(t.TempDir(), "none", "x"), "source": source},
		false, provider.Retryable, "describe that, too")
	g.Fails(map[string]any{"path": filepath.Join(t.TempDir(), "x"), "source": "/none"}, false,
		provider.Retryable, "does not")
	full := t.TempDir()
	write(t, full+"/precious", "")
	g.Fails(map[string]any{"path": full, "source": source}, false, provider.NeedsChange,
		"not a git repository")
	g.Fails(map[string]any{"path": full + "/precious", "source": source}, false,
		provider.NeedsChange, "not a directory")
	within := filepath.Join(path, "nested") // inside another working tree
	g.Must(map[string]any{"path": within, "source": source, "revision": "dev"}, diff.Created)
	has(t, path+"/a", "one\n")
}

func TestBare(t *testing.T) {
	g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), "x.git")
	attrs := map[string]any{"path": path, "source": source, "bare": true}
	g.Must(attrs, diff.Created)
	run(t, source, "branch", "-D", "dev")
	run(t, source, "tag", "v3")
	g.Must(attrs, diff.Updated)
	if refs := run(t, path, "for-each-ref", "--format=%(refname)", "refs/heads",
		"refs/tags"); refs != "refs/heads/main\nrefs/tags/v1\nrefs/tags/v2\n"+
		"refs/tags/v3" {
		t.Fatal(refs)
	}
}

func TestSubmodules(t *testing.T) {
	g, source, inner, path := newRig(t), origin(t), origin(t), filepath.Join(t.TempDir(), "x")
	run(t, source, "submodule", "--quiet", "add", inner, "sub")
	run(t, source, "commit", "-qm", "with a submodule")
	attrs := map[string]any{"path": path, "source": source, "revision": "main"}
	g.Must(attrs, diff.Created)
	attrs["submodules"] = true
	g.Must(attrs, diff.Updated)
	has(t, path+"/sub/a", "one\n")
	run(t, path+"/sub", "checkout", "-q", "v1")
	g.Must(attrs, diff.Updated)
	has(t, path+"/sub/b/c", "two\n")
}

// TestPassword clones from a real server that asks for a password, looks for it everywhere, and has
// the server refuse it.
func TestPassword(t *testing.T) {
	source, dir := origin(t), t.TempDir()
	core := run(t, "/", "--exec-path")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, ok := r.BasicAuth(); !ok || name != "deploy" ||
			password != "s3cr3t'%\"$x" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		(&cgi.Handler{Path: core + "/git-http-backend", Env: []string{"GIT_PROJECT_ROOT=" + source,
			"GIT_HTTP_EXPORT_ALL=1"}}).ServeHTTP(w, r)
	}))
	defer server.Close()
	g, path := newRig(t), filepath.Join(dir, "x")
	attrs := map[string]any{"path": path, "source": server.URL + "/.git", "revision": "main",
		"username": "deploy", "password": "s3cr3t'%\"$x"}
	g.Must(attrs, diff.Created)
	has(t, path+"/b/c", "two\n")
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "s3cr3t") {
			t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	attrs["password"] = "wrong"
	g.Fails(attrs, false, provider.Terminal, "refuses who asks")
	delete(attrs, "password")
	g.Fails(attrs, false, provider.Terminal, "refuses who asks")
	if out := g.Host.Output(); strings.Contains(out, "s3cr3t") {
		t.Fatal(out)
	}
}

// TestUser makes a checkout for another user, and refuses to work as the superuser in what belongs
// to somebody else.
func TestUser(t *testing.T) {
	g, source := newRig(t), origin(t)
	dir, err := os.MkdirTemp("/var/tmp", "southbound-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	public := dir + "/source" // nobody may look where tests keep theirs
	run(t, dir, "clone", "-q", "--bare", source, public)
	whose := "nobody"
	if os.Geteuid() != 0 {
		whose = fmt.Sprint(os.Geteuid())
	}
	if out, err := exec.Command("chown", "-R", whose, public).CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	attrs := map[string]any{"path": dir + "/x", "source": public, "revision": "main",
		"user": "nobody"}
	if os.Geteuid() != 0 {
		if u, err := user.Current(); err != nil || u.Username != "nobody" {
			g.Fails(attrs, false, provider.Terminal, "only the superuser")
		}
		return
	}
	g.Must(attrs, diff.Created)
	out, err := exec.Command("find", dir+"/x", "!", "-user", "nobody").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatal(err, string(out))
	}
	attrs["user"] = nil
	g.Fails(attrs, false, provider.NeedsChange, "set user to its owner")
	attrs["user"] = "no-such-user"
	g.Fails(attrs, false, provider.Retryable, "no user")
	if did, err := g.Apply(attrs, true); err == nil || did != diff.Purged {
		t.Fatal("what belongs to another user, who may be gone, cannot be asked for changes", did,
			err)
	}
	attrs["local"] = "discard"
	if did, err := g.Apply(attrs, true); err != nil || did != diff.Purged {
		t.Fatal(did, err)
	}
}

// TestLedAstray pins that nothing is done at a path on which anybody could have put a link.
func TestLedAstray(t *testing.T) {
	g, source := newRig(t), origin(t)
	dir := t.TempDir()
	for _, step := range []error{os.Mkdir(dir+"/home", 0o700), os.Chmod(dir+"/home", 0o777),
		os.Mkdir(dir+"/repos", 0o755), os.Symlink("../repos", dir+"/home/x")} {
		if step != nil {
			t.Fatal(step)
		}
	}
	attrs := map[string]any{"path": dir + "/repos/app", "source": source, "revision": "main"}
	g.Must(attrs, diff.Created)
	attrs["path"] = dir + "/home/x/app"
	g.Fails(attrs, false, provider.NeedsChange, "the symbolic link "+dir+"/home/x")
	g.Fails(attrs, true, provider.NeedsChange, "the symbolic link "+dir+"/home/x")
	has(t, dir+"/repos/app/a", "one\n")
	attrs["path"] = dir + "/home/x/new"
	g.Fails(attrs, false, provider.NeedsChange, "the symbolic link "+dir+"/home/x")
}

func TestHooksDoNotRun(t *testing.T) {
	g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
	attrs := map[string]any{"path": path, "source": source, "revision": "main"}
	g.Must(attrs, diff.Created)
	write(t, path+"/.git/hooks/post-checkout", "#!/bin/sh\ntouch \""+path+"/evil\"\n")
	if err := os.Chmod(path+"/.git/hooks/post-checkout", 0o755); err != nil {
		t.Fatal(err)
	}
	attrs["revision"] = "dev"
	g.Must(attrs, diff.Updated)
	if _, err := os.Stat(path + "/evil"); !os.IsNotExist(err) {
		t.Fatal("the hook ran", err)
	}
}

func TestDeclaration(t *testing.T) {
	g := newRig(t)
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"a password in the source": {map[string]any{"source": "https://u:p@example.org/r"},
			"source"},
		"a secret in the source":   {map[string]any{"source": resource.Secret{}}, "source"},
		"a source like an option":  {map[string]any{"source": "--upload-pack=evil"}, "source"},
		"a revision like one":      {map[string]any{"revision": "--orphan"}, "revision"},
		"a revision that is words": {map[string]any{"revision": "a b"}, "revision"},
		"a path in another form":   {map[string]any{"path": "/a/../b"}, "path"},
		"bare with a revision":     {map[string]any{"bare": true, "revision": "main"}, "revision"},
		"bare with submodules": {map[string]any{"bare": true, "submodules": true},
			"submodules"},
	} {
		attrs := map[string]any{"path": "/x", "source": "https://example.org/r"}
		for k, v := range tc.attrs {
			attrs[k] = v
		}
		if _, problems := g.Type.Check(attrs); len(problems) != 1 ||
			problems[0].Attribute != tc.part {
			t.Errorf("%s: %v", why, problems)
		}
	}
}
