//go:build servers

package modtool_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/lang/modtool"
)

// index serves a folder with packages to those who know a password.
const index = `
import sys, wsgiref.simple_server, pypiserver
app = pypiserver.app(
    roots=[sys.argv[1]], disable_fallback=True, authenticate=["list", "download", "update"],
    auther=lambda user, password: (user, password) == ("ann", sys.argv[2]),
)
s = wsgiref.simple_server.make_server("127.0.0.1", 0, app)
print(s.server_port, flush=True)
s.serve_forever()
`

// TestPrivateServer installs a module with Python code by pip from a real index that wants a
// password, which is in .netrc and in nothing that is said; and mends an interrupted installation.
func TestPrivateServer(t *testing.T) {
	python, err := server.InstallPypiserver(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	withPip(t)
	packages := t.TempDir()
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "coded", "1.0", "answer = 42\n")
	s.add(t, "coded", "2.0", "answer = 43\n")
	for name, text := range s.wheels {
		if err := os.WriteFile(filepath.Join(packages, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", index, packages, secret)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=") // it is compiled once
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the index does not say where it listens")
	}
	dir := tree(
		t,
		".netrc",
		"machine 127.0.0.1 login ann password "+secret+"\n",
		"main.cf",
		"import coded\n",
		"project.yml",
		fmt.Sprintf(
			"name: p\nrequires: [coded <2]\npip: {index-url: 'http://127.0.0.1:%s/simple'}\n",
			lines.Text(),
		),
	)
	t.Setenv("NETRC", filepath.Join(dir, "none"))
	tool, said := newTool(t, dir)
	err = tool.Install(context.Background(), modtool.InstallOptions{})
	if err == nil || !strings.Contains(everything(err), "the index refuses: 401") {
		t.Errorf("without a password: %v", err)
	}
	t.Setenv("NETRC", filepath.Join(dir, ".netrc"))
	if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	answer := func() string {
		b, err := exec.CommandContext(t.Context(), filepath.Join(dir, ".env/bin/python"), "-c",
			"import inmanta_plugins.coded as c; print(c.answer)").CombinedOutput()
		return strings.TrimSpace(fmt.Sprint(string(b), errorText(err)))
	}
	if got := answer(); got != "42" {
		t.Errorf("the answer is %s", got)
	}
	project := filepath.Join(dir, "project.yml")
	text, err := os.ReadFile(project)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(" <2"), nil, 1)
	if err := os.WriteFile(project, text, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(
		filepath.Join(dir, ".env/lib/python3*/site-packages/inmanta_plugins/coded"),
	)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	for _, name := range []string{"setup.cfg", "__init__.py"} {
		// as pip leaves it when it is killed
		if err := os.Remove(filepath.Join(found[0], name)); err != nil {
			t.Fatal(err)
		}
	}
	pip := filepath.Join(filepath.Dir(filepath.Dir(found[0])), "pip", "__main__.py")
	if err := os.Remove(pip); err != nil { // as it is when the environment is half made
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env/.southbound-installing"), nil,
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := tool.Install(context.Background(), modtool.InstallOptions{Update: true}); err != nil {
		t.Fatal(everything(err))
	}
	if got := answer(); got != "43" {
		t.Errorf("mended, the answer is %s", got)
	}
	if strings.Contains(said.String(), secret) {
		t.Errorf("the password is shown: %s", said)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// withoutUV has a test find no uv, whatever this machine has.
func withoutUV(t *testing.T) {
	t.Helper()
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for i, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "uv")); err != nil {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		dirs[i] = t.TempDir()
		for _, e := range entries {
			if e.Name() == "uv" {
				continue
			}
			if err := os.Symlink(filepath.Join(dir, e.Name()),
				filepath.Join(dirs[i], e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator)))
}

// withPip has a test make environments by a python3 that makes them as Python does, but takes pip
// from one that Python has made before: to install pip takes seconds, most of them to compile it.
// It is Python itself whatever else it is asked. TestLibrary has Python put pip into one.
func withPip(t *testing.T) {
	t.Helper()
	template, python, err := server.Environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Libraries are linked where that goes: nothing writes into files of theirs.
	script := fmt.Sprintf(`#!/bin/sh
if [ "$1 $2" != "-m venv" ]; then exec '%[1]s' "$@"; fi
'%[1]s' -m venv --without-pip "$3" && cd '%[2]s/lib' &&
{ cp -al . "$3/lib" 2>/dev/null || cp -a . "$3/lib"; }
`, python, template)
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestUnreadIndex holds that an error of pip names the index and the package, and says why there is
// none, without the password.
func TestUnreadIndex(t *testing.T) {
	withPip(t)
	withoutUV(t) // which says so itself
	const secret = "s3cr3t-of-ann"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.Split(r.URL.Path, "/")[1])
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := tree(t, "main.cf", "", "requirements.txt", "coded\n", "project.yml", "name: p\n")
	for _, test := range []struct {
		status int
		want   []string
	}{
		{401, []string{"the index refuses", "401 Client Error"}},
		{403, []string{"the index refuses", "403 Client Error"}},
		{404, []string{"404 Client Error"}},
	} {
		text := fmt.Sprintf("name: p\npip: {index-url: 'http://ann:%s@%s/%d/simple'}\n", secret,
			host,
			test.status)
		if err := os.WriteFile(filepath.Join(dir, "project.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tool, said := newTool(t, dir)
		err := tool.Install(context.Background(), modtool.InstallOptions{})
		if err == nil {
			t.Fatalf("%d: it is installed", test.status)
		}
		all := everything(err)
		for _, want := range append(test.want, fmt.Sprintf("%s/%d/simple/coded/", host,
			test.status)) {
			if !strings.Contains(all, want) {
				t.Errorf("%d: it does not say %q: %s", test.status, want, all)
			}
		}
		if strings.Contains(all+said.String(), secret) {
			t.Errorf("%d: it tells the password: %s", test.status, all)
		}
	}
}

// TestLibrary holds that a project whose modules V1 have Python code gets the library that this
// needs, also where its environment is broken, since nothing asks for it.
func TestLibrary(t *testing.T) {
	withPip(t)
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	for name, text := range map[string]string{
		"inmanta/__init__.py": "",
		"inmanta_core-20.1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n" +
			"Tag: py3-none-any\n",
		"inmanta_core-20.1.dist-info/METADATA": "Metadata-Version: 2.1\nName: inmanta-core\n" +
			"Version: 20.1\n",
		"inmanta_core-20.1.dist-info/RECORD":     "",
		"inmanta_core-20.1.dist-info/top_levels": "inmanta\n",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	s := &shelf{wheels: map[string][]byte{"inmanta_core-20.1-py3-none-any.whl": wheel.Bytes()}}
	dir := tree(
		t, "main.cf", "import page\n", "libs/page/model/_init.cf", "",
		"libs/page/module.yml", "name: page\nversion: 1.0\nlicense: none\n",
		"libs/page/plugins/__init__.py", "answer = 42\n",
		"project.yml", "name: p\nmodulepath: libs\npip: {index-url: '"+
			serve(t, s, "ann:"+secret+"@")+"'}\n",
	)
	t.Setenv("VIRTUAL_ENV", "")
	python := filepath.Join(dir, ".env", "bin", "python")
	for _, env := range []string{"none", "broken", "whole", "of another Python", "without pip"} {
		sites, err := filepath.Glob(filepath.Join(dir, ".env/lib/python3*"))
		if err != nil || env != "none" && len(sites) != 1 {
			t.Fatal(sites, err)
		}
		switch env {
		case "of another Python": // as it is when python3 has become a newer one
			if err := os.Rename(sites[0], filepath.Join(dir, ".env/lib/python3.1")); err != nil {
				t.Fatal(err)
			}
		case "without pip": // as uv makes it
			found, err := filepath.Glob(filepath.Join(sites[0], "site-packages/pip*"))
			if err != nil || len(found) == 0 {
				t.Fatal(found, err)
			}
			for _, path := range found {
				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
			}
			withoutUV(t)
		case "broken":
			if err := os.Remove(python); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/bin/false", python); err != nil {
				t.Fatal(err)
			}
		}
		tool, said := newTool(t, dir)
		if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
			t.Fatalf("%s: %s", env, everything(err))
		}
		if out, err := exec.CommandContext(t.Context(), python, "-c", "import inmanta").
			CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s, after %s", env, err, out, said)
		}
		if installs := strings.Contains(said.String(), "installing"); installs != (env == "none" ||
			env == "broken" || env == "of another Python") {
			t.Errorf("%s: it says %s", env, said)
		}
	}
}

// TestPythonAfterAll holds that modules with Python code that were unpacked without what it needs
// are installed with it as soon as that is wanted.
func TestPythonAfterAll(t *testing.T) {
	withPip(t)
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "coded", "1.0", "answer = 42\n")
	dir := tree(
		t, "main.cf", "import coded\n", "requirements.txt", "inmanta-module-coded\n",
		"project.yml", "name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n",
	)
	t.Setenv("VIRTUAL_ENV", "")
	tool, said := newTool(t, dir)
	for _, noPython := range []bool{true, true, false} {
		if err := tool.Install(t.Context(),
			modtool.InstallOptions{NoPython: noPython}); err != nil {
			t.Fatal(everything(err))
		}
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, ".env", "bin", "python"),
			"-c",
			"import inmanta_plugins.coded").CombinedOutput()
		if (err != nil) != noPython {
			t.Errorf("without Python: %v: %v: %s, after %s", noPython, err, out, said)
		}
	}
}

