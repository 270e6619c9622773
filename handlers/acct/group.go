package acct

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// group is the handler of acct::Group.
type group struct{ host host }

// Read implements provider.Handler.
func (h group) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	row, err := h.host.find("group", groupFields, text(r, "name"))
	if err != nil || row == nil || !lists(r, "members") {
		claimMembers(ctx, r, false)
	}
	if err == nil && row == nil && lists(r, "members") {
		membersAdded.intend(ctx, list(r.Attributes["members"]), nil)
	}
	if err != nil || row == nil {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	if gid, err := strconv.ParseInt(row[groupGID], 10, 64); err == nil {
		obs.Attributes["gid"] = gid
	}
	if lists(r, "members") {
		want, have := list(r.Attributes["members"]), considered(r, members(row), membersAdded.of(ctx))
		obs.Attributes["members"] = sameSet(r.Attributes["members"], have)
		membersAdded.intend(ctx, want, members(row))
		claimMembers(ctx, r, !different(want, have))
	}
	return obs, nil
}

// claimMembers records the members that a resource describes, if right is set.
func claimMembers(ctx *provider.Context, r provider.Resource, right bool) {
	hold(ctx, r, ofGroup(text(r, "name")),
		claim{list(r.Attributes["members"]), exactMembers(r)}, right)
}

func exactMembers(r provider.Resource) bool {
	exact, given := r.Attributes["exact_members"].(bool)
	return exact || !given
}

// considered returns the members to compare: all of them, or those that are described or were
// added.
func considered(r provider.Resource, have, added []string) []string {
	if exactMembers(r) {
		return have
	}
	return within(have, union(list(r.Attributes["members"]), added))
}

// wantedMembers returns the members that the group should have. Without exact_members, only members
// that were added earlier are removed.
func wantedMembers(ctx *provider.Context, r provider.Resource, have []string) []string {
	want := list(r.Attributes["members"])
	switch {
	case !lists(r, "members"):
		return have
	case exactMembers(r):
		return want
	}
	return union(without(have, without(membersAdded.of(ctx), want)), want)
}

// sameSet returns the desired list if the current one differs only in order and repetition.
func sameSet(wanted any, have []string) any {
	want := slices.Sorted(slices.Values(list(wanted)))
	is := slices.Sorted(slices.Values(have))
	if slices.Equal(slices.Compact(want), slices.Compact(is)) {
		return wanted
	}
	return values(is)
}

func values(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = strings.ToValidUTF8(s, "?")
	}
	return out
}

// Diff implements provider.Differ.
func (group) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return differences(desired, observed, "gid", "members"), nil
}

// Create implements provider.Handler.
func (h group) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	r := req.Resource
	row, err := h.host.find("group", groupFields, text(r, "name"))
	if err == nil {
		err = h.contradicts(ctx, r, row)
	}
	if err == nil && row == nil {
		argv := []string{"groupadd"}
		if gid := r.Attributes["gid"]; gid != nil {
			argv = append(argv, numbered(r, "-g", gid)...)
		}
		if yes(r, "system") {
			argv = append(argv, "-r")
		}
		err = h.host.run(ctx, "--prefix", "", append(argv, "--", text(r, "name"))...)
	}
	if err == nil {
		err = h.bring(ctx, r)
	}
	h.remember(ctx, r, row)
	claimMembers(ctx, r, err == nil && lists(r, "members"))
	return provider.Result{}, err
}

// remember records the members that a change has added, whether or not it succeeded. row is the
// group before the change.
func (h group) remember(ctx *provider.Context, r provider.Resource, row []string) {
	now, err := h.host.find("group", groupFields, text(r, "name"))
	if err != nil || !lists(r, "members") {
		return
	}
	var before, after []string
	if row != nil {
		before = members(row)
	}
	if now != nil {
		after = members(now)
	}
	membersAdded.keep(ctx, list(r.Attributes["members"]), before, after)
}

// contradicts rejects a change of members that undoes another resource.
func (group) contradicts(ctx *provider.Context, r provider.Resource, row []string) error {
	var have []string
	if row != nil {
		have = members(row)
	}
	return changed(have, wantedMembers(ctx, r, have)).contradicts(ctx, text(r, "name"), ofUser)
}

// Noop implements provider.Nooper: it reports whether the change would undo another resource.
func (h group) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if planned.Change == diff.Purged {
		return nil
	}
	row, err := h.host.find("group", groupFields, text(planned.Resource, "name"))
	if err != nil {
		return err
	}
	return h.contradicts(ctx, planned.Resource, row)
}

// Update implements provider.Handler.
func (h group) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
}

// Remembers implements provider.Rememberer.
func (group) Remembers(r provider.Resource) []string {
	if !lists(r, "members") {
		return nil
	}
	return []string{string(membersAdded)}
}

// bring changes the attributes that differ.
func (h group) bring(ctx *provider.Context, r provider.Resource) error {
	name := text(r, "name")
	row, err := h.host.find("group", groupFields, name)
	if err != nil || row == nil {
		return err
	}
	if gid := r.Attributes["gid"]; gid != nil && fmt.Sprint(gid) != row[groupGID] {
		if err := h.host.run(ctx, "--prefix", "",
			append(append([]string{"groupmod"}, numbered(r, "-g", gid)...), "--",
				name)...); err != nil {
			return err
		}
	}
	have := members(row)
	want := wantedMembers(ctx, r, have)
	if !different(want, have) {
		return nil
	}
	for _, member := range want {
		if a, err := h.host.account(member, false); err != nil || a == nil {
			return provider.Errorf(provider.Retryable, "there is no user %q to be a member", member)
		}
	}
	if err := h.host.run(ctx, "--root", "", "gpasswd", "-M", strings.Join(want, ","),
		name); err != nil {
		return err
	}
	return nil
}

// numbered returns the arguments that pass a number to a program.
func numbered(r provider.Resource, option string, id any) []string {
	out := []string{option, fmt.Sprint(id)}
	if yes(r, "duplicate") {
		out = append(out, "-o")
	}
	return out
}

func different(want, have []string) bool {
	a, b := slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(have))
	return !slices.Equal(slices.Compact(a), slices.Compact(b))
}

// Delete implements provider.Handler.
func (h group) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	name := text(req.Resource, "name")
	row, err := h.host.find("group", groupFields, name)
	if err != nil || row == nil {
		return provider.Result{}, err
	}
	users, err := h.host.rows("passwd", passwdFields)
	if err != nil {
		return provider.Result{}, err
	}
	for _, u := range users {
		if u[passwdGID] == row[groupGID] {
			return provider.Result{}, provider.Errorf(provider.Retryable,
				"the group %s is the primary group of %s; that user has to go first, or to "+
					"another group", name, u[0])
		}
	}
	return provider.Result{}, h.host.run(ctx, "--prefix", "", "groupdel", "--", name)
}

// Facts implements provider.FactReader.
func (h group) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	row, err := h.host.find("group", groupFields, text(req.Resource, "name"))
	if err != nil || row == nil {
		return nil, err
	}
	return map[string]any{"gid": row[groupGID]}, nil
}
