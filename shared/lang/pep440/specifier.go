package pep440

import (
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// Specifier is a constraint, such as >=1.2.
type Specifier struct {
	op      string
	text    string // of the version
	version Version
	prefix  bool // the version ends with .*
}

// Set is a conjunction of constraints. The zero value allows every version.
type Set []Specifier

var (
	operator = pattern.Lazy(`^(===|~=|==|!=|<=|>=|<|>)[\s\x1c-\x1f]*(.*)$`)
	identity = pattern.Lazy(`^[^\s;)]*$`)
)

// ParseSpecifier parses one constraint.
func ParseSpecifier(text string) (Specifier, error) {
	bad := fault.New(fault.Invalid, "read the constraint",
		"%s is not a constraint of versions (PEP 440), such as >=1.2, ~=1.2.3 or ==1.*",
		strconv.Quote(text))
	m := operator().FindStringSubmatch(strings.TrimFunc(text, isSpace))
	if m == nil {
		return Specifier{}, bad
	}
	s := Specifier{op: m[1], text: m[2]}
	if s.op == "===" {
		s.version, _ = Parse(s.text) // it may be any text
		if !identity().MatchString(s.text) {
			return Specifier{}, bad
		}
		return s, nil
	}
	version := s.text
	if s.op == "==" || s.op == "!=" {
		version, s.prefix = strings.CutSuffix(version, ".*")
	}
	v, err := Parse(version)
	if err != nil || v.local != nil && s.op != "==" && s.op != "!=" {
		return Specifier{}, bad
	}
	if s.prefix && (v.IsPrerelease() || v.post != "" || v.local != nil) ||
		s.op == "~=" && len(v.release) < 2 {
		return Specifier{}, bad
	}
	s.version = v
	return s, nil
}

// ParseSet parses constraints separated by commas; the empty text allows every version.
func ParseSet(text string) (Set, error) {
	var out Set
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimFunc(part, isSpace); part == "" {
			continue
		}
		s, err := ParseSpecifier(part)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// String returns the constraint as written, without white space.
func (s Specifier) String() string { return s.op + s.text }

// Version returns the text of the version.
func (s Specifier) Version() string { return s.text }

// Contains reports whether a version meets the constraint. It does not exclude pre-releases.
func (s Specifier) Contains(v Version) bool {
	w := s.version
	switch s.op {
	case "===":
		return strings.EqualFold(v.String(), s.text)
	case "==":
		return s.equal(v)
	case "!=":
		return !s.equal(v)
	case ">=":
		return v.Compare(w) >= 0
	case "<=":
		return v.comparePublic(w) <= 0
	case "~=":
		return v.Compare(w) >= 0 && v.epoch == w.epoch &&
			starts(v.release, w.release[:len(w.release)-1])
	case ">":
		return v.comparePublic(w) > 0 && !(w.dev == "" && w.post == "" && v.sameRelease(w))
	}
	if !w.IsPrerelease() { // < also excludes pre-releases of the given version
		w.dev, w.local = "0", nil
	}
	return v.Compare(w) < 0
}

// equal reports whether a version meets == of the constraint.
func (s Specifier) equal(v Version) bool {
	switch {
	case s.prefix:
		return v.epoch == s.version.epoch && starts(v.release, s.version.release)
	case s.version.local == nil:
		return v.comparePublic(s.version) == 0
	}
	return v.Compare(s.version) == 0
}

// sameRelease reports whether two versions have the same release and pre-release.
func (v Version) sameRelease(w Version) bool {
	return v.epoch == w.epoch && slices.Equal(trim(v.release), trim(w.release)) &&
		v.pre == w.pre && v.preN == w.preN
}

// starts reports whether a release, padded with zeros, starts with the given numbers.
func starts(release, with []number) bool {
	for i, n := range with {
		if i < len(release) && release[i] != n || i >= len(release) && n != "0" {
			return false
		}
	}
	return true
}

// prereleases reports whether the constraint names a pre-release, which allows pre-releases.
func (s Specifier) prereleases() bool {
	return s.op != "!=" && !s.prefix && s.version.IsPrerelease()
}

// String returns the constraints separated by commas.
func (s Set) String() string {
	parts := make([]string, len(s))
	for i, one := range s {
		parts[i] = one.String()
	}
	return strings.Join(parts, ",")
}

// Contains reports whether a version meets all constraints. It does not exclude pre-releases.
func (s Set) Contains(v Version) bool {
	return !slices.ContainsFunc(s, func(one Specifier) bool { return !one.Contains(v) })
}

// Filter returns the versions that meet the constraints, in order. It includes pre-releases if pre
// is true, if a constraint names one, or if no other version meets the constraints.
func (s Set) Filter(versions []Version, pre bool) []Version {
	pre = pre || slices.ContainsFunc(s, Specifier.prereleases)
	var all, finals []Version
	for _, v := range versions {
		if !s.Contains(v) {
			continue
		}
		all = append(all, v)
		if !v.IsPrerelease() {
			finals = append(finals, v)
		}
	}
	if pre || finals == nil {
		return all
	}
	return finals
}

// Best returns the highest version that Filter returns; false if there is none.
func (s Set) Best(versions []Version, pre bool) (Version, bool) {
	found := s.Filter(versions, pre)
	if len(found) == 0 {
		return Version{}, false
	}
	return slices.MaxFunc(found, Version.Compare), true
}