// TestKilled holds that an installation has nothing outside of the project at any time, so that one
// that is killed leaves nothing there, and that the next one mends what pip cannot.
func TestKilled(t *testing.T) {
	withPip(t)
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "coded", "1.0", "answer = 42\n")
	temporary := t.TempDir()
	left := func() string {
		entries, err := os.ReadDir(temporary)
		return fmt.Sprint(entries, errorText(err))
	}
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, left()) // requests come one after the other
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := tree(
		t, "main.cf", "import coded\n", "requirements.txt", "inmanta-module-coded\n",
		"project.yml", "name: p\npip: {index-url: '"+
			strings.Replace(server.URL, "://", "://ann:"+secret+"@", 1)+"/simple'}\n",
	)
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("TMPDIR", temporary)
	tool, said := newTool(t, dir)
	if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	if len(seen) == 0 || strings.Trim(strings.Join(seen, ""), "[]") != "" || left() != "[]" {
		t.Errorf("there is something outside of the project: %v, and then %s", seen, left())
	}
	site, err := filepath.Glob(filepath.Join(dir, ".env/lib/python3*/site-packages"))
	if err != nil || len(site) != 1 {
		t.Fatal(site, err)
	}
	work := filepath.Join(dir, ".env/.southbound-work")
	aside := filepath.Join(site[0], "~oded")
	for _, path := range []string{filepath.Join(work, "pip-install-x"), aside} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	record := filepath.Join(site[0], "inmanta_module_coded-1.0.dist-info/RECORD")
	if err := os.Remove(record); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, ".env/.southbound-installing")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
		t.Fatalf("%s, after %s", everything(err), said)
	}
	for path, want := range map[string]bool{record: true, work: false, aside: false, mark: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestLocked holds that only one installation at a time is under way in an environment, and that
// pip, which goes on when we are killed, is part of one.
func TestLocked(t *testing.T) {
	withPip(t)
	withoutUV(t)
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "coded", "1.0", "answer = 42\n")
	var mu sync.Mutex
	var lock string
	held := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		files, _ := filepath.Glob("/proc/[0-9]*/fd/*")
		for _, file := range files {
			of, err := os.Readlink(file)
			held = held || err == nil && of == lock &&
				!strings.HasPrefix(file, fmt.Sprintf("/proc/%d/", os.Getpid()))
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	dir := tree(
		t, "main.cf", "import coded\n", "requirements.txt", "inmanta-module-coded\n",
		"project.yml", "name: p\npip: {index-url: '"+
			strings.Replace(server.URL, "://", "://ann:"+secret+"@", 1)+"/simple'}\n",
		".env/.southbound-lock", "",
	)
	mu.Lock()
	lock = filepath.Join(dir, ".env/.southbound-lock")
	mu.Unlock()
	t.Setenv("VIRTUAL_ENV", "")
	other, err := os.Open(lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	tool, said := newTool(t, dir)
	waits, say := make(chan bool, 1), tool.Say
	tool.Say = func(format string, args ...any) {
		say(format, args...)
		select {
		case waits <- true:
		default:
		}
	}
	done := make(chan error)
	go func() { done <- tool.Install(t.Context(), modtool.InstallOptions{}) }()
	<-waits
	if _, err := os.Stat(filepath.Join(dir, ".env/bin")); err == nil {
		t.Error("it begins while another installation is under way")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(everything(err))
	}
	if !strings.Contains(said.String(), "is under way; waiting for its end") {
		t.Errorf("it does not say that it waits: %s", said)
	}
	mu.Lock()
	defer mu.Unlock()
	if !held {
		t.Error("pip does not hold the lock")
	}
}

// TestConflict holds that packages which do not go together are told with all who ask for them,
// that nothing is half installed then, and that the next run installs what goes together.
func TestConflict(t *testing.T) {
	withPip(t)
	withoutUV(t) // whose own words are shown
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "net", "1.0", "one = 1\n")
	s.add(t, "net", "2.0", "two = 2\n")
	s.add(t, "low", "1.0", "", "inmanta-module-net <2")
	s.add(t, "mid", "1.0", "", "inmanta-module-low")
	s.add(t, "app", "1.0", "x = 1\n", "inmanta-module-net >=2")
	dir := tree(
		t, "main.cf", "import mid\n", "requirements.txt", "inmanta-module-app\n",
		"project.yml", "name: p\nrequires:\n  - net >=1.5\npip: {index-url: '"+
			serve(t, s, "ann:"+secret+"@")+"'}\n",
	)
	t.Setenv("VIRTUAL_ENV", "")
	tool, said := newTool(t, dir)
	err := tool.Install(t.Context(), modtool.InstallOptions{})
	want := "requirements.txt:1:1: no version of inmanta-module-net is allowed by all who ask " +
		"for it\n" +
		"requirements.txt:1:1 asks for inmanta-module-app\n" +
		"inmanta-module-app 1.0 asks for inmanta-module-net>=2\n" +
		"the module mid is imported: inmanta-module-mid\n" +
		"inmanta-module-mid asks for inmanta-module-low\n" +
		"inmanta-module-low 1.0 asks for inmanta-module-net<2\n" +
		"project.yml:3:5 asks for inmanta-module-net>=1.5"
	if err == nil || !strings.Contains(strings.ReplaceAll(everything(err), dir+"/", ""), want) {
		t.Errorf("they go together: %v", everything(err))
	}
	if _, err := os.Stat(filepath.Join(dir, ".env", ".southbound-installing")); err == nil {
		t.Error("it is taken to be half installed")
	}
	if err := os.WriteFile(filepath.Join(dir, "requirements.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.cf"), []byte("import app\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	if strings.Contains(said.String(), "interrupted") {
		t.Errorf("it was installed again: %s", said)
	}
}
