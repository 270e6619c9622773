package acct

import (
	"slices"
	"strings"

	"southbound/handlers/internal/held"
	"southbound/shared/provider"
)

// claim holds the memberships that a fully applied resource describes: the members of a group, or
// the groups of a user.
type claim struct {
	names []string
	exact bool // the list is complete
}

// allows reports whether the claim is met if a name is a member, or is none.
func (c claim) allows(name string, is bool) bool {
	return is == slices.Contains(c.names, name) || is && !c.exact
}

// Places of claims.
func ofGroup(name string) string { return "group " + name }
func ofUser(name string) string  { return "user " + name }

// claims returns the claims of both types.
func claims(ctx *provider.Context) *held.Table[claim] { return held.Across[claim](ctx) }

// hold records the claim of a resource if right is set, and releases it otherwise.
func hold(ctx *provider.Context, r provider.Resource, place string, c claim, right bool) {
	if right {
		claims(ctx).Hold(ctx, r.ID, place, c)
	} else {
		claims(ctx).Release(place, r.ID)
	}
}

// memberships are the memberships of a user or a group that a change adds and removes, by the names
// of groups or users.
type memberships struct{ made, ended []string }

// changed compares memberships.
func changed(have, want []string) memberships {
	return memberships{without(want, have), without(have, want)}
}

// without returns the names that are not in others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { return slices.Contains(others, name) })
}

// within returns the names that are in others.
func within(names, others []string) []string { return without(names, without(names, others)) }

// lists reports whether a resource describes a list of names.
func lists(r provider.Resource, attribute string) bool {
	return !r.Purged && r.Attributes[attribute] != nil
}

// union returns the names of two lists, sorted.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// contradicts rejects a change of memberships of name that undoes a claim of the other type.
func (m memberships) contradicts(
	ctx *provider.Context, name string, place func(string) string,
) error {
	var undone []string
	for is, others := range map[bool][]string{true: m.made, false: m.ended} {
		for _, other := range others {
			for _, c := range claims(ctx).At(place(other)) {
				if !c.Described.allows(name, is) {
					undone = append(undone, string(c.ID))
				}
			}
		}
	}
	if undone == nil {
		return nil
	}
	slices.Sort(undone)
	return provider.Errorf(provider.NeedsChange,
		"the memberships of %s: the change would undo %s, which is as described; change one of the "+
			"two, or remove it", name, strings.Join(slices.Compact(undone), ", "))
}

// memory is the fact that holds the names that a resource has added to a list which may also have
// other names. Names that the resource no longer has are removed.
type memory string

const (
	groupsAdded  memory = "groups_added"
	membersAdded memory = "members_added"
)

// of returns the added names.
func (m memory) of(ctx *provider.Context) []string {
	known := ctx.Known(string(m))
	if known == "" {
		return nil
	}
	return strings.Split(known, ",")
}

// intend records, before a change, the added names that still exist, and the names that the change
// adds. The engine stores this before the change begins, so that a crash after the change does not
// lose it. A name that is neither described nor present was removed by a person.
func (m memory) intend(ctx *provider.Context, wanted, have []string) {
	known := m.of(ctx)
	added := union(within(known, union(have, wanted)), without(wanted, have))
	if !slices.Equal(known, added) {
		m.note(ctx, added)
	}
}

// keep records, after a change, the added names that exist. have are the names before the change,
// now those after it.
func (m memory) keep(ctx *provider.Context, wanted, have, now []string) {
	m.note(ctx, within(union(m.of(ctx), without(wanted, have)), now))
}

func (m memory) note(ctx *provider.Context, added []string) {
	if !ctx.DryRun() {
		ctx.Fact(string(m), strings.Join(union(added, nil), ","))
	}
}
