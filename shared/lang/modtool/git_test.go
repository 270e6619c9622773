package modtool_test

import (
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/lang/modtool"
	"southbound/shared/lang/module"
)

// gitServer is git's own server over HTTP, for ann with a password.
type gitServer struct {
	t       *testing.T
	root    string
	address string       // with nobody's name
	watched atomic.Bool  // look at the command lines of all programs at each request
	shown   atomic.Int64 // how often one of these had the password
	cut     atomic.Int64 // ends answers with commits after so many bytes, if it is not 0
}

// serveGit serves the repositories of a folder.
func serveGit(t *testing.T) *gitServer {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	for _, who := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		t.Setenv(who+"_NAME", "Ann")
		t.Setenv(who+"_EMAIL", "ann@example.org")
	}
	s := &gitServer{t: t, root: t.TempDir()}
	programs := s.git("", "--exec-path")
	h := &cgi.Handler{
		Path: filepath.Join(programs, "git-http-backend"),
		Env: []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann",
			"HOME=" + os.Getenv("HOME")},
		Stderr: io.Discard,
	}
	if _, err := os.Stat(h.Path); err != nil {
		t.Fatalf("%s comes with git, and is missing", h.Path)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.watched.Load() {
			s.look()
		}
		if name, password, _ := r.BasicAuth(); name != "ann" || password != secret {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if n := s.cut.Load(); n > 0 && strings.HasSuffix(r.URL.Path, "-pack") {
			w = &short{w, n}
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.address = server.URL
	return s
}

// look counts the command lines that have the password.
func (s *gitServer) look() {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range lines {
		text, _ := os.ReadFile(file) // it may have ended
		if strings.Contains(string(text), secret) {
			s.shown.Add(1)
		}
	}
}

// short is an answer whose connection ends early.
type short struct {
	http.ResponseWriter
	left int64
}

// Write implements io.Writer.
func (s *short) Write(b []byte) (int, error) {
	if s.left -= int64(len(b)); s.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return s.ResponseWriter.Write(b)
}

func (s *gitServer) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %s: %s: %v", strings.Join(args, " "), out, err)
	}
	return strings.TrimSpace(string(out))
}

// add makes a repository of a module on the server, and returns its author's folder.
func (s *gitServer) add(name string, versions ...string) string {
	s.t.Helper()
	dir, bare := filepath.Join(s.t.TempDir(), name), filepath.Join(s.root, name)
	s.git("", "init", "-q", "-b", "main", "--bare", bare)
	s.git(bare, "config", "http.receivepack", "true")
	s.git("", "init", "-q", "-b", "main", dir)
	s.git(dir, "remote", "add", "origin", bare)
	for _, v := range versions {
		s.release(dir, name, v)
	}
	return dir
}

// release pushes a version of a module with its tag.
func (s *gitServer) release(dir, name, version string) {
	s.t.Helper()
	text := "name: " + name + "\nversion: " + version + "\nlicense: none\n"
	if err := os.WriteFile(filepath.Join(dir, "module.yml"), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "model"), 0o750); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "model/_init.cf"), nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git(dir, "add", ".")
	s.git(dir, "commit", "-q", "-m", version)
	s.git(dir, "tag", version)
	s.git(dir, "push", "-q", "-u", "origin", "main", version)
}

func (s *gitServer) project(user string) (*modtool.Tool, *strings.Builder) {
	s.t.Helper()
	return newTool(s.t, tree(s.t, "main.cf", "\nimport net\n", "project.yml", "name: p\nrepo:\n- "+
		strings.Replace(s.address, "://", "://"+user, 1)+"/{}\n"))
}

