// Package packages finds, checks and installs the packages of Terraform providers, and caches the
// schemas of installed ones.
//
// See docs/design/terraform.md.
package packages

import (
	"runtime"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// DefaultHost is the registry of addresses that name none. The registry of HashiCorp allows
// downloads for use with Terraform only, so it is used if an address names it.
const DefaultHost = "registry.opentofu.org"

// Address identifies a provider. All parts are in lower case.
type Address struct {
	Host      string // registry.opentofu.org
	Namespace string // cyrilgdn
	Type      string // postgresql
}

// String returns host/namespace/type.
func (a Address) String() string { return a.Host + "/" + a.Namespace + "/" + a.Type }

var (
	partForm = pattern.Lazy(`^[0-9a-z](?:[0-9a-z_-]{0,62}[0-9a-z])?$`)
	hostForm = pattern.Lazy(
		`^[0-9a-z](?:[0-9a-z-]{0,62}[0-9a-z])?(?:\.[0-9a-z](?:[0-9a-z-]{0,62}[0-9a-z])?)*(?::[0-9]{1,5})?$`)
)

// ParseAddress reads NAMESPACE/TYPE or HOST/NAMESPACE/TYPE. It returns Invalid for anything else.
func ParseAddress(s string) (Address, error) {
	parts := strings.Split(strings.ToLower(s), "/")
	if len(parts) == 2 {
		parts = append([]string{DefaultHost}, parts...)
	}
	bad := func(format string, args ...any) *fault.Error {
		return fault.New(fault.Invalid, "read address of a provider", format, args...)
	}
	if len(parts) != 3 {
		return Address{}, bad("%.200q does not have the form NAMESPACE/TYPE", s).
			WithHint("write hashicorp/random, for example")
	}
	a := Address{Host: parts[0], Namespace: parts[1], Type: parts[2]}
	switch short, long := strings.CutPrefix(a.Type, "terraform-provider-"); {
	case len(a.Host) > 253 || !hostForm().MatchString(a.Host):
		return Address{}, bad("%.200q is not the name of a host", a.Host)
	case !partForm().MatchString(a.Namespace):
		return Address{}, bad("%.200q is not a namespace", a.Namespace)
	case !partForm().MatchString(a.Type):
		return Address{}, bad("%.200q is not the name of a provider", a.Type)
	case long:
		return Address{}, bad("%q is the name of a repository", a.Type).
			WithHint("write %s/%s", a.Namespace, short)
	}
	return a, nil
}

// Platform returns the platform of this program, such as linux_amd64.
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

var platformForm = pattern.Lazy(`^[0-9a-z]{1,32}_[0-9a-z]{1,32}$`)

// Newest returns the newest of the versions that meets a constraint such as "~> 3.6" or
// ">= 1.2, < 2.0"; an empty constraint is met by every release. A prerelease is returned only if the
// constraint names it exactly. Newest returns Invalid if the constraint is malformed, and NotFound if
// no version meets it.
func Newest(available []string, constraint string) (string, error) {
	allowed := versions.Released
	if constraint != "" {
		var err error
		if allowed, err = versions.MeetingConstraintsStringRuby(constraint); err != nil {
			return "", fault.New(fault.Invalid, "read version constraint", "%.100q: %v", constraint, err).
				WithHint(`write "~> 3.6" or ">= 1.2, < 2.0", for example`)
		}
	}
	var found versions.List
	for _, s := range available {
		if v, err := versions.ParseVersion(s); err == nil && allowed.Has(v) {
			found = append(found, v)
		}
	}
	if len(found) == 0 {
		return "", fault.New(fault.NotFound, "choose version", "no version meets %q", constraint).
			WithHint("%s", newestHint(available))
	}
	return found.Newest().String(), nil
}

func newestHint(available []string) string {
	var all versions.List
	for _, s := range available {
		if v, err := versions.ParseVersion(s); err == nil {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return "check the address"
	}
	return "the newest version is " + all.Newest().String()
}

// validVersion reports whether s is a version in its canonical form, so that it can be a part of a
// path.
func validVersion(s string) bool {
	v, err := versions.ParseVersion(s)
	return err == nil && v.String() == s && len(s) < 100 &&
		!slices.Contains([]string{".", ".."}, s) && !strings.ContainsAny(s, `/\`)
}
