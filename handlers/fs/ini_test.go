package fs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/textfile"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func withIni(s *disk.System) provider.Definition {
	d := IniSetting()
	d.Handler = newIni(textfile.Editor{Sys: s})
	return d
}

func TestIniConformance(t *testing.T) {
	s := &providertest.Stopper{}
	providertest.Run(t,
		providertest.Subject{Definition: withIni(stopped(s, func(string) error { return nil })),
			New: func(string, *providertest.Host) (providertest.Case, error) {
				dir := memoryDir(t)
				file := filepath.Join(dir, "a")
				put := func() error {
					return os.WriteFile(file, []byte("; head\nx = 1\n\n[b]\n  y: 2\n[empty]"),
						0o640)
				}
				c := providertest.Case{
					Attributes: map[string]any{"path": file, "section": "b", "setting": "password",
						"value": "s3cr3t"},
					Updates: []map[string]any{{"value": ""}, {"value": "other s3cr3t"},
						{"value": "[x] = ;#"}},
					Vanish: put, World: func() (string, error) { return world(dir) },
					Secrets: []string{"s3cr3t"}, Interrupt: s.Interrupt, Edges: []string{"*"},
				}
				for i := range 4 {
					c.Others = append(c.Others,
						map[string]any{"path": file, "section": []string{"-", "b"}[i%2],
							"setting": fmt.Sprint("n", i), "value": "v"})
				}
				return c, put()
			}})
}

func TestIniSetting(t *testing.T) {
	type attrs = map[string]any
	for _, tc := range []struct {
		why, before string
		attrs       attrs
		purged      bool
		want        string // the same as before: nothing is done
	}{
		{"at the end of its section, before what is blank", "[s]\na=1\n\n[t]\nb=2\n", attrs{},
			false, "[s]\na=1\nk = v\n\n[t]\nb=2\n"},
		{"of an empty section", "[s]\n\n[t]\n", attrs{}, false, "[s]\nk = v\n\n[t]\n"},
		{"of a last section without an end of line", "[s]\na=1", attrs{}, false, "[s]\na=1\nk = v\n"},
		{"in a section that is missing", "a=1\n", attrs{}, false, "a=1\n\n[s]\nk = v\n"},
		{"in an empty file", "", attrs{}, false, "[s]\nk = v\n"},
		{"before the first section", "# head\na=1\n\n[s]\n", attrs{"section": "-"}, false,
			"# head\na=1\nk = v\n\n[s]\n"},
		{"before the first section of a file without more", "[s]\n", attrs{"section": "-"}, false,
			"k = v\n[s]\n"},
		{"only in its section", "k=v\n[t]\nk=v\n", attrs{}, false, "k=v\n[t]\nk=v\n\n[s]\nk = v\n"},
		{"as it was written", "[s]\r\n\t k =\t old\r\nb=2\r\n", attrs{}, false,
			"[s]\r\n\t k =\t v\r\nb=2\r\n"},
		{"there already, however it is written", "[ s ]\n\tk=v  \n", attrs{}, false,
			"[ s ]\n\tk=v  \n"},
		{"an empty value", "[s]\n k=\n", attrs{}, false, "[s]\n k = v\n"},
		{"a name alone", "[s]\nk\n", attrs{}, false, "[s]\nk = v\n"},
		{"to an empty value", "[s]\nk = x\n", attrs{"value": ""}, false, "[s]\nk =\n"},
		{"what is a comment is not a setting", "[s]\n;k = v\n#k = v\n", attrs{}, false,
			"[s]\n;k = v\n#k = v\nk = v\n"},
		{"a value with separators in it", "[s]\nk = a=b:c\n", attrs{"value": "a=b:d"}, false,
			"[s]\nk = a=b:d\n"},
		{"with colons", "[s]\nk: old\n", attrs{"separator": ": "}, false, "[s]\nk: v\n"},
		{"with blanks", "k   old\nkk v\n", attrs{"separator": " ", "section": "-"}, false,
			"k   v\nkk v\n"},
		{"a section in two parts", "[s]\na=1\n[t]\n[s]\nk=1\n", attrs{}, false,
			"[s]\na=1\n[t]\n[s]\nk=v\n"},
		{"after a byte order mark", "\ufeff[s]\nk=1\n", attrs{}, false, "\ufeff[s]\nk=v\n"},
		{"purge", "[s]\na=1\nk = anything\nk=2\n", attrs{}, true, "[s]\na=1\n"},
		{"purge what is not there", "[t]\nk=v\n", attrs{}, true, "[t]\nk=v\n"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, IniSetting())
			g.write("a", tc.before, 0o640)
			all := attrs{"path": g.path("a"), "section": "s", "setting": "k", "value": "v"}
			for k, v := range tc.attrs {
				all[k] = v
			}
			r := g.resource(all)
			r.Purged = tc.purged
			if change, diffs, err := g.apply(r); err != nil ||
				(change != diff.NoChange) != (tc.before != tc.want) {
				t.Fatalf("%s %v, %v", change, diffs, err)
			}
			g.has(fmt.Sprintf("a -rw-r----- %q", tc.want))
			g.must(r, diff.NoChange)
		})
	}
}