// refused holds that an error is of a kind and says some things, and no password.
func refused(t *testing.T, err error, said string, kind fault.Kind, want ...string) {
	t.Helper()
	text := everything(err)
	if hint := fault.HintOf(err); hint != "" {
		text += "\n" + hint
	}
	if err == nil || fault.KindOf(err) != kind {
		t.Errorf("it is %s, expected %s: %s", fault.KindOf(err), kind, text)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("it does not say %q: %s", w, text)
		}
	}
	if strings.Contains(text+said, secret) {
		t.Errorf("it says the password: %s, after %s", text, said)
	}
}

// TestGitRefuses holds what is said where a server refuses, goes away, or has no such module, and
// that nothing is left of a clone then.
func TestGitRefuses(t *testing.T) {
	s := serveGit(t)
	s.add("net", "1.0", "1.1")
	host := strings.TrimPrefix(s.address, "http://")
	for _, user := range []string{"", "bob:" + secret + "@"} {
		tool, said := s.project(user)
		err := tool.Install(t.Context(), modtool.InstallOptions{})
		refused(t, err, said.String(), fault.Denied, "get the module net from http://"+host+"/net",
			".netrc")
	}
	ann := "ann:" + secret + "@"
	tool, said := s.project(ann)
	s.cut.Store(100)
	err := tool.Install(t.Context(), modtool.InstallOptions{})
	refused(t, err, said.String(), fault.Unavailable, "get the module net from http://"+host+"/net",
		"run this again")
	if left, err := os.ReadDir(filepath.Join(tool.Dir, "libs")); err != nil || len(left) > 0 {
		t.Errorf("there is %v, %v", left, err)
	}
	s.cut.Store(0)
	if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	main := filepath.Join(tool.Dir, "main.cf")
	if err := os.WriteFile(main, []byte("import net\nimport nosuch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = tool.Install(t.Context(), modtool.InstallOptions{})
	refused(t, err, said.String(), fault.Unknown, "main.cf:2:1: there is no module nosuch",
		"http://"+host+"/nosuch")
}

// TestGitHangs holds that a server that takes requests and does not answer is given up.
func TestGitHangs(t *testing.T) {
	s := serveGit(t)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer silent.Close()
	t.Setenv("GIT_HTTP_LOW_SPEED_TIME", "1") // instead of a minute
	s.address = silent.URL
	tool, said := s.project("")
	err := tool.Install(t.Context(), modtool.InstallOptions{})
	refused(t, err, said.String(), fault.Unavailable, "get the module net from "+silent.URL+"/net",
		"run this again")
}

// TestGitAtOnce holds that runs that install modules into one folder, for one project or for
// several, wait for each other, and that all find what they need.
func TestGitAtOnce(t *testing.T) {
	s := serveGit(t)
	s.add("net", "1.0")
	shared := t.TempDir()
	text := "name: p\nmodulepath: " + shared + "\ndownloadpath: " + shared + "\nrepo:\n- " +
		strings.Replace(s.address, "://", "://ann:"+secret+"@", 1) + "/{}\n"
	one := tree(t, "main.cf", "import net\n", "project.yml", text)
	other := tree(t, "main.cf", "import net\n", "project.yml", text)
	var all sync.WaitGroup
	for _, dir := range []string{one, one, other} {
		tool, said := newTool(t, dir)
		all.Go(func() {
			if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
				t.Errorf("%s, after %s", everything(err), said)
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(shared)
	if err != nil || len(left) != 1 || left[0].Name() != "net" {
		t.Errorf("there is %v, %v", left, err)
	}
}

// TestGitPassword holds that a password in the address of a repository is on no command line and in
// no clone, and that it is known to all that is done with one.
func TestGitPassword(t *testing.T) {
	s := serveGit(t)
	s.watched.Store(true)
	author := s.add("net", "1.0")
	tool, said := s.project("ann:" + secret + "@")
	if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	s.release(author, "net", "1.1")
	if err := tool.Install(t.Context(), modtool.InstallOptions{Update: true}); err != nil {
		t.Fatal(everything(err))
	}
	clone := filepath.Join(tool.Dir, "libs/net")
	s.git(clone, "switch", "-q", "main")
	s.git(clone, "merge", "-q", "origin/main")
	s.git(clone, "commit", "-q", "--allow-empty", "-m", "ours")
	m, _, err := module.Open(clone)
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.Push(t.Context(), m); err != nil {
		t.Fatal(everything(err))
	}
	got := s.git(filepath.Join(s.root, "net"), "log", "-1", "--format=%s", "main")
	if got != "ours" {
		t.Errorf("the server has %s", got)
	}
	config, err := os.ReadFile(filepath.Join(clone, ".git/config"))
	if err != nil || strings.Contains(string(config)+said.String(), secret) {
		t.Errorf("the password is in %s, %v, or in %s", config, err, said)
	}
	if n := s.shown.Load(); n > 0 {
		t.Errorf("the password is on a command line, %d times", n)
	}
}

// TestGitUpdate holds what becomes of clones with an update: what is not committed, not pushed, or
// says something else on the server stays, with a word.
func TestGitUpdate(t *testing.T) {
	s := serveGit(t)
	author := s.add("net", "1.0")
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".netrc"),
		[]byte("machine 127.0.0.1 login ann password "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, said := s.project("")
	update := func() error {
		said.Reset()
		return tool.Install(t.Context(), modtool.InstallOptions{Update: true})
	}
	clone := filepath.Join(tool.Dir, "libs/net")
	at := func(want string) {
		t.Helper()
		if got := s.git(clone, "describe", "--tags", "--always"); got != want {
			t.Errorf("it is at %s, expected %s, after %s", got, want, said)
		}
	}
	for _, err := range []error{update(), update()} {
		if err != nil {
			t.Fatal(everything(err))
		}
	}
	at("1.0")
	s.release(author, "net", "1.1")
	mine := filepath.Join(clone, "model/mine.cf")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := update(); err != nil || !strings.Contains(said.String(), "stays as it is") {
		t.Errorf("%v, after %s", err, said)
	}
	at("1.0")
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if err := update(); err != nil {
		t.Fatal(everything(err))
	}
	at("1.1")
	s.git(author, "tag", "-f", "1.0")
	s.git(author, "push", "-q", "-f", "origin", "1.0")
	refused(t, update(), said.String(), fault.Conflict, "of the module net in "+clone,
		"git fetch --tags --force")
	s.git(author, "tag", "-f", "1.0", "1.1^")
	s.git(author, "push", "-q", "-f", "origin", "1.0")
	s.cut.Store(10)
	refused(t, update(), said.String(), fault.Unavailable, "of the module net in "+clone)
	s.cut.Store(0)
	at("1.1")
}

// TestGitTogether holds that no module is moved, and none is left that came, where what is asked
// for does not go together.
func TestGitTogether(t *testing.T) {
	s := serveGit(t)
	net, web := s.add("net", "1.0"), s.add("web", "1.0")
	s.add("more", "1.0")
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".netrc"),
		[]byte("machine 127.0.0.1 login ann password "+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, said := s.project("")
	main := filepath.Join(tool.Dir, "main.cf")
	imports := func(text string) {
		t.Helper()
		if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	imports("import net\nimport web\n")
	install := func() error { return tool.Install(t.Context(), modtool.InstallOptions{}) }
	if err := install(); err != nil {
		t.Fatal(everything(err))
	}
	s.release(net, "net", "1.1")
	s.release(web, "web", "1.1")
	file := filepath.Join(tool.Dir, "project.yml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	asks := func(requires string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(string(text)+requires), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(module, want string) {
		t.Helper()
		clone := filepath.Join(tool.Dir, "libs", module)
		if got := s.git(clone, "describe", "--tags", "--always"); got != want {
			t.Errorf("%s is at %s, expected %s, after %s", module, got, want, said)
		}
	}
	s.git(filepath.Join(tool.Dir, "libs/net"), "switch", "-q", "main")
	imports("import more\nimport net\nimport web\n")
	asks("requires: [net >=1.1, web >=2]\n")
	said.Reset()
	if err := install(); err == nil ||
		!strings.Contains(everything(err), "no version of web meets web >=2") {
		t.Errorf("it says %s", everything(err))
	}
	at("net", "1.0")
	at("web", "1.0")
	if got := s.git(filepath.Join(tool.Dir, "libs/net"), "branch", "--show-current"); got != "main" {
		t.Errorf("net is on %q, and was on main", got)
	}
	if fileThere(filepath.Join(tool.Dir, "libs/more")) {
		t.Error("more is there")
	}
	for _, want := range []string{"net is at 1.0 again", "more is removed again"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	asks("requires: [net >=1.1, web >=1.1]\n")
	if err := install(); err != nil {
		t.Fatal(everything(err))
	}
	at("net", "1.1")
	at("web", "1.1")
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestGitPush holds what is said where a push or a release does not fit what the server has.
func TestGitPush(t *testing.T) {
	s := serveGit(t)
	author := s.add("net", "1.0")
	tool, said := newTool(t, filepath.Join(t.TempDir(), "net"))
	netrc := "machine 127.0.0.1 login ann password " + secret + "\n"
	if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), ".netrc"), []byte(netrc),
		0o600); err != nil {
		t.Fatal(err)
	}
	s.git("", "clone", "-q", s.address+"/net", tool.Dir)
	m, _, err := module.Open(tool.Dir)
	if err != nil {
		t.Fatal(err)
	}
	s.git(tool.Dir, "checkout", "-q", "1.0")
	if err := tool.Push(t.Context(), m); err != nil ||
		!strings.Contains(said.String(), "nothing to push") {
		t.Errorf("as it is installed: %v, after %s", err, said)
	}
	s.git(tool.Dir, "commit", "-q", "--allow-empty", "-m", "on no branch")
	refused(t, tool.Push(t.Context(), m), said.String(), fault.Conflict, "push the module net",
		"on no branch", "git switch -c")
	s.git(tool.Dir, "checkout", "-q", "main")
	s.release(author, "net", "1.1")
	s.git(tool.Dir, "commit", "-q", "--allow-empty", "-m", "ours")
	refused(t, tool.Push(t.Context(), m), said.String(), fault.Conflict, "push the module net",
		"git pull --rebase")
	err = tool.Release(t.Context(), modtool.ReleaseOptions{Bump: modtool.Minor})
	refused(t, err, said.String(), fault.Conflict, "there is something on the server", "1.1")
	s.git(tool.Dir, "pull", "-q", "--rebase")
	file := filepath.Join(tool.Dir, "module.yml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	hook := filepath.Join(tool.Dir, ".git/hooks/pre-commit")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err = tool.Release(t.Context(), modtool.ReleaseOptions{Bump: modtool.Minor, Changelog: "new"})
	refused(t, err, said.String(), fault.Unavailable, "commit the module net")
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) || s.git(tool.Dir, "status", "-s") != "" {
		t.Errorf("a failed release leaves %s, %v", after, err)
	}
	if err := os.Remove(hook); err != nil {
		t.Fatal(err)
	}
	if err := tool.Release(t.Context(), modtool.ReleaseOptions{Bump: modtool.Minor}); err != nil {
		t.Fatal(everything(err))
	}
	if err := tool.Push(t.Context(), m); err != nil {
		t.Fatal(everything(err))
	}
	if tags := s.git(filepath.Join(s.root, "net"), "tag"); tags != "1.0\n1.1\n1.2.0" {
		t.Errorf("the server has the tags %s", tags)
	}
	// a branch for what was released before
	s.git(tool.Dir, "switch", "-q", "-c", "old", "1.0")
	err = tool.Commit(t.Context(), modtool.CommitOptions{Message: "mend", Version: "1.0.1",
		Release: true})
	if err != nil {
		t.Errorf("an older branch: %s", everything(err))
	}
}
