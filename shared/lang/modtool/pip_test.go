package modtool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/module"
)

// TestBasePython holds which Python environments are made of: python3, unless the library is not
// for it and there is a newer one that runs.
func TestBasePython(t *testing.T) {
	for _, test := range []struct {
		why  string
		has  map[string]string // what each says of itself; "": it does not run
		want string
		is   int
	}{
		{"there is none", nil, "", 0},
		{"python3 will do", map[string]string{"python3": "13", "python3.14": "14"}, "python3", 13},
		{"python3 is too old", map[string]string{"python3": "11", "python3.13": "13"}, "python3.13",
			13},
		{
			"the newest does not run", map[string]string{"python3": "11", "python3.14": "",
				"python3.13": "13"},
			"python3.13", 13,
		},
		{"there is no newer one", map[string]string{"python3": "11", "python3.12": "12"}, "python3",
			11},
		{"there is no python3", map[string]string{"python3.14": "14"}, "python3.14", 14},
	} {
		dir := t.TempDir()
		t.Setenv("PATH", dir)
		for name, says := range test.has {
			text := "#!/bin/sh\nexit 127\n"
			if says != "" {
				text = fmt.Sprintf("#!/bin/sh\necho %s\n", says)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		want := ""
		if test.want != "" {
			want = filepath.Join(dir, test.want)
		}
		if path, version := basePython(t.Context(), dir); path != want || version != test.is {
			t.Errorf("%s: %s, 3.%d", test.why, path, version)
		}
	}
}

// TestTooOld holds that a Python which is too old for the modules is refused before anything is made,
// with what to do, and that uv, which gets a newer one, is used.
func TestTooOld(t *testing.T) {
	for _, test := range []struct {
		why  string
		has  map[string]string // what programs say of their version
		env  string            // what that of .env says
		want string            // of the error; "": there is none
		hint string
	}{
		{"older", map[string]string{"python3": "12"}, "", "python3 is Python 3.12, and modules need 3.13",
			"install Python 3.13, or uv"},
		{"a newer one beside it", map[string]string{"python3": "12", "python3.13": "13"}, "", "", ""},
		{"new", map[string]string{"python3": "13"}, "", "", ""},
		{"uv", map[string]string{"python3": "11", "uv": ""}, "", "", ""},
		{"none", nil, "", "", ""}, // told when it is needed
		{"the environment", map[string]string{"python3": "13", "uv": ""}, "11",
			"python is Python 3.11, and modules need 3.13", "remove .env; install Python 3.13"},
		{"that of the environment counts", map[string]string{"python3": "11"}, "13", "", ""},
		{"one that does not run is made again", map[string]string{"python3": "13"}, "x", "", ""},
	} {
		dir, bin := t.TempDir(), t.TempDir()
		t.Setenv("PATH", bin)
		program := func(path, says string) {
			text := fmt.Sprintf("#!/bin/sh\necho %s\n", says)
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for name, says := range test.has {
			program(filepath.Join(bin, name), says)
		}
		env := filepath.Join(dir, module.EnvDir)
		if test.env != "" {
			if err := os.MkdirAll(filepath.Join(env, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			program(filepath.Join(env, "bin", "python"), test.env)
		}
		err := environment{path: env, dir: dir}.supported(t.Context())
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.why, err)
		case test.want != "" && (!fault.Is(err, fault.Unsupported) ||
			!strings.Contains(err.Error(), test.want) || !strings.Contains(fault.HintOf(err), test.hint)):
			t.Errorf("%s: %v, with the hint %q", test.why, err, fault.HintOf(err))
		}
		if _, there := os.Stat(env); test.env == "" && there == nil {
			t.Errorf("%s: an environment was made", test.why)
		}
	}
}

// TestOldPython holds that a project is not installed by a Python that is too old: nothing is made.
func TestOldPython(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	for path, text := range map[string]string{
		filepath.Join(bin, "python3"):          "#!/bin/sh\necho 11\n",
		filepath.Join(dir, "project.yml"):      "name: p\nmodulepath: libs\n",
		filepath.Join(dir, "main.cf"):          "",
		filepath.Join(dir, "requirements.txt"): "some-package\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	tool := &Tool{Dir: dir, Say: func(string, ...any) {}, Warn: func(diag.Problem) {}}
	err := tool.Install(t.Context(), InstallOptions{})
	if !fault.Is(err, fault.Unsupported) || !strings.Contains(err.Error(), "nothing was installed") {
		t.Errorf("%v", err)
	}
	if hasPython(filepath.Join(dir, module.EnvDir)) || fileThere(filepath.Join(dir, module.EnvDir, "pyvenv.cfg")) {
		t.Error("an environment was made")
	}
}

// TestUnreached holds that an index that cannot be reached is told in a line, with the reason, and
// without what pip says of each time that it asks.
func TestUnreached(t *testing.T) {
	t.Parallel()
	const page = "http://127.0.0.1:9/simple/x/"
	for _, connection := range []string{
		"<pip._vendor.urllib3.connection.HTTPConnection object at 0x7fcd31398b90>",
		"HTTPConnection(host='127.0.0.1', port=9)",
	} {
		log := "2026-01-01T10:00:00,000 Could not fetch URL " + page + ": connection error: " +
			"HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: " +
			"/simple/x/ (Caused by NewConnectionError('" + connection +
			": Failed to establish a new connection: [Errno 111] Connection refused')) - skipping\n"
		err := pipError("", log, fault.New(fault.Unavailable, "run python -m pip", "%s",
			"WARNING: Retrying (Retry(total=4)) after it\nERROR: No matching distribution found"))
		want := "the index cannot be reached\n" + page +
			": connection error: Failed to establish a new connection: [Errno 111] Connection " +
			"refused"
		if !strings.HasSuffix(err.Error(), want) || fault.HintOf(err) == "" {
			t.Errorf("%v", err)
		}
	}
	err := pipError("", "", fault.New(fault.Unavailable, "run python -m pip", "%s",
		"WARNING: Retrying (Retry(total=4)) after it\nERROR: the disk is full"))
	if !strings.HasSuffix(err.Error(), "run python -m pip: ERROR: the disk is full") {
		t.Errorf("%v", err)
	}
}

// TestUnsolved holds that what uv says of packages that do not go together is a mistake of the
// project, not of the index.
func TestUnsolved(t *testing.T) {
	t.Parallel()
	err := pipError("", "", fault.New(fault.Unavailable, "run uv pip", "%s",
		"error: No solution found when resolving dependencies\n  cause: a and b"))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "cause: a and b") {
		t.Errorf("%v: %v", fault.KindOf(err), err)
	}
}

// TestRefused holds that it is seen in what pip and uv say that an index refuses.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"WARNING: 401 Error, Credentials not correct for " +
			"https://index.example/simple/net/": true,
		"Could not fetch URL https://index.example/: 403 Client Error: Forbidden for url: - " +
			"skipping": true,
		"ERROR: HTTP error 403 while getting " +
			"https://index.example/net-1.0-py3-none-any.whl": true,
		"hint: An index URL could not be queried due to a lack of valid credentials (401 " +
			"Unauthorized)": true,
		"ERROR: No matching distribution found for net==401":                       false,
		"ERROR: HTTP error 404 while getting https://index.example/403-1.0.tar.gz": false,
	} {
		if refused(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}
