package cron

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

const before = "# mine\nMAILTO=me\n*/5 * * * * do 100\\% # really\n"

func updates() []map[string]any {
	return []map[string]any{
		{"schedule": "*/5 8-18/2 1,15 jan-mar mon"}, {"command": "echo 100% sure"},
		{"input": "a\nb"}, {"environment": map[string]any{"A": "it's", "B": ""}},
		{"environment": map[string]any{"A": "other"}}, {"enabled": false},
		{"environment": nil, "input": nil, "enabled": nil},
	}
}

func TestFileConformance(t *testing.T) {
	s := &providertest.Stopper{}
	d := Job()
	d.Handler = newHandler(textfile.Editor{Sys: &disk.System{
		Before: func(string) error { return s.Before() }}}, "crontab")
	providertest.Run(t,
		providertest.Subject{Definition: d,
			New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
				file := filepath.Join(dir, "jobs")
				put := func() error { return os.WriteFile(file, []byte(before), 0o644) }
				c := providertest.Case{
					Attributes: map[string]any{"name": "one", "file": file, "schedule": "@daily",
						"command": "true"},
					Updates: append(updates(),
						map[string]any{"environment": map[string]any{"MAILTO": "", "A": "b"}}),
					World: func() (string, error) {
						data, err := os.ReadFile(file)
						if errors.Is(err, os.ErrNotExist) {
							err = nil
						}
						more, _ := os.ReadFile(file + "2")
						return string(data) + "----" + string(more), err
					},
					Vanish: put, Interrupt: s.Interrupt,
					Edges: []string{"*"}, Unlisted: "the places of the machine",
					Unfit: map[string]string{"file": "paths of other places"},
				}
				for i := range 4 {
					c.Others = append(c.Others,
						map[string]any{"name": "one", "user": fmt.Sprint("u", i),
							"file": file + "2"[:i%2], "schedule": "5 4 * * *",
							"command": fmt.Sprint("job ", i)})
				}
				return c, put()
			}})
}

// TestCrontabConformance uses a real crontab.
func TestCrontabConformance(t *testing.T) {
	crontab, _ := realCron(t)
	dir := t.TempDir()
	d := Job()
	within := append(private(t, dir), crontab)
	d.Handler = newHandler(textfile.Editor{}, within...)
	providertest.Run(t,
		providertest.Subject{Definition: d,
			New: func(string, *providertest.Host) (providertest.Case, error) {
				file := filepath.Join(dir, "spool/cron/crontabs/root")
				put := func() error {
					cmd := exec.Command(within[0], append(within[1:len(within):len(within)], "-u",
						"root", "-")...)
					cmd.Stdin = strings.NewReader(before)
					return cmd.Run()
				}
				return providertest.Case{
					Attributes: map[string]any{"name": "one", "schedule": "@daily",
						"command": "true"},
					Updates: []map[string]any{{"schedule": "*/5 * 1,15 jan-mar sun",
						"command": "echo 100% sure", "input": "a\nb",
						"environment": map[string]any{"A": "it's"}}},
					Others: []map[string]any{{"name": "two", "schedule": "5 4 * * sun",
						"command": "job"}},
					Vanish:   put,
					Unlisted: "the places of the machine",
					World: func() (string, error) {
						data, err := os.ReadFile(file)
						// what stands before it, crontab writes itself, with the time
						_, text, _ := strings.Cut(string(data), "# mine")
						return text, err
					},
				}, put()
			}})
}

func resourceOf(t *testing.T, attrs map[string]any) provider.Resource {
	t.Helper()
	reg, err := schema.NewRegistry(Job().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := reg.Type("cron::Job")
	full, problems := typ.Check(attrs)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return provider.Resource{Attributes: full}
}

func must(t *testing.T, h handler, r provider.Resource, want diff.Change) {
	t.Helper()
	ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
	obs, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		t.Fatal(err)
	}
	diffs, err := h.Diff(ctx, r, obs)
	got := diff.NoChange
	switch {
	case err != nil:
	case r.Purged && obs.Exists:
		got = diff.Purged
		_, err = h.Delete(ctx, provider.DeleteRequest{Resource: r})
	case r.Purged:
	case !obs.Exists:
		got = diff.Created
		_, err = h.Create(ctx, provider.CreateRequest{Resource: r})
	case len(diffs) > 0:
		got = diff.Updated
		_, err = h.Update(ctx, provider.UpdateRequest{Resource: r})
	}
	if err != nil || got != want {
		t.Fatalf("did %q (%v), %v; expected %q", got, diffs, err, want)
	}
}

// TestLastJobTakesItsFile makes a file for a job, has somebody spoil it, and removes it.
func TestLastJobTakesItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job")
	r := resourceOf(t, map[string]any{"name": "x", "file": file, "schedule": "1  2 * *  *",
		"command": "a"})
	must(t, newHandler(textfile.Editor{}, "crontab"), r, diff.Created)
	want := "# BEGIN job x of root\n1 2 * * * root a\n# END job x of root\n"
	for _, spoiled := range []string{want, "# BEGIN job x of root\n# END job x of root\n",
		"# BEGIN job x of root\nMAILTO=\"z\"\n1 2 * * * root a\n# END job x of root\n",
		"# BEGIN job x of root\n1 2 * * * nobody a\n# END job x of root\n",
		"# BEGIN job x of root\n\xff%\\\n# END job x of root\n"} {
		if err := os.WriteFile(file, []byte(spoiled), 0o600); err != nil {
			t.Fatal(err)
		}
		if spoiled != want {
			must(t, newHandler(textfile.Editor{}, "crontab"), r, diff.Updated)
		}
		must(t, newHandler(textfile.Editor{}, "crontab"), r, diff.NoChange)
		if data, err := os.ReadFile(file); err != nil || string(data) != want {
			t.Fatalf("%q %v", data, err)
		}
	}
	r.Purged = true
	must(t, newHandler(textfile.Editor{}, "crontab"), r, diff.Purged)
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("1 2 * * * root other"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Purged = false
	must(t, newHandler(textfile.Editor{}, "crontab"), r, diff.Created)
	if data, err := os.ReadFile(file); err != nil || string(data) != "1 2 * * * root other\n"+want {
		t.Fatalf("a last line without an end: %q %v", data, err)
	}
}

