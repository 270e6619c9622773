package packages

import (
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Locked is an entry of a lock file of Terraform or OpenTofu.
type Locked struct {
	Address     Address
	Version     string
	Constraints string // may be empty
	Hashes      []string
}

const maxLock = 16 << 20

// ReadLockHCL reads .terraform.lock.hcl. Hashes of unknown schemes are left out. The errors are
// diag.Problems with places, or a fault if the file cannot be read.
func ReadLockHCL(path string) ([]Locked, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, "read lock file", err)
	}
	return parseLockHCL(path, text)
}

func parseLockHCL(name string, text []byte) ([]Locked, error) {
	if len(text) > maxLock {
		return nil, fault.New(fault.Invalid, "read lock file", "%s is too large", name)
	}
	r := &lockReader{}
	file, diags := hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	for _, d := range diags {
		r.bad(d.Subject, "%s", d.Summary)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	body, ok := file.Body.(*hclsyntax.Body)
	if !ok {
		return nil, fault.New(fault.Internal, "read lock file", "%s has no body", name)
	}
	var out []Locked
	seen := map[Address]bool{}
	for _, b := range body.Blocks {
		if b.Type != "provider" {
			continue
		}
		at := b.DefRange()
		if len(b.Labels) != 1 {
			r.bad(&at, "a provider block has one label, its address")
			continue
		}
		a, err := ParseAddress(b.Labels[0])
		switch {
		case err != nil:
			r.bad(&at, "%v", err)
			continue
		case seen[a]:
			r.bad(&at, "the provider %s is there twice", a)
		}
		seen[a] = true
		l := Locked{Address: a, Version: r.text(b.Body, "version"),
			Constraints: r.text(b.Body, "constraints"), Hashes: r.hashes(b.Body)}
		if !validVersion(l.Version) {
			r.bad(&at, "the provider %s has no valid version", a)
		}
		out = append(out, l)
	}
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return out, nil
}

type lockReader struct{ problems diag.Problems }

func (r *lockReader) bad(at *hcl.Range, format string, args ...any) {
	p := diag.Problem{Message: fmt.Sprintf(format, args...),
		Hint: "run `tofu providers lock` to write the file again"}
	if at != nil {
		p.Pos = diag.Pos{File: at.Filename, Line: at.Start.Line, Column: at.Start.Column}
	}
	r.problems.Add(p)
}

// value returns a literal value of an attribute, which is null if there is none.
func (r *lockReader) value(b *hclsyntax.Body, name string) (cty.Value, *hcl.Range) {
	a := b.Attributes[name]
	if a == nil {
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	v, diags := a.Expr.Value(nil)
	if diags.HasErrors() || !v.IsWhollyKnown() {
		r.bad(&a.SrcRange, "%s is not a literal value", name)
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	return v, &a.SrcRange
}

func (r *lockReader) text(b *hclsyntax.Body, name string) string {
	v, at := r.value(b, name)
	switch {
	case v.IsNull():
	case v.Type() == cty.String:
		return v.AsString()
	default:
		r.bad(at, "%s is not a text", name)
	}
	return ""
}

func (r *lockReader) hashes(b *hclsyntax.Body) []string {
	v, at := r.value(b, "hashes")
	if v.IsNull() {
		return nil
	}
	if !v.Type().IsTupleType() {
		r.bad(at, "hashes is not a list")
		return nil
	}
	var out []string
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			r.bad(at, "a hash is not a text")
			return nil
		}
		if h := e.AsString(); ValidHash(h) {
			out = append(out, h)
		}
	}
	return out
}
