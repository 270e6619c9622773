package cron

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func list(t *testing.T, h handler) (out []map[string]any) {
	t.Helper()
	err := h.List(providertest.NewHost(nil).Context(t.Context(), provider.Options{DryRun: true}),
		func(f provider.Found) error {
			out = append(out, f.Attributes)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestList lists jobs as they were described, and lines of others by their commands.
func TestList(t *testing.T) {
	dir := t.TempDir()
	h := newHandler(textfile.Editor{}, "there-is-no-such-program")
	h.places = places{files: []string{filepath.Join(dir, "cron.d", "*")}}
	file := filepath.Join(dir, "cron.d", "jobs")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"jobs": "# mine\nSHELL=/bin/sh\n  */5\t* * * *   nobody  do 5\\% x # really\n" +
			"@reboot root boot\n#1 2 3 4 5 root off\nnonsense\n99 * * * * root never\n",
		"no.job": "1 2 * * * root not read, as its name has a dot\n",
	} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), name), []byte(text),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours := []map[string]any{
		{"name": "a of b", "user": "nobody", "file": file, "schedule": "1 2 * * mon",
			"command": "a 5% 'x'", "input": "l1\nl2 5%", "environment": map[string]any{"A": "it's",
				"MAILTO": "me"}},
		{"name": "ü", "user": "root", "file": file, "schedule": "@daily", "command": "b",
			"enabled": false},
	}
	for _, attrs := range ours {
		must(t, h, resourceOf(t, attrs), diff.Created)
	}
	got := list(t, h)
	if len(got) != 4 {
		t.Fatal(got)
	}
	for i, name := range []string{"do 5% x # really", "boot"} {
		if got[i]["name"] != name || got[i]["command"] != name ||
			got[i]["user"] != []string{"nobody", "root"}[i] {
			t.Errorf("a line of somebody else: %v", got[i])
		}
		if i == 0 && got[i]["schedule"] != "*/5 * * * *" {
			t.Error(got[i])
		}
	}
	for i, attrs := range got[2:] {
		if attrs["name"] != ours[i]["name"] {
			t.Error(attrs)
		}
		must(t, h, resourceOf(t, attrs), diff.NoChange)
	}
}

// TestForeign describes lines of others as they are listed: there is nothing to do until something
// else is wanted.
func TestForeign(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cron.d", "jobs")
	h := newHandler(textfile.Editor{}, "there-is-no-such-program")
	h.places = places{files: []string{filepath.Join(dir, "cron.d", "*")}}
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const before = "SHELL=/bin/sh\n30 3 * *\t0 root  test -e /run/x || A=1 /sbin/scrub -A 5\\%\n" +
		"@reboot nobody boot%in\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	found := list(t, h)
	for _, attrs := range found {
		must(t, h, resourceOf(t, attrs), diff.NoChange)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != before || len(found) != 2 {
		t.Fatalf("%q %v %v", data, found, err)
	}
	found[0]["schedule"] = "0 4 * * *"
	must(t, h, resourceOf(t, found[0]), diff.Updated)
	must(t, h, resourceOf(t, found[0]), diff.NoChange)
	gone := resourceOf(t, found[1])
	gone.Purged = true
	must(t, h, gone, diff.Purged)
	name := "test -e /run/x || A=1 /sbin/scrub -A 5%"
	want := "SHELL=/bin/sh\n# BEGIN job " + name +
		" of root\n0 4 * * * root test -e /run/x || A=1 /sbin/scrub -A 5\\%\n# END job " + name +
		" of root\n"
	if data, err := os.ReadFile(file); err != nil || string(data) != want {
		t.Errorf("got  %q\nwant %q %v", data, want, err)
	}
}

// TestTakesOver describes a job that somebody has written by hand already, and has another that is
// not to be touched.
func TestTakesOver(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jobs")
	h := newHandler(textfile.Editor{}, "there-is-no-such-program")
	const other = "1 2 * * * root other\n"
	if err := os.WriteFile(file, []byte("# mine\n*/5 \t* * * MON  root   do it\n"+other),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := resourceOf(t, map[string]any{"name": "x", "file": file, "schedule": "*/5 * * * MON",
		"command": "do it"})
	r.Purged = true
	must(t, h, r, diff.NoChange) // it is not ours
	r.Purged = false
	must(t, h, r, diff.Updated)
	must(t, h, r, diff.NoChange)
	want := "# mine\n# BEGIN job x of root\n*/5 * * * MON root do it\n# END job x of root\n" + other
	if data, err := os.ReadFile(file); err != nil || string(data) != want {
		t.Fatalf("%q %v", data, err)
	}
	// What another job of ours says is not somebody else's.
	must(t, h, resourceOf(t, map[string]any{"name": "y", "file": file, "schedule": "*/5 * * * MON",
		"command": "do it"}), diff.Created)
	if data, err := os.ReadFile(file); err != nil || strings.Count(string(data), "do it") != 2 {
		t.Fatalf("%q %v", data, err)
	}
}

// TestListOfAFile lists the file that is asked for, and of it the jobs of a user.
func TestListOfAFile(t *testing.T) {
	h := newHandler(textfile.Editor{}, "there-is-no-such-program")
	h.places = places{}
	file := filepath.Join(t.TempDir(), "tab")
	if err := os.WriteFile(file, []byte("@daily root a\n@daily bob b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for user, want := range map[string]string{"": "a b", "bob": "b", "eve": ""} {
		asked := map[string]any{"file": file}
		if user != "" {
			asked["user"] = user
		}
		var got []string
		err := h.List(providertest.NewHost(nil).Context(t.Context(),
			provider.Options{Desired: provider.Resource{Attributes: asked}}),
			func(f provider.Found) error {
				got = append(got, text(provider.Resource{Attributes: f.Attributes}, "command"))
				return nil
			})
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("of %q: %q, %v", user, got, err)
		}
	}
}
