package modtool

import (
	"strings"
	"testing"

	"southbound/shared/lang/metadata"
	"southbound/shared/lang/pep440"
)

// TestSetOption changes one option and nothing else.
func TestSetOption(t *testing.T) {
	t.Parallel()
	const text = "# first\n[metadata]\nname = x\nversion = 1.0 \n\n[options]\nrequires =\n    a\n" +
		"    # b\n    c\n\nzip = no\n"
	for _, c := range []struct{ section, name, value, want string }{
		{"metadata", "version", "2.0", strings.Replace(text, "version = 1.0 ", "version = 2.0", 1)},
		{"metadata", "license", "MIT", strings.Replace(text, "version = 1.0 \n",
			"version = 1.0 \nlicense = MIT\n", 1)},
		{"options", "requires", "\n    d",
			strings.Replace(text, "requires =\n    a\n    # b\n    c\n", "requires = \n    d\n",
				1)},
		{"options", "zip", "", strings.Replace(text, "zip = no", "zip =", 1)},
		{"egg_info", "tag_build", "dev0", text + "\n[egg_info]\ntag_build = dev0\n"},
	} {
		got := string(setOption([]byte(text), c.section, c.name, c.value))
		if got != c.want {
			t.Errorf("%s.%s\n got %q\nwant %q", c.section, c.name, got, c.want)
		}
	}
}

// TestSetRequires changes the list and nothing else.
func TestSetRequires(t *testing.T) {
	t.Parallel()
	for before, want := range map[string]string{
		"name: x # one\n": "name: x # one\nrequires:\n  - a >=1\n",
		"name: x\nrequires:\n- b\n- c # why\n\n# z\nz: 1": "name: x\nrequires:\n  - a >=1\n\n" +
			"# z\nz: 1",
		"requires: [b,\n  c]\nname: x\n": "requires:\n  - a >=1\nname: x\n",
		"requires: b\nname: x\n":         "requires:\n  - a >=1\nname: x\n",
	} {
		got, err := setRequires([]byte(before), []string{"a >=1"})
		if err != nil || string(got) != want {
			t.Errorf("%q\n got %q, %v\nwant %q", before, got, err, want)
		}
	}
}

// TestNext holds which version follows, as the reference decides it.
func TestNext(t *testing.T) {
	t.Parallel()
	parse := func(s string) pep440.Version {
		v, err := pep440.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		version, released string
		by                Bump
		want              string
	}{
		{"1.2.3.dev0", "1.2.2", Patch, "1.2.3.dev0"},
		{"1.2.3.dev0", "1.2.2", Minor, "1.3.0.dev0"},
		{"1.2.3.dev0", "1.2.2", Major, "2.0.0.dev0"},
		{"1.3.0.dev0", "1.2.2", Minor, "1.3.0.dev0"},
		{"1.2.2", "1.2.2", Patch, "1.2.3.dev0"},
		{"1.2.3", "1.2.2", Patch, "1.2.4.dev0"},
		{"0.1", "", Patch, "0.1.1.dev0"},
		{"1.2.3.4.dev0", "1.2.3.3", Revision, "1.2.3.4.dev0"},
		{"1.2.3", "1.2.3", Revision, "1.2.3.1.dev0"},
		{"1.0.0", "1.0.0 1.0.1", Minor, ""},
	} {
		var released []pep440.Version
		for _, s := range strings.Fields(c.released) {
			released = append(released, parse(s))
		}
		got, err := next(parse(c.version), released, c.by)
		if err != nil {
			got = pep440.Version{}
		}
		if got.String() != c.want {
			t.Errorf(
				"%s after %q, %d: %s, want %s (%v)",
				c.version,
				c.released,
				c.by,
				got,
				c.want,
				err,
			)
		}
	}
}

// TestNetrc finds the name and password of a machine.
func TestNetrc(t *testing.T) {
	t.Parallel()
	const text = "machine a.example login ann password one\nmachine b.example\n\tlogin bob\n" +
		"\tpassword two\ndefault login x password y\n"
	for machine, want := range map[string]string{"a.example": "ann one", "b.example": "bob two",
		"c.example": "x y"} {
		name, password, ok := parseNetrc(text, machine)
		if got := name + " " + password; got != want || !ok {
			t.Errorf("%s: %s", machine, got)
		}
	}
	if _, _, ok := parseNetrc("machine a login x password y", "b"); ok {
		t.Error("a password for another machine")
	}
}

// TestHide takes passwords out of what programs say.
func TestHide(t *testing.T) {
	t.Parallel()
	const text = "Looking in indexes: https://ann:s3cret@h/simple, git+ssh://bob:x@h/y and " +
		"http://h/z"
	if got := hide(text); got != "Looking in indexes: https://h/simple, git+ssh://h/y and "+
		"http://h/z" {
		t.Error(got)
	}
}

// FuzzSetRequires holds that what is written can be read, and is what was meant.
func FuzzSetRequires(f *testing.F) {
	f.Add("name: x\nrequires:\n- b\n")
	f.Add("requires: [a]\nname: x")
	f.Fuzz(func(t *testing.T, text string) {
		if _, _, err := metadata.ReadProject("project.yml", []byte(text)); err != nil ||
			strings.Contains(text, "---") {
			return
		}
		after, err := setRequires([]byte(text), []string{"net ~= 1.0"})
		if err != nil {
			return
		}
		p, _, err := metadata.ReadProject("project.yml", after)
		if err != nil || len(p.Requires) != 1 {
			t.Errorf("%q became %q: %v", text, after, err)
		}
	})
}
