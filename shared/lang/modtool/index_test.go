package modtool_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/modtool"
)

// shelf is an index of packages that wants a name and a password.
type shelf struct {
	mu     sync.Mutex
	wheels map[string][]byte // and source distributions
	json   bool
	wrong  bool // say wrong digests
	asked  []string
}

const secret = "s3cr3t-of-the-index"

// ServeHTTP implements http.Handler.
func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path)
	if name, password, _ := r.BasicAuth(); name != "ann" || password != secret {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if text, ok := s.wheels[strings.TrimPrefix(r.URL.Path, "/files/")]; ok {
		_, _ = w.Write(text)
		return
	}
	pkg := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
	files := []map[string]any{}
	page := ""
	for name, text := range s.wheels {
		if !strings.HasPrefix(name, strings.ReplaceAll(pkg, "-", "_")+"-") {
			continue
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(text))
		if s.wrong {
			sum = strings.Repeat("0", 64)
		}
		files = append(files, map[string]any{"filename": name, "url": "../../files/" + name,
			"hashes": map[string]string{"sha256": sum}, "yanked": strings.Contains(name, "-9.")})
		page += fmt.Sprintf("<a href=\"../../files/%s#sha256=%s\">%s</a>\n", name, sum, name)
	}
	switch {
	case len(files) == 0:
		w.WriteHeader(http.StatusNotFound)
	case s.json:
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
		_ = json.NewEncoder(w).Encode(map[string]any{"files": files})
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!DOCTYPE html><html><body>" + page + "</body></html>"))
	}
}

// add builds a module and puts its wheel on the shelf.
func (s *shelf) add(t *testing.T, name, version, code string, requires ...string) {
	t.Helper()
	setup := "[metadata]\nname = " + metadata.PackageOf(name) +
		"\nversion = " + strings.TrimSuffix(version, ".dev1") + "\nlicense = MIT\n" +
		"[options]\ninstall_requires =\n    " + strings.Join(requires, "\n    ") + "\n"
	if strings.HasSuffix(version, ".dev1") {
		setup += "[egg_info]\ntag_build = dev1\n"
	}
	dir := tree(t, "setup.cfg", setup,
		"model/_init.cf", "entity "+strings.ToUpper(name)+":\nend\n",
		"inmanta_plugins/"+name+"/__init__.py", code)
	tool, _ := newTool(t, dir)
	files, err := tool.Build(dir, modtool.BuildOptions{Output: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.wheels[filepath.Base(file)] = text
	}
}

func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newTool returns a tool, and what it says.
func newTool(t *testing.T, dir string) (*modtool.Tool, *strings.Builder) {
	t.Helper()
	said := &strings.Builder{}
	return &modtool.Tool{
		Dir:     dir,
		Say:     func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) },
		Warn:    func(p diag.Problem) { fmt.Fprintln(said, "warning: "+p.String()) },
		BuiltIn: func(name string) bool { return name == "std" },
	}, said
}

// serve serves a shelf and returns the address of its index with what is before the host.
func serve(t *testing.T, s *shelf, user string) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "://", "://"+user, 1) + "/simple"
}

// everything returns what an error says, with all its problems.
func everything(err error) string {
	text := fmt.Sprint(err)
	problems, _ := diag.Of(err)
	for _, p := range problems {
		text += "\n" + p.String() + " " + p.Hint
		for _, r := range p.Related {
			text += "\n  " + r.Message
		}
	}
	return text
}

