package pep440_test

import (
	"testing"

	"southbound/shared/lang/pep440"
)

func parse(t *testing.T, text string) pep440.Version {
	t.Helper()
	v, err := pep440.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestParts holds what the tools of modules take a version apart into.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, normal, base, tag string
		third                   int
	}{
		{"1.2.3", "1.2.3", "1.2.3", "", 3},
		{"0.1dev0", "0.1.dev0", "0.1", "dev0", 0},
		{"1.0-RC.2", "1.0rc2", "1.0", "rc2", 0},
		{"1.2-4", "1.2.post4", "1.2", "post4", 0},
		{"1!2.0.9", "1!2.0.9", "1!2.0.9", "", 9},
		{"1.0a1.dev3+here.01", "1.0a1.dev3+here.1", "1.0", "dev3", 0},
	} {
		v := parse(t, c.text)
		third, _ := v.Release(2)
		if v.String() != c.normal || v.Base().String() != c.base || v.Tag() != c.tag ||
			third != c.third {
			t.Errorf(
				"%s: %s, base %s, tag %s, third number %d",
				c.text,
				v,
				v.Base(),
				v.Tag(),
				third,
			)
		}
	}
}

// TestBest chooses as pip does: the highest, and pre-releases only where they are asked for or
// nothing else is there.
func TestBest(t *testing.T) {
	t.Parallel()
	var versions []pep440.Version
	for _, text := range []string{"1.0", "1.2", "1.1", "2.0.dev1", "2.0rc1", "0.9"} {
		versions = append(versions, parse(t, text))
	}
	for _, c := range []struct {
		set  string
		pre  bool
		want string
	}{
		{"", false, "1.2"}, {"", true, "2.0rc1"}, {"<1.2", false, "1.1"}, {">1.2", false, "2.0rc1"},
		{">=2.0.dev0", false, "2.0rc1"}, {"~=1.0", true, "1.2"}, {"<2", true, "1.2"},
		{">3", true, ""},
	} {
		set, err := pep440.ParseSet(c.set)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if v, ok := set.Best(versions, c.pre); ok {
			got = v.String()
		}
		if got != c.want {
			t.Errorf("%q, pre %t: %s, want %s", c.set, c.pre, got, c.want)
		}
	}
}

// FuzzVersion holds that the normal form of a version is that version, and that order is one.
func FuzzVersion(f *testing.F) {
	for _, s := range []string{"1.0", "1!2.0.post3.dev4+a.1", "v1.0-rc.1", "1.0.0", ""} {
		f.Add(s, "1.0", ">=1.0,!=1.1.*")
	}
	f.Fuzz(func(t *testing.T, a, b, set string) {
		s, setErr := pep440.ParseSet(set)
		v, err := pep440.Parse(a)
		if err != nil {
			return
		}
		again, err := pep440.Parse(v.String())
		if err != nil || again.Compare(v) != 0 || again.String() != v.String() {
			t.Errorf("%q is %s, and that is %s (%v)", a, v, again, err)
		}
		if w, err := pep440.Parse(b); err == nil && v.Compare(w) != -w.Compare(v) {
			t.Errorf("%s and %s are in no order", v, w)
		}
		if setErr == nil && len(s.Filter([]pep440.Version{v}, true)) > 0 != s.Contains(v) {
			t.Errorf("%s: Filter and Contains differ on %s", set, v)
		}
	})
}
