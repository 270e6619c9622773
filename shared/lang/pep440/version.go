// Package pep440 implements versions and version constraints of Python packages (PEP 440). Its
// reference is the library packaging 26.3: the tests compare both.
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

// number is an unsigned integer of any size: its digits without leading zeros.
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

// Version is a version. The zero value is no version; Parse returns versions.
type Version struct {
	epoch   number
	release []number
	pre     string // "a", "b" or "rc"; "" if there is no such part
	preN    number
	post    number // "" if it is not a post-release
	dev     number // "" if it is not a development release
	local   []string
}

// versionPattern matches a version without surrounding white space.
var versionPattern = pattern.Lazy(`(?i)^v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)` +
	`(?:[-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?([0-9]*))?` +
	`(?:-([0-9]+)|[-_.]?(post|rev|r)[-_.]?([0-9]*))?` +
	`(?:[-_.]?(dev)[-_.]?([0-9]*))?` +
	`(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?$`)

// kind returns the normal form of a pre-release name.
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

// isSpace reports whether Python treats a character as white space.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// Parse parses a version. Its error, of kind fault.Invalid, states that the text is not a version.
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

// IsZero reports whether this is the zero value.
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

// Base returns the version without its pre-, post-, development and local parts.
func (v Version) Base() Version { return Version{epoch: v.epoch, release: v.release} }

// Tag returns the part after the base without its dot, such as dev0, rc1 or post2. Of several parts
// it returns the development part, else the pre-release.
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

// IsPrerelease reports whether it is an alpha, beta, release candidate or development release.
func (v Version) IsPrerelease() bool { return v.pre != "" || v.dev != "" }

// IsDev reports whether it is a development release.
func (v Version) IsDev() bool { return v.dev != "" }

// HasEpoch reports whether it has an epoch other than 0.
func (v Version) HasEpoch() bool { return v.epoch != "0" }

// Release returns a number of the release, 0 if it is omitted; false if it does not fit an int.
func (v Version) Release(i int) (int, bool) {
	if i >= len(v.release) {
		return 0, true
	}
	n, err := strconv.Atoi(string(v.release[i]))
	return n, err == nil
}

// Len returns the number of numbers in the release.
func (v Version) Len() int { return len(v.release) }

// Compare returns -1, 0 or 1 if v is less than, equal to, or greater than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.comparePublic(w), compareLocal(v.local, w.local))
}

// comparePublic compares versions without their local parts.
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

// trim returns a release without trailing zeros.
func trim(release []number) []number {
	for len(release) > 0 && release[len(release)-1] == "0" {
		release = release[:len(release)-1]
	}
	return release
}

// phase orders development releases before pre-releases, and pre-releases before the release.
func (v Version) phase() string {
	switch {
	case v.pre != "":
		return v.pre
	case v.post == "" && v.dev != "":
		return ""
	}
	return "z"
}

// comparePost orders versions without a post-release first.
func comparePost(a, b number) int { return a.compare(b) } // "" is the shortest number

// compareDev orders versions without a development release last.
func compareDev(a, b number) int {
	if a == "" || b == "" {
		return cmp.Compare(len(b), len(a))
	}
	return a.compare(b)
}

// compareLocal orders a missing part first, texts before numbers, and a prefix before longer parts.
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