// TestPrivateIndex installs pure modules from an index with a password, in both of its forms, and
// shows that nowhere.
func TestPrivateIndex(t *testing.T) {
	t.Parallel()
	for _, form := range []bool{false, true} {
		s := &shelf{wheels: map[string][]byte{}, json: form}
		s.add(
			t,
			"app",
			"1.0",
			"",
			"inmanta-module-net <2",
			"inmanta-module-std",
			"inmanta-module-no ; extra == 'x'",
		)
		s.add(t, "app", "1.1.dev1", "")
		s.add(t, "net", "1.5", "")
		s.add(t, "net", "1.10", "")
		s.add(t, "net", "2.0", "")
		address := serve(t, s, "ann:"+secret+"@")
		dir := tree(
			t,
			"main.cf",
			"import app\n",
			"project.yml",
			"name: p\npip:\n  index-url: "+address+"\n",
		)
		tool, said := newTool(t, dir)
		if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
			t.Fatal(everything(err))
		}
		list, err := tool.List()
		if got := fmt.Sprint(list, err); !strings.Contains(got, "{app v2 false 1.0 * true ") ||
			!strings.Contains(got, "{net v2 false 1.10 <2 true ") {
			t.Errorf("%s", got)
		}
		before := len(s.asked)
		if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil ||
			len(s.asked) != before {
			t.Errorf("again: %v, asked for %v", err, s.asked[before:])
		}
		wanted := filepath.Join(dir, "requirements.txt") // what is there already, and not imported
		if err := os.WriteFile(wanted, []byte("inmanta-module-net <2\ninmanta-module-app\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
		if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil ||
			len(s.asked) != before {
			t.Errorf("with a list: %v, asked for %v", err, s.asked[before:])
		}
		if err := os.WriteFile(wanted, []byte("inmanta-module-net ==1.5\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
			t.Fatal(everything(err))
		}
		if list, err := tool.List(); !strings.Contains(fmt.Sprint(list, err),
			"{net v2 false 1.5 ") {
			t.Errorf("another version is asked for: %v, %v", list, err)
		}
		if strings.Contains(said.String(), secret) {
			t.Errorf("the password is shown: %s", said)
		}
	}
}

// TestAddOrNothing holds that a requirement that cannot be met is not written.
func TestAddOrNothing(t *testing.T) {
	t.Parallel()
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "net", "1.0", "")
	s.add(t, "net", "1.1", "")
	project := "name: p\npip:\n  index-url: " + serve(t, s, "ann:"+secret+"@") + "\n"
	dir := tree(t, "main.cf", "import net\n", "project.yml", project)
	tool, _ := newTool(t, dir)
	holds := func(want string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(dir, metadata.RequirementsFile))
		if string(text) != want || (want == "") != os.IsNotExist(err) {
			t.Errorf("it holds %q, expected %q: %v", text, want, err)
		}
		text, err = os.ReadFile(filepath.Join(dir, metadata.ProjectFile))
		if string(text) != project {
			t.Errorf("project.yml is %q: %v", text, err)
		}
	}
	if err := tool.Add(t.Context(), "net ~=5.0", false, false, true); err == nil {
		t.Error("there is a version 5 of net")
	}
	holds("")
	if err := tool.Add(t.Context(), "net <1.1", false, false, true); err != nil {
		t.Fatal(everything(err))
	}
	holds("inmanta-module-net<1.1\n")
	if err := tool.Add(t.Context(), "net ~=5.0", true, false, true); err == nil {
		t.Error("there is a version 5 of net")
	}
	holds("inmanta-module-net<1.1\n")
	if list, err := tool.List(); !strings.Contains(fmt.Sprint(list, err), "{net v2 false 1.0 ") {
		t.Errorf("another version is there: %v, %v", list, err)
	}
}