// TestIniDialects sets or removes a setting of files in which lines continue values, or may.
func TestIniDialects(t *testing.T) {
	const unit = "[s]\nk=/bin/a \\\n  --b\n; between\nUser=x # y\n"
	for _, tc := range []struct {
		why, file, dialect, before string
		purged                     bool
		want                       string // or what the error names
	}{
		{"indented lines go with the value", "a.cfg", "", "[s]\nk =\n    a,\n    b\nz = 1\n", false,
			"[s]\nk = v\nz = 1\n"},
		{"and with the setting", "a.cfg", "", "[s]\nk =\n    a,\n    b\nz = 1\n", true,
			"[s]\nz = 1\n"},
		{"comments between them stay", "a.cfg", "", "[s]\nk = a\n    b\n    # why\n\n    c\nz=1\n",
			false, "[s]\nk = v\n    # why\n\nz=1\n"},
		{"settings below an empty one are its value", "tox.ini", "", "[s]\nk =\n  a=1\n  z=2\n", false,
			"[s]\nk = v\n"},
		{"lines that end in a backslash", "a.service", "", unit, false,
			"[s]\nk=v\n; between\nUser=x # y\n"},
		{"and with the setting", "/systemd/a.conf", "", unit, true, "[s]\n; between\nUser=x # y\n"},
		{"in another file, too", "smb.conf", "", "[s]\n  k = a \\\n  b\n  z = 1\n", false,
			"[s]\n  k = v\n  z = 1\n"},
		{"a value of several lines becomes one of one", "a.service", "",
			"[s]\nk=v \\\n   w\n", false, "[s]\nk=v\n"},
		{"no comment behind a value of a unit", "a.service", "", "[s]\nk=a ; b # c\n", false,
			"[s]\nk=v\n"},
		{"but of other files", "my.cnf", "", "[s]\nk=a   # c\n", false, "[s]\nk=v   # c\n"},
		{"a colour is none", "a.ini", "", "[s]\nk = #fff\n", false, "[s]\nk = v\n"},
		{"nor is a mark in quotation marks", "a.ini", "", "[s]\nk = \"a # b\" ; c\n", false,
			"[s]\nk = v ; c\n"},
		{"a value that is there with a comment", "a.ini", "", "[s]\nk = v ; c\n", false,
			"[s]\nk = v ; c\n"},
		{"equal indentation continues nothing", ".gitconfig", "", "[s]\n\ta = 1\n\tk = 2\n", false,
			"[s]\n\ta = 1\n\tk = v\n"},
		{"nor does any where blanks separate", "a.ini", "", "[s]\nk=1\n", false, "[s]\nk=v\n"},
		{"deeper, it is open", "my.cnf", "", "[s]\na = 1\n  k = 2\n", false, "line 3 may or may not"},
		{"also for the setting above", "my.cnf", "", "[s]\nk = 1\n  a = 2\n", true, "line 3 may or"},
		{"but not for others", "my.cnf", "", "[s]\na = 1\n  b = 2\nk = 3\n", false,
			"[s]\na = 1\n  b = 2\nk = v\n"},
		{"plain says it", "my.cnf", "plain", "[s]\na = 1\n  k = 2\n", false,
			"[s]\na = 1\n  k = v\n"},
		{"indented says it", "my.cnf", "indented", "[s]\nk = 1\n  a = 2\n", false, "[s]\nk = v\n"},
		{"a path with a last backslash is open", "win.ini", "", "[s]\na=C:\\d\\\nk=1\n", false,
			"line 3 may or may not"},
		{"and nothing is put in behind it", "win.ini", "", "[s]\na=C:\\d\\\n", false,
			"line 3 may or may not"},
		{"unless it is plain", "win.ini", "plain", "[s]\na=C:\\d\\\n", false,
			"[s]\na=C:\\d\\\nk = v\n"},
		{"nor in a unit", "a.service", "", "[s]\na=b \\\n", false, "not be read back"},
		{"lines of carriage returns", "mac.ini", "", "[s]\ra=1\rk=2\rz=3\r", false,
			"[s]\ra=1\rk=v\rz=3\r"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, IniSetting())
			dir := filepath.Dir(g.path(tc.file))
			g.do(os.MkdirAll(dir, 0o700))
			g.do(os.WriteFile(g.path(tc.file), []byte(tc.before), 0o600))
			attrs := map[string]any{"path": filepath.Clean(g.path(tc.file)), "section": "s",
				"setting": "k", "value": "v"}
			if tc.dialect != "" {
				attrs["dialect"] = tc.dialect
			}
			r := g.resource(attrs, tc.purged)
			_, _, err := g.apply(r)
			data, _ := os.ReadFile(g.path(tc.file))
			switch {
			case err != nil && (!strings.Contains(err.Error(), tc.want) ||
				string(data) != tc.before || provider.ClassOf(err) != provider.NeedsChange):
				t.Fatalf("%v\n%q", err, data)
			case err == nil && string(data) != tc.want:
				t.Fatalf("%q", data)
			case err == nil:
				g.must(r, diff.NoChange)
			}
		})
	}
}

