package modtool

import (
	"strings"
	"testing"

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
			strings.Replace(text, "requires =\n    a\n    # b\n    c\n", "requires =\n    d\n",
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