// TestRenewed holds when a module that came from an index is brought to another version: with an
// update, and when it is not what is asked for any more.
func TestRenewed(t *testing.T) {
	t.Parallel()
	s := &shelf{wheels: map[string][]byte{}}
	for _, version := range []string{"1.0", "1.5", "2.0"} {
		s.add(t, "net", version, "")
	}
	address := serve(t, s, "ann:"+secret+"@")
	dir := tree(t, "main.cf", "import net\n")
	for _, step := range []struct {
		why, requires string
		update        bool
		want          string
	}{
		{"nothing is there", "[net ==1.0]", false, "1.0"},
		{"it still fits", "[net <2]", false, "1.0"},
		{"the highest that is allowed is asked for", "[net <2]", true, "1.5"},
		{"it does not fit any more", "[net >=2]", false, "2.0"},
		{"an older one is asked for", "[net <1.5]", false, "1.0"},
	} {
		text := "name: p\nrequires: " + step.requires + "\npip: {index-url: '" + address + "'}\n"
		if err := os.WriteFile(filepath.Join(dir, "project.yml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tool, _ := newTool(t, dir)
		if err := tool.Install(t.Context(),
			modtool.InstallOptions{Update: step.update}); err != nil {
			t.Errorf("%s: %s", step.why, everything(err))
		}
		list, err := tool.List()
		if err != nil || len(list) != 1 || list[0].Installed != step.want {
			t.Errorf("%s: %v, %v", step.why, list, err)
		}
	}
}

// TestIndexFaults says what is wrong with an index, without the password.
func TestIndexFaults(t *testing.T) {
	t.Parallel()
	whole := &shelf{wheels: map[string][]byte{}}
	whole.add(t, "app", "1.0", "", "inmanta-module-net")
	whole.add(t, "net", "1.0", "")
	whole.add(t, "net", "9.0", "")
	damaged := &shelf{wheels: whole.wheels, wrong: true}
	for name, c := range map[string]struct {
		shelf    *shelf
		user     string
		requires string
		kind     fault.Kind
		want     string
	}{
		"a wrong password": {whole, "ann:x" + secret + "@", "[]", fault.Denied,
			"the index refuses: 401"},
		"no password": {whole, "", "[]", fault.Denied, "the index refuses: 401"},
		"a wrong digest": {damaged, "ann:" + secret + "@", "[]", fault.Damaged,
			"it differs from the index"},
		"a conflict": {
			whole, "ann:" + secret + "@", "['net >9', 'net <1']", fault.Unknown,
			"the project asks for net <1",
		},
		"nowhere": {
			&shelf{wheels: map[string][]byte{}}, "ann:" + secret + "@", "[]", fault.Unknown,
			"main.cf:1:1: there is no module app",
		},
	} {
		dir := tree(t, "main.cf", "import app\n", "project.yml", "name: p\nrequires: "+c.requires+
			"\npip: {index-url: '"+serve(t, c.shelf, c.user)+"'}\n")
		tool, said := newTool(t, dir)
		err := tool.Install(context.Background(), modtool.InstallOptions{})
		got := everything(err)
		if err == nil || c.kind != fault.Unknown && fault.KindOf(err) != c.kind ||
			!strings.Contains(got, c.want) {
			t.Errorf("%s: %s, kind %s", name, got, fault.KindOf(err))
		}
		if strings.Contains(got+said.String(), secret) {
			t.Errorf("%s: the password is shown: %s %s", name, got, said)
		}
		left, _ := filepath.Glob(filepath.Join(dir, ".env/lib/southbound/site-packages/*"))
		if len(left) > 0 {
			t.Errorf("%s: left %v", name, left)
		}
	}
}

// TestInterrupted mends what an interrupted run has left: a wheel that was half unpacked, and one
// whose dist-info is gone.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "net", "1.0", "")
	dir := tree(
		t,
		"main.cf",
		"import net\n",
		"project.yml",
		"name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n",
		".env/lib/southbound/site-packages/.new-net/inmanta_plugins/net/model/_init.cf",
		"half",
		".env/lib/southbound/site-packages/inmanta_plugins/net/model/_init.cf",
		"half",
	)
	tool, _ := newTool(t, dir)
	if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	site := filepath.Join(dir, ".env/lib/southbound/site-packages")
	text, err := os.ReadFile(filepath.Join(site, "inmanta_plugins/net/model/_init.cf"))
	if err != nil || strings.Contains(string(text), "half") {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(site, ".new-net")); err == nil {
		t.Error("the half is still there")
	}
}

// TestHostileWheel refuses wheels that lead out of their place.
func TestHostileWheel(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../out.cf", "/etc/out.cf", `inmanta_plugins\net\x`} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range []string{name, "inmanta_plugins/net/setup.cfg"} {
			if _, err := z.Create(f); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		s := &shelf{wheels: map[string][]byte{"inmanta_module_net-1.0-py3-none-any.whl": b.Bytes()}}
		dir := tree(
			t,
			"main.cf",
			"import net\n",
			"project.yml",
			"name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n",
		)
		tool, _ := newTool(t, dir)
		err := tool.Install(context.Background(), modtool.InstallOptions{})
		if fault.KindOf(err) != fault.Damaged ||
			!strings.Contains(everything(err), "leads out of it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