func TestIniRefused(t *testing.T) {
	g := newRig(t, IniSetting())
	attrs := map[string]any{"path": g.path("a"), "section": "s", "setting": "k", "value": "v"}
	g.fails(g.resource(attrs), provider.Retryable, "set create")
	attrs["create"] = true
	g.must(g.resource(attrs), diff.Created)
	g.has(`a -rw-r--r-- "[s]\nk = v\n"`)
	g.write("a", "[s]\nk=v\nk=v\n", 0o600)
	g.fails(g.resource(attrs), provider.NeedsChange, "line 2, 3")
	g.write("a", "[s]\nk=\x00\n", 0o600)
	g.fails(g.resource(attrs), provider.NeedsChange, "not text")
	for name, bad := range map[string]any{"value": " v", "section": "a]", "setting": "a=b",
		"separator": "", "dialect": "windows"} {
		attrs := map[string]any{"path": "/x", "section": "s", "setting": "k", "value": "v",
			name: bad}
		if _, problems := g.typ.Check(attrs); len(problems) != 1 || problems[0].Attribute != name {
			t.Error(name, problems)
		}
	}
	for separator, name := range map[string]string{": ": "urn:x", ":": "a:", " ": "two words",
		"\t": "a\tb"} {
		attrs := map[string]any{"path": g.path("a"), "section": "s", "setting": name, "value": "v",
			"separator": separator}
		if _, problems := g.typ.Check(attrs); len(problems) != 1 ||
			problems[0].Attribute != "setting" {
			t.Error(name, problems)
		}
		g.write("a", "[s]\n", 0o600)
		full := map[string]any{"dialect": "auto", "create": false}
		for k, v := range attrs { // as if a reference stood for the name
			full[k] = v
		}
		g.fails(provider.Resource{ID: "x", Attributes: full}, provider.NeedsChange,
			"would not be found again")
		g.has(`a -rw------- "[s]\n"`)
	}
}