// TestOnlyWhatDiffersIsReported has somebody change one attribute of a job whose others can be
// written in more than one way.
func TestOnlyWhatDiffersIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "job")
	h := newHandler(textfile.Editor{}, "crontab")
	r := resourceOf(t, map[string]any{"name": "x", "file": file, "schedule": "1  2 * *  mon",
		"command": " a 5% ", "input": "one\ntwo 5%\n", "environment": map[string]any{"A": "it's",
			"MAILTO": ""}})
	must(t, h, r, diff.Created)
	for part, name := range map[string]string{" mon ": "schedule", " a 5": "command",
		"two": "input", "it'": "environment"} {
		data, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(data), part) {
			t.Fatalf("%q %v", data, err)
		}
		if err := os.WriteFile(file,
			[]byte(strings.Replace(string(data), part, strings.NewReplacer("mon", "tue", "a", "b",
				"two", "2", "it'", "at'").Replace(part), 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
		obs, err := h.Read(ctx, provider.ReadRequest{Resource: r})
		if err != nil {
			t.Fatal(err)
		}
		if diffs, err := h.Diff(ctx, r, obs); err != nil || len(diffs) != 1 ||
			diffs[name].Desired == nil {
			t.Errorf("%s: %v, %v", name, diffs, err)
		}
		must(t, h, r, diff.Updated)
	}
}

func TestSchedule(t *testing.T) {
	for s, want := range map[string]string{
		"*/5  8-18/2 1,15 jan-MAR,dec mon-fri": "*/5 8-18/2 1,15 jan-MAR,dec mon-fri",
		" @daily ":                             "@daily",
		"0 0 31 jan,feb *":                     "0 0 31 jan,feb *",
		"0 0 30 feb sun":                       "0 0 30 feb sun", // cron runs it on Sundays
		"0 0 29 2 *":                           "0 0 29 2 *",
		"59 23 31 12 7":                        "59 23 31 12 7",
	} {
		if got, err := canonical(s); err != nil || got != want {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
	for s, part := range map[string]string{
		"": "five fields", "* * * *": "five fields", "* * * * * *": "five fields",
		"@often": "@reboot", "60 * * * *": "minute", "* 24 * * *": "hour",
		"* * 0 * *":  "day of the month",
		"* * * 13 *": "month", "* * * * 8": "sun", "* * * foo *": "jan",
		"22-2 * * * *": "two ranges", "* * * * fri-sun": "two ranges", "*/0 * * * *": "step",
		"*/60 * * * *": "step",
		"5/15 * * * *": "5-59/15", "1,,2 * * * *": "minute", "-1 * * * *": "minute",
		"+1 * * * *": "minute", "1- * * * *": "minute", "0 0 30 feb *": "no month",
		"0 0 31 4,jun,9,11 *":     "no month",
		"* * * * *\n* * * * * rm": "five fields", "0x5 * * * *": "minute",
		"99999999999 * * * *": "minute",
	} {
		if got, err := canonical(s); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %q, %v; expected %q", s, got, err, part)
		}
	}
}

func TestDeclaration(t *testing.T) {
	reg, err := schema.NewRegistry(Job().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := reg.Type("cron::Job")
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"a schedule that never comes": {map[string]any{"schedule": "0 0 30 2 *"},
			"schedule"},
		"two lines": {map[string]any{"command": "a\nb"}, "command"},
		"an escape of one's own": {map[string]any{"command": `date +\%s`},
			"command"},
		"a line that cron would cut": {
			map[string]any{"command": strings.Repeat("x", 1000)}, "command"},
		"a file that cron overlooks": {map[string]any{"file": "/etc/cron.d/job.conf"},
			"file"},
		"a variable of cron for others, too": {
			map[string]any{"environment": map[string]any{"MAILTO": "x"}}, "environment"},
		"a variable with an end of line": {
			map[string]any{"environment": map[string]any{"A": "x\n* * * * * evil"}}, "environment"},
		"a name that is not a variable": {
			map[string]any{"environment": map[string]any{"A B": "x"}}, "environment"},
		"a user that is more than a user": {map[string]any{"user": "root evil"}, "user"},
		"a name that is more than a name": {map[string]any{"name": "x\n* * * * * evil"},
			"name"},
		"a user that is an option of the program": {map[string]any{"user": "-r"}, "user"},
	} {
		attrs := map[string]any{"name": "x", "schedule": "@daily", "command": "true"}
		for k, v := range tc.attrs {
			attrs[k] = v
		}
		if _, problems := typ.Check(attrs); len(problems) != 1 || problems[0].Attribute != tc.part {
			t.Errorf("%s: %v", why, problems)
		}
	}
}

func TestNoCrontabProgram(t *testing.T) {
	h := newHandler(textfile.Editor{}, "there-is-no-such-program")
	ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
	_, err := h.Read(ctx,
		provider.ReadRequest{Resource: resourceOf(t,
			map[string]any{"name": "x", "schedule": "@daily", "command": "true"})})
	if err == nil || !strings.Contains(err.Error(), "install cron") {
		t.Fatal(err)
	}
}
