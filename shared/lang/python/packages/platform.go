package packages

import (
	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// Platform is the platform of a function.
type Platform struct {
	// Architecture is arm64 or x86_64, as Lambda names them.
	Architecture string `json:"architecture"`
	// Python is the version of the interpreter, such as 3.13.
	Python string `json:"python"`
}

// glibc is the oldest C library of Lambda's Python runtimes from 3.12, which are Amazon Linux 2023.
const glibc = "manylinux_2_34"

var versionPattern = pattern.Lazy(`^3\.(1[2-9]|[2-9][0-9])$`)

// tag returns the name of the platform for uv.
func (p Platform) tag() string {
	if p.Architecture == "arm64" {
		return "aarch64-" + glibc
	}
	return "x86_64-" + glibc
}

// String returns the platform as people name it.
func (p Platform) String() string { return "Python " + p.Python + " on linux " + p.Architecture }

// Check returns a Usage fault if Lambda has no such platform.
func (p Platform) Check() error {
	switch {
	case p.Architecture != "arm64" && p.Architecture != "x86_64":
		return fault.New(fault.Usage, doing, "there is no architecture %q", p.Architecture).
			WithHint("use arm64 or x86_64")
	case !versionPattern().MatchString(p.Python):
		return fault.New(fault.Usage, doing, "%q is not a version of Python in functions",
			p.Python).WithHint("use 3.12 or newer, such as 3.13")
	}
	return nil
}
