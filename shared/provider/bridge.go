package provider

import (
	"context"
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// Bridge serves types that the program was not built with. Their declarations are data: a lock file
// names them, and a version carries them; see docs/design/types.md. All their names begin with the
// name of the bridge, which no type of the program may use.
type Bridge struct {
	// Name is the first part of the names: "tf" for tf::postgresql::Role. Small letters and digits.
	Name string
	// Handler returns the handler of a type, from its declaration; Metadata has the data of the
	// author of the declaration for it. An error is the reason why the bridge cannot serve the type, and
	// makes the resource unavailable. It is called for every run, by several goroutines, so it must
	// be cheap, and return handlers that share their state. The handler must not be a Generator; its
	// other optional interfaces work as those of any handler.
	Handler func(t schema.Type) (Handler, error)
	// Theirs, if not nil, returns the name of a type in the other ecosystem, by which people may look the
	// type up; "": it has none.
	Theirs func(t schema.Type) string
	// Packages, if not nil, finds and installs the packages that the types come from, for
	// `southbound provider`.
	Packages Packages
	// Check, if not nil, checks an agent and its resources for `southbound validate`, after their
	// declarations were checked, with the programs that are installed on this machine. It starts and changes
	// nothing. A problem names a resource and an attribute, or neither: then it is one of the agent.
	// Warnings do not make documents invalid.
	Check func(ctx context.Context, a BridgedAgent) (problems, warnings diag.Problems)
}

// BridgedAgent is an agent with those of its resources that have types of a bridge.
type BridgedAgent struct {
	Name      string
	Options   map[string]any // of the transport; secrets are references
	Resources []BridgedResource
}

// BridgedResource is a resource of a declared type.
type BridgedResource struct {
	ID         string
	Type       schema.Type
	Attributes map[string]any // with references
}

// Packages are the packages of another ecosystem that a bridge can use. Its methods may be called
// concurrently.
type Packages interface {
	// Add installs the newest version of a package that meets a constraint, and returns it with its
	// types. A package that is installed already is left unchanged. Errors are faults: NotFound if
	// there is no such package or version, Refused if its content has none of the allowed hashes.
	Add(ctx context.Context, q PackageQuery) (Package, error)
	// Verify returns nil if the package is installed here and has one of its hashes. Else the kind of
	// the fault is NotFound or Refused.
	Verify(ctx context.Context, p Package) error
}

// PackageQuery selects a package.
type PackageQuery struct {
	Address    string // such as cyrilgdn/postgresql
	Name       string // by which documents use it; "": the last part of the address
	Constraint string // on the version, such as "~> 3.6"; "": any release
	From       string // a folder or an address to take it from; "": where its address leads
	// Locked is the version in the lock file, and Hashes its hashes: if that version is selected,
	// the content must have one of them. "": none.
	Locked string
	Hashes []string
}

// Package is an installed package.
type Package struct {
	Name       string
	Address    string // complete
	Version    string
	Constraint string
	Hashes     []string // for all platforms, as far as the source states them; sorted
	Signer     string   // the key that signed the hashes; "": they are unsigned
	Types      []schema.Type
	// Problems are types that cannot be represented. The others are usable.
	Problems diag.Problems
}

// Bridges returns the bridges of definitions by their names.
func Bridges(of []Definition) map[string]*Bridge {
	out := map[string]*Bridge{}
	for i := range of {
		if b := of[i].Bridge; b != nil {
			out[b.Name] = b
		}
	}
	return out
}

// untyped reports whether a definition has a bridge or a transport, and no type.
func (d *Definition) untyped() bool {
	if d.Type.Name != "" {
		return false
	}
	return d.Bridge != nil || d.Transport != nil && d.Handler == nil && len(d.Type.Attributes) == 0
}

// wrongBridges returns the problems of the bridges of definitions.
func wrongBridges(of []Definition) diag.Problems {
	var problems diag.Problems
	seen := map[string]*Bridge{}
	for i := range of {
		b := of[i].Bridge
		if b == nil {
			continue
		}
		bad := func(hint, format string, args ...any) {
			problems.Add(diag.Problem{Resource: b.Name, Message: fmt.Sprintf(format, args...),
				Hint: hint})
		}
		if of[i].Type.Name != "" || of[i].Handler != nil {
			bad("use a provider.Definition for each", "the definition has a bridge and a type")
		}
		if before := seen[b.Name]; before != nil && before != b {
			bad("remove one of the two", "the program has two bridges of the name %q", b.Name)
		}
		seen[b.Name] = b
		if !bridgeName(b.Name) {
			bad("a name is like tf: small letters and digits", "%q does not name a bridge", b.Name)
		}
		if b.Handler == nil {
			bad("set Handler of the provider.Bridge", "the bridge has no handler")
		}
		for j := range of {
			if name := of[j].Type.Name; strings.HasPrefix(name, b.Name+"::") {
				bad("rename one of the two", "the type %s has the prefix of the bridge", name)
			}
		}
	}
	return problems
}

// bridgeName reports whether s can be the name of a bridge.
func bridgeName(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && len(s) <= 32 &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
}
