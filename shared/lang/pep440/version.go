// Package pep440 holds versions and constraints of versions as Python's packages have them (PEP
// 440). It does what the library packaging does, 26.3: the tests hold it against that.
package pep440

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// number is a number of any size: its digits without leading zeros.
type number string

func newNumber(digits string) number {
	if n := strings.TrimLeft(digits, "0"); n != "" {
		return number(n)
	}
	return "0"
}

func (n number) compare(m number) int {
	return cmp.Or(cmp.Compare(len(n), len(m)), strings.Compare(string(n), string(m)))
}

// Version is a version. The zero value is none; Parse makes them.
type Version struct {
	epoch   number
	release []number
	pre     string // "a", "b", "rc"; empty if it is not a pre-release of this kind
	preN    number
	post    number // empty if it is not a post-release
	dev     number // empty if it is not a development release
	local   []string
}

// parts of a version, without the v and the white space around it.
var versionPattern = pattern.Lazy(`(?i)^v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]*))?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// kinds are the names of pre-releases, as they are written.
func kind(name string) string {
	switch name = strings.ToLower(name); name {
	case "alpha":
		return "a"
	case "beta":
		return "b"
	case "c", "pre", "preview":
		return "rc"
	}
	return name
}

// isSpace reports what Python takes for white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Parse reads a version. The error, of kind fault.Invalid, says that the text is not one.
func Parse(text string) (Version, error) {
	m := versionPattern().FindStringSubmatch(strings.TrimFunc(text, isSpace))
	if m == nil {
		return Version{}, fault.New(
			fault.Invalid,
			"read the version",
			"%s is not a version (PEP 440), such as 1.2.3, 1.2.3.dev0 or 2.0rc1",
			strconv.Quote(text),
		)
	}
	v := Version{epoch: newNumber(m[1])}
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, newNumber(part))
	}
	if m[3] != "" {
		v.pre, v.preN = kind(m[3]), newNumber(m[4])
	}
	if m[5] != "" || m[6] != "" {
		v.post = newNumber(m[5] + m[7])
	}
	if m[8] != "" {
		v.dev = newNumber(m[9])
	}
	if m[10] != "" {
		v.local = strings.FieldsFunc(strings.ToLower(m[10]), func(r rune) bool {
			return strings.ContainsRune("-_.", r)
		})
		for i, part := range v.local {
			if isNumber(part) {
				v.local[i] = string(newNumber(part))
			}
		}
	}
	return v, nil
}

func isNumber(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// IsZero reports whether there is no version.
func (v Version) IsZero() bool { return v.release == nil }

// String returns the version in its normal form; "" for the zero value.
func (v Version) String() string {
	if v.IsZero() {
		return ""
	}
	s := v.base()
	if v.pre != "" {
		s += v.pre + string(v.preN)
	}
	if v.post != "" {
		s += ".post" + string(v.post)
	}
	if v.dev != "" {
		s += ".dev" + string(v.dev)
	}
	if v.local != nil {
		s += "+" + strings.Join(v.local, ".")
	}
	return s
}

func (v Version) base() string {
	var parts []string
	for _, n := range v.release {
		parts = append(parts, string(n))
	}
	s := strings.Join(parts, ".")
	if v.epoch != "0" {
		s = string(v.epoch) + "!" + s
	}
	return s
}

// Base returns the version without what makes it a pre-, post- or development release.
func (v Version) Base() Version { return Version{epoch: v.epoch, release: v.release} }

// Tag returns what is after the base, such as dev0, rc1 or post2, without a dot in front; of
// several parts the last.
func (v Version) Tag() string {
	switch {
	case v.dev != "":
		return "dev" + string(v.dev)
	case v.pre != "":
		return v.pre + string(v.preN)
	case v.post != "":
		return "post" + string(v.post)
	}
	return ""
}

// IsPrerelease reports whether it is an alpha, beta, candidate or development release.
func (v Version) IsPrerelease() bool { return v.pre != "" || v.dev != "" }

// IsDev reports whether it is a development release.
func (v Version) IsDev() bool { return v.dev != "" }

// HasEpoch reports whether it has an epoch other than 0.
func (v Version) HasEpoch() bool { return v.epoch != "0" }

// Release returns a number of the release, 0 where there is none; false if it is too large.
func (v Version) Release(i int) (int, bool) {
	if i >= len(v.release) {
		return 0, true
	}
	n, err := strconv.Atoi(string(v.release[i]))
	return n, err == nil
}

// Len returns how many numbers the release has.
func (v Version) Len() int { return len(v.release) }

// Compare returns whether v is before (-1), the same as (0), or after (1) another version.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.comparePublic(w), compareLocal(v.local, w.local))
}

// comparePublic compares without the local parts.
func (v Version) comparePublic(w Version) int {
	return cmp.Or(
		v.epoch.compare(w.epoch),
		slices.CompareFunc(trim(v.release), trim(w.release), number.compare),
		cmp.Compare(v.phase(), w.phase()),
		v.preN.compare(w.preN),
		comparePost(v.post, w.post),
		compareDev(v.dev, w.dev),
	)
}

// trim returns a release without the zeros at its end.
func trim(release []number) []number {
	for len(release) > 0 && release[len(release)-1] == "0" {
		release = release[:len(release)-1]
	}
	return release
}

// phase orders the development of a release before its pre-releases, and those before the release.
func (v Version) phase() string {
	switch {
	case v.pre != "":
		return v.pre
	case v.post == "" && v.dev != "":
		return ""
	}
	return "z"
}

// comparePost orders what is not a post-release first.
func comparePost(a, b number) int { return a.compare(b) } // the empty one is the shortest

// compareDev orders what is not a development release last.
func compareDev(a, b number) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	return a.compare(b)
}

// compareLocal orders nothing first, texts before numbers, and a start before what goes on.
func compareLocal(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		m, n := isNumber(x), isNumber(y)
		switch {
		case m && n:
			return number(x).compare(number(y))
		case m:
			return 1
		case n:
			return -1
		}
		return strings.Compare(x, y)
	})
}
