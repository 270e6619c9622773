package modtool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/fault"
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
