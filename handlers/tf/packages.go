package tf

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/tf/packages"
)

// The members of the metadata of a locked type that the engine shows where the bridge is missing.
const (
	metaHandler = "handler"
	metaInstall = "install"
)

// Add implements provider.Packages.
func (b *bridge) Add(ctx context.Context, q provider.PackageQuery) (provider.Package, error) {
	none := provider.Package{}
	a, err := packages.ParseAddress(q.Address)
	if err != nil {
		return none, err
	}
	source, err := packages.Open(q.From, nil)
	if err != nil {
		return none, err
	}
	all, err := source.Versions(ctx, a)
	if err != nil {
		return none, err
	}
	version, err := packages.Newest(all, q.Constraint)
	if err != nil {
		return none, err
	}
	p, err := source.Find(ctx, a, version, b.Platform)
	if err != nil {
		return none, err
	}
	var allowed []string
	if version == q.Locked {
		allowed = q.Hashes
	}
	i, err := b.Store.Install(ctx, p, allowed)
	if err != nil {
		return none, err
	}
	out := provider.Package{Name: cmp.Or(q.Name, a.Type), Address: a.String(), Version: version,
		Constraint: q.Constraint, Signer: p.Signer,
		Hashes: slices.Concat(i.Hashes, p.Hashes, p.AllHashes, allowed)}
	slices.Sort(out.Hashes)
	out.Hashes = slices.Compact(out.Hashes)
	return b.describe(ctx, i, out)
}

// describe adds the types of an installed package.
func (b *bridge) describe(
	ctx context.Context, i *packages.Installed, p provider.Package,
) (provider.Package, error) {
	s, err := b.schemas(ctx, i)
	if err != nil {
		return p, err
	}
	p.Types, p.Problems = Types(Origin{Local: p.Name, Address: p.Address, Version: p.Version,
		Hashes: p.Hashes}, s)
	if len(p.Types) == 0 {
		return p, fault.New(fault.Unsupported, "read the types of "+p.Address, "there are none").
			WithHint("use another version of the provider")
	}
	for n := range p.Types {
		p.Types[n].Metadata[metaHandler] = "the bridge " + Prefix + " to Terraform providers"
		p.Types[n].Metadata[metaInstall] = "a program of Southbound that has it"
	}
	return p, nil
}

// Verify implements provider.Packages.
func (b *bridge) Verify(ctx context.Context, p provider.Package) error {
	a, err := packages.ParseAddress(p.Address)
	if err != nil {
		return err
	}
	i, err := b.Store.Find(ctx, a, p.Version, b.Platform)
	if err != nil {
		return err
	}
	return packages.Check("verify "+p.Address+" "+p.Version, i.Hashes, p.Hashes)
}
