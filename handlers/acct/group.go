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
func (h group) Read(_ *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	row, err := h.host.find("group", groupFields, text(r, "name"))
	if err != nil || row == nil {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	if gid, err := strconv.ParseInt(row[groupGID], 10, 64); err == nil {
		obs.Attributes["gid"] = gid
	}
	if r.Attributes["members"] != nil {
		obs.Attributes["members"] = sameSet(r.Attributes["members"], considered(r, members(row)))
	}
	return obs, nil
}

// considered are the members that are compared: all of them, or those that are asked for.
func considered(r provider.Resource, have []string) []string {
	if exact, given := r.Attributes["exact_members"].(bool); exact || !given {
		return have
	}
	want := list(r.Attributes["members"])
	return slices.DeleteFunc(slices.Clone(have),
		func(name string) bool { return !slices.Contains(want, name) })
}

// sameSet returns what is there as it is wanted, when that is the same but for order and
// repetition.
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
	return provider.Result{}, err
}

// Update implements provider.Handler.
func (h group) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	row, err := h.host.find("group", groupFields, text(req.Resource, "name"))
	if err == nil && row == nil {
		return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
	}
	if err == nil {
		err = h.bring(ctx, req.Resource)
	}
	return provider.Result{}, err
}

// bring changes what differs.
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
	want := list(r.Attributes["members"])
	if have := considered(r, members(row)); r.Attributes["members"] == nil ||
		!different(want, have) {
		return nil
	} else if len(have) < len(members(row)) {
		want = slices.Compact(slices.Sorted(slices.Values(slices.Concat(want, members(row)))))
	}
	for _, member := range want {
		if a, err := h.host.account(member, false); err != nil || a == nil {
			return provider.Errorf(provider.Retryable, "there is no user %q to be a member", member)
		}
	}
	return h.host.run(ctx, "--root", "", "gpasswd", "-M", strings.Join(want, ","), name)
}

// numbered are the arguments by which a program gives a number.
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
func (h group) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]string, error) {
	row, err := h.host.find("group", groupFields, text(req.Resource, "name"))
	if err != nil || row == nil {
		return nil, err
	}
	return map[string]string{"gid": row[groupGID]}, nil
}
