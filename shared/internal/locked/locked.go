// Package locked changes the lock file of a project: which packages of other ecosystems it uses. See
// docs/design/types.md.
package locked

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/internal/typefile"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Project is the lock file of a project, and the program that uses it.
type Project struct {
	Dir     string           // of southbound.yaml and southbound.lock
	Program *schema.Registry // the types of the program, without those of the lock file
	Bridges map[string]*provider.Bridge
}

// Added is the result of AddPackage.
type Added struct {
	provider.Package
	Bridge  string
	Former  string // the version that was replaced; "": the package is new
	Changed bool   // the lock file has changed
}

// AddPackage installs a package for a bridge, and writes it into the lock file. A package of the
// same name is replaced if it has the same address. If AddPackage returns an error, the lock file is
// unchanged.
func (p *Project) AddPackage(
	ctx context.Context, bridge string, q provider.PackageQuery,
) (Added, error) {
	var none Added
	from, err := p.packages(bridge)
	if err != nil {
		return none, err
	}
	entries, err := p.Entries()
	if err != nil {
		return none, err
	}
	for i := range entries {
		named := q.Name == "" && path.Base(entries[i].Address) == path.Base(q.Address)
		if e := &entries[i]; e.Bridge == bridge && (e.Name == q.Name || named) {
			q.Locked, q.Hashes = e.Version, e.Hashes
		}
	}
	got, err := from.Add(ctx, q)
	if err != nil {
		return none, err
	}
	unlock, err := p.lock(ctx)
	if err != nil {
		return none, err
	}
	defer unlock()
	if entries, err = p.Entries(); err != nil { // another process may have written them
		return none, err
	}
	out := Added{Package: got, Bridge: bridge}
	text, err := declarations(got.Types)
	if err != nil {
		return none, err
	}
	next := declared.Provider{Name: got.Name, Bridge: bridge, Address: got.Address, Version: got.Version,
		Constraint: got.Constraint, Hashes: got.Hashes, Digest: "sha256:" + declared.HashOf(text)}
	next.File = fileOf(&next)
	at := slices.IndexFunc(entries, func(e declared.Provider) bool { return e.Name == got.Name })
	switch {
	case at < 0:
		entries = append(entries, next)
	case entries[at].Address != got.Address || entries[at].Bridge != bridge:
		return none, fault.New(fault.Conflict, "add provider", "the lock file has another provider %s: %s",
			got.Name, entries[at].Address).WithHint("choose another name with --name, or remove it first")
	default:
		out.Former = entries[at].Version
		entries[at] = next
	}
	out.Changed, err = p.write(entries, map[string][]byte{next.File: text})
	return out, err
}

// packages returns the packages of a bridge.
func (p *Project) packages(bridge string) (provider.Packages, error) {
	b := p.Bridges[bridge]
	if b == nil || b.Packages == nil {
		return nil, fault.New(fault.Unsupported, "change the lock file",
			"this program has no bridge %s with packages", bridge).
			WithHint("use a program that has the bridge")
	}
	return b.Packages, nil
}

// Entries returns the entries of the lock file, without their declarations; none if there is no lock
// file.
func (p *Project) Entries() ([]declared.Provider, error) {
	lock, err := declared.ReadEntries(p.Dir)
	if err != nil || lock == nil {
		return nil, err
	}
	return lock.Providers, nil
}

// declarations returns the file of declarations for types.
func declarations(types []schema.Type) ([]byte, error) {
	var out bytes.Buffer
	for i := range types {
		text, err := typefile.YAML(&types[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
	}
	if out.Len() > declared.MaxBytes {
		return nil, fault.New(fault.Full, "add provider", "the declarations of its %d types have %d KiB, and "+
			"%d KiB is the maximum", len(types), out.Len()>>10, declared.MaxBytes>>10).
			WithHint("use a smaller provider, or another version")
	}
	return out.Bytes(), nil
}

// Remove removes a package from the lock file. Its program stays installed. Resources of its types are
// invalid from then on, unless they are purged.
func (p *Project) Remove(ctx context.Context, name string) (declared.Provider, error) {
	unlock, err := p.lock(ctx)
	if err != nil {
		return declared.Provider{}, err
	}
	defer unlock()
	entries, err := p.Entries()
	if err != nil {
		return declared.Provider{}, err
	}
	at := slices.IndexFunc(entries, func(e declared.Provider) bool { return e.Name == name })
	if at < 0 {
		return declared.Provider{}, Missing("remove provider", name, entries)
	}
	removed := entries[at]
	_, err = p.write(slices.Delete(entries, at, at+1), nil)
	return removed, err
}

// Install installs the locked version of each provider, or of those with the names. Its content must
// have a hash of the lock file, which does not change.
func (p *Project) Install(ctx context.Context, source string, names ...string) ([]declared.Provider, error) {
	entries, err := p.Entries()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(entries, func(e declared.Provider) bool { return e.Name == name }) {
			return nil, Missing("install provider", name, entries)
		}
	}
	var done []declared.Provider
	for _, e := range entries {
		if len(names) > 0 && !slices.Contains(names, e.Name) {
			continue
		}
		from, err := p.packages(e.Bridge)
		if err != nil {
			return done, err
		}
		_, err = from.Add(ctx, provider.PackageQuery{Address: e.Address, Name: e.Name,
			Constraint: "= " + e.Version, From: source, Locked: e.Version, Hashes: e.Hashes})
		if err != nil {
			return done, err
		}
		done = append(done, e)
	}
	return done, nil
}

// Missing returns the error of a name that no entry has.
func Missing(op, name string, entries []declared.Provider) error {
	names := make([]string, len(entries))
	for i := range entries {
		names[i] = entries[i].Name
	}
	hint := "`southbound provider list` lists them"
	if near := schema.Nearest(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fault.New(fault.NotFound, op, "the lock file has no provider %.100q", name).WithHint("%s", hint)
}

// Status is an entry of the lock file, and whether it can be used here.
type Status struct {
	declared.Provider
	Err error // of Verify; nil: it can be used
}

// List returns the entries of the lock file, with their declarations.
func (p *Project) List() ([]declared.Provider, error) {
	lock, err := declared.ReadLock(p.Dir, p.Program)
	if err != nil || lock == nil {
		return nil, err
	}
	return lock.Providers, nil
}

// Verify compares each entry of the lock file with its declarations and with the installed package.
func (p *Project) Verify(ctx context.Context) ([]Status, error) {
	entries, err := p.List()
	if err != nil {
		return nil, err
	}
	out := make([]Status, len(entries))
	for i, e := range entries {
		out[i].Provider = e
		from, err := p.packages(e.Bridge)
		if err == nil {
			err = from.Verify(ctx, provider.Package{Name: e.Name, Address: e.Address, Version: e.Version,
				Constraint: e.Constraint, Hashes: e.Hashes})
		}
		if out[i].Err = err; ctx.Err() != nil {
			return nil, fault.Wrap(fault.Canceled, "verify providers", fault.Ended(ctx))
		}
	}
	return out, nil
}

// relocated returns an error about files in one directory as one about files in another.
func relocated(err error, from, to string) error {
	problems, _ := diag.Of(err)
	if len(problems) == 0 {
		return err
	}
	move := func(p *diag.Pos) {
		if rest, is := strings.CutPrefix(p.File, from); is {
			p.File = to + rest
		}
	}
	out := make(diag.Problems, len(problems))
	for i, p := range problems {
		move(&p.Pos)
		p.Related = slices.Clone(p.Related)
		for n := range p.Related {
			move(&p.Related[n].Pos)
		}
		out[i] = p
	}
	return out
}
