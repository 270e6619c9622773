package fs

import (
	"fmt"
	"os"
	"path/filepath"
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
		{"of a last section without an end of line", "[s]\na=1", attrs{}, false, "[s]\na=1\nk = v"},
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
		"separator": ""} {
		attrs := map[string]any{"path": "/x", "section": "s", "setting": "k", "value": "v",
			name: bad}
		if _, problems := g.typ.Check(attrs); len(problems) != 1 || problems[0].Attribute != name {
			t.Error(name, problems)
		}
	}
}
