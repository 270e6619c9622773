package provider

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Needs are the requirements of a provider; with the zero value it suits everywhere.
type Needs struct {
	Commands []string // programs that are in PATH, or at that absolute path
	Files    []string // absolute paths that must exist
	// Facts of the machine, by name; see MachineFacts. A value is a list of words joined by |
	// ("debian|ubuntu"), or a comparison of versions (">= 11", "< 3"). If a fact is a list of
	// words, one of them has to match.
	Facts map[string]string
	// Transport, if not nil, reports whether the provider can use a connection, and Over names such
	// connections for people.
	Transport func(transport any) bool
	Over      string
	// Check, if not nil, checks any other requirement; it returns the missing one, "" if all are
	// met. It changes nothing.
	Check func(ctx *Context) string
	// Machine returns the facts; nil: MachineFacts.
	Machine func() map[string]string
}

// check returns the error of the declaration, "" if there is none.
func (n *Needs) check() string {
	for _, name := range slices.Sorted(maps.Keys(n.Facts)) {
		if op, version := comparison(n.Facts[name]); op != "" && !versionLike(version) {
			return fmt.Sprintf("fact %s: %q compares with no version", name, n.Facts[name])
		}
	}
	for _, path := range n.Files {
		if !filepath.IsAbs(path) {
			return fmt.Sprintf("file %q is not an absolute path", path)
		}
	}
	return ""
}

// String describes the requirements.
func (n *Needs) String() string {
	var parts []string
	if len(n.Commands) > 0 {
		parts = append(parts, "has "+strings.Join(n.Commands, ", "))
	}
	for _, path := range n.Files {
		parts = append(parts, "has "+path)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Facts)) {
		parts = append(parts, name+" is "+n.Facts[name])
	}
	if n.Transport != nil {
		parts = append(parts, "over "+n.Over)
	}
	if len(parts) == 0 {
		return "it needs nothing"
	}
	return strings.Join(parts, ", ")
}

// lack returns the requirement that is missing here, "" if all are met.
func (n *Needs) lack(ctx *Context) string {
	if n.Transport != nil && !n.Transport(ctx.Transport()) {
		return "the agent is not connected over " + n.Over
	}
	for _, command := range n.Commands {
		if _, err := exec.LookPath(command); err != nil {
			return "there is no command " + command
		}
	}
	for _, path := range n.Files {
		if _, err := os.Stat(path); err != nil {
			return "there is no " + path
		}
	}
	if len(n.Facts) > 0 {
		facts := n.Machine
		if facts == nil {
			facts = MachineFacts
		}
		known := facts()
		for _, name := range slices.Sorted(maps.Keys(n.Facts)) {
			if have := known[name]; !fits(have, n.Facts[name]) {
				return fmt.Sprintf("%s is %q, not %s", name, have, n.Facts[name])
			}
		}
	}
	if n.Check != nil {
		return n.Check(ctx)
	}
	return ""
}

// fits reports whether a fact has the required value. An unknown fact never has.
func fits(have, want string) bool {
	if have == "" {
		return false
	}
	if op, version := comparison(want); op != "" {
		c := CompareVersions(have, version)
		switch op {
		case ">=":
			return c >= 0
		case "<=":
			return c <= 0
		case ">":
			return c > 0
		default:
			return c < 0
		}
	}
	for word := range strings.FieldsSeq(have) {
		for choice := range strings.SplitSeq(want, "|") {
			if word == strings.TrimSpace(choice) {
				return true
			}
		}
	}
	return false
}

func comparison(want string) (op, version string) {
	for _, op := range []string{">=", "<=", ">", "<"} {
		if rest, ok := strings.CutPrefix(want, op); ok {
			return op, strings.TrimSpace(rest)
		}
	}
	return "", ""
}

func versionLike(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// CompareVersions compares versions part by part: runs of digits as numbers, other runs as text; a
// longer version is greater. It returns -1, 0 or 1. Package managers have rules of their own, which
// their providers follow.
func CompareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		var numeric bool
		x, y, a, b, numeric = nextParts(a, b)
		if numeric {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if len(x) != len(y) {
				return sign(len(x) - len(y))
			}
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

func nextParts(a, b string) (x, y, restA, restB string, numeric bool) {
	numeric = isDigit(a) && isDigit(b)
	cut := func(s string) int {
		if s == "" {
			return 0
		}
		n := 1
		for n < len(s) && isDigit(s[n:]) == isDigit(s) {
			n++
		}
		return n
	}
	i, j := cut(a), cut(b)
	return a[:i], b[:j], a[i:], b[j:], numeric
}

func isDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }
