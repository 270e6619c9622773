package acct

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// user is the handler of acct::User.
type user struct{ host host }

// needsShadow reports whether a resource has attributes that only the superuser may read.
func needsShadow(r provider.Resource) bool {
	names := []string{"password", "expires", "locked"}
	for _, g := range ages() {
		names = append(names, g.attribute)
	}
	return !r.Purged &&
		slices.ContainsFunc(names, func(name string) bool { return r.Attributes[name] != nil })
}

// other is reported for a password that is not the desired one: the current password is never
// shown.
const other = "!another"

// Read implements provider.Handler.
func (h user) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	a, err := h.host.account(text(r, "name"), needsShadow(r))
	if err != nil || a == nil {
		a.claim(ctx, r, false)
		if err == nil && lists(r, "groups") {
			groupsAdded.intend(ctx, list(r.Attributes["groups"]), nil)
		}
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{
		"comment": strings.ToValidUTF8(a.comment, "?"), "home": a.home, "shell": a.shell,
	}}
	if r.Purged {
		a.claim(ctx, r, false)
		return obs, nil
	}
	for name, s := range map[string]string{"home": a.home, "shell": a.shell} {
		if s == "" {
			delete(obs.Attributes, name)
		}
	}
	if uid, err := strconv.ParseInt(a.uid, 10, 64); err == nil {
		obs.Attributes["uid"] = uid
	}
	switch {
	case r.Attributes["group"] == nil:
	case a.hasPrimary(r):
		obs.Attributes["group"] = r.Attributes["group"]
	case a.primary != "":
		obs.Attributes["group"] = a.primary
	}
	if lists(r, "groups") {
		have := a.considered(r, groupsAdded.of(ctx))
		obs.Attributes["groups"] = sameSet(r.Attributes["groups"], have)
		groupsAdded.intend(ctx, list(r.Attributes["groups"]), union(have, a.groups))
		a.claim(ctx, r, !different(list(r.Attributes["groups"]), have))
	}
	if err := a.observeShadow(r, &obs); err != nil {
		return provider.Observation{}, err
	}
	return obs, h.observeHome(ctx, r, a, &obs)
}

// hasPrimary reports whether the primary group is the desired one, by name or number.
func (a *account) hasPrimary(r provider.Resource) bool {
	want := fmt.Sprint(r.Attributes["group"])
	return want == a.gid || want == a.primary
}

// claim records the groups that a resource describes, if right is set.
func (a *account) claim(ctx *provider.Context, r provider.Resource, right bool) {
	hold(ctx, r, ofUser(text(r, "name")),
		claim{list(r.Attributes["groups"]), yes(r, "exact_groups")}, right)
}

// considered returns the groups to compare: all of them, or those that are described or were added.
func (a *account) considered(r provider.Resource, added []string) []string {
	if yes(r, "exact_groups") {
		return a.groups
	}
	want := list(r.Attributes["groups"])
	have := within(a.groups, union(want, added))
	if stays := r.Attributes["group"] == nil || a.hasPrimary(r); stays &&
		slices.Contains(want, a.primary) && !slices.Contains(have, a.primary) {
		have = append(have, a.primary) // a user is a member of their primary group
	}
	return have
}

func (a *account) observeShadow(r provider.Resource, obs *provider.Observation) error {
	if hash := text(r, "password"); hash != "" {
		if !isHash(hash) {
			return provider.Errorf(provider.NeedsChange, "password is not the hash of one")
		}
		obs.Attributes["password"] = other
		if wantedHash(r) == a.hash ||
			r.Attributes["locked"] != nil && unlocked(hash) == unlocked(a.hash) {
			obs.Attributes["password"] = hash
		}
	}
	if r.Attributes["locked"] != nil {
		obs.Attributes["locked"] = a.locked()
	}
	for i, g := range ages() {
		if r.Attributes[g.attribute] != nil && i < len(a.ages) {
			obs.Attributes[g.attribute] = a.ages[i]
		}
	}
	if s := text(r, "expires"); s != "" {
		want, err := days(s)
		if err != nil {
			return provider.Errorf(provider.NeedsChange, "expires: %q is not a date", s)
		}
		switch n, err := strconv.ParseInt(a.expires, 10, 64); {
		case want == a.expires:
			obs.Attributes["expires"] = s
		case err == nil:
			obs.Attributes["expires"] = day(n)
		default:
			obs.Attributes["expires"] = "never"
		}
	}
	return nil
}

func unlocked(hash string) string { return strings.TrimPrefix(hash, lock) }

// wantedHash is the desired entry in /etc/shadow.
func wantedHash(r provider.Resource) string {
	hash := text(r, "password")
	switch is, isSet := r.Attributes["locked"].(bool); {
	case isSet && is:
		return lock + unlocked(hash)
	case isSet:
		return unlocked(hash)
	}
	return hash
}

// observeHome reads the home directory.
func (h user) observeHome(
	ctx *provider.Context, r provider.Resource, a *account, obs *provider.Observation,
) error {
	if yes(r, "manage_home") && a.home != "" {
		if _, err := os.Lstat(h.host.path(a.home)); os.IsNotExist(err) &&
			(text(r, "home") == "" || text(r, "home") == a.home) {
			obs.Attributes["no_home"] = true
		}
	}
	if r.Attributes["authorized_keys"] == nil {
		return nil
	}
	keys, err := h.keys(r, a).read(ctx)
	if err == nil {
		obs.Attributes["authorized_keys"] = keys
	}
	return err
}

// Diff implements provider.Differ.
func (user) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := differences(desired, observed, "uid", "group", "groups", "comment", "home", "shell",
		"password", "locked", "min_days", "max_days", "warn_days",
		"inactive_days", "expires", "authorized_keys")
	if observed.Attributes["no_home"] == true {
		out["no_home"] = diff.Diff{Current: true, Desired: false}
	}
	return out, nil
}

// differences compares attributes.
func differences(
	desired provider.Resource, observed provider.Observation, names ...string,
) map[string]diff.Diff {
	out := map[string]diff.Diff{}
	for _, name := range names {
		want, have := desired.Attributes[name], observed.Attributes[name]
		if want != nil && !resource.Equal(want, have) {
			out[name] = diff.Diff{Current: have, Desired: want}
		}
	}
	return out
}

// Create implements provider.Handler.
func (h user) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	r := req.Resource
	if err := refused(r); err != nil {
		return provider.Result{}, err // before any change
	}
	a, err := h.host.account(text(r, "name"), false)
	if err == nil {
		err = a.memberships(ctx, r).contradicts(ctx, text(r, "name"), ofGroup)
	}
	if err == nil && a == nil {
		err = h.add(ctx, r)
	}
	if err == nil {
		err = h.bring(ctx, r)
	}
	h.remember(ctx, r, a)
	a.claim(ctx, r, err == nil && lists(r, "groups"))
	return provider.Result{}, err
}

// remember records the groups that a change has added, whether or not it succeeded. a is the
// account before the change.
func (h user) remember(ctx *provider.Context, r provider.Resource, a *account) {
	now, err := h.host.account(text(r, "name"), false)
	if err != nil || !lists(r, "groups") {
		return
	}
	var before, after []string
	if a != nil {
		before = union(a.groups, a.considered(r, groupsAdded.of(ctx)))
	}
	if now != nil {
		after = now.groups
	}
	groupsAdded.keep(ctx, list(r.Attributes["groups"]), before, after)
}

// memberships returns the changes of memberships that a resource needs. Without exact_groups, only
// memberships that were added earlier are removed.
func (a *account) memberships(ctx *provider.Context, r provider.Resource) memberships {
	want, added := list(r.Attributes["groups"]), groupsAdded.of(ctx)
	switch {
	case !lists(r, "groups"):
		return memberships{}
	case a == nil:
		return memberships{made: want}
	case !different(want, a.considered(r, added)):
		return memberships{}
	case yes(r, "exact_groups"):
		return changed(a.groups, want)
	}
	return memberships{without(want, a.groups), within(without(added, want), a.groups)}
}

// Noop implements provider.Nooper: it reports whether the change would undo another resource.
func (h user) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	r := planned.Resource
	if planned.Change == diff.Purged {
		return nil
	}
	a, err := h.host.account(text(r, "name"), false)
	if err != nil {
		return err
	}
	return a.memberships(ctx, r).contradicts(ctx, text(r, "name"), ofGroup)
}

// refused rejects values that are not possible, also those that were references to secrets when the
// document was checked.
func refused(r provider.Resource) error {
	if hash := text(r, "password"); hash != "" && (!isHash(hash) || wantedHash(r) == "") {
		return provider.Errorf(provider.NeedsChange,
			"password is not the hash of one; make one with mkpasswd or openssl passwd -6")
	}
	if s := text(r, "expires"); s != "" {
		if _, err := days(s); err != nil {
			return provider.Errorf(provider.NeedsChange, "expires: %q is not a date", s)
		}
	}
	return nil
}

func (h user) add(ctx *provider.Context, r provider.Resource) error {
	name := text(r, "name")
	argv := []string{"useradd"}
	switch gid := r.Attributes["group"]; {
	case gid != nil:
		argv = append(argv, "-g", fmt.Sprint(gid))
	default:
		row, err := h.host.find("group", groupFields, name)
		if err != nil {
			return err
		}
		if row != nil {
			argv = append(argv, "-g", name)
		}
	}
	if uid := r.Attributes["uid"]; uid != nil {
		argv = append(argv, numbered(r, "-u", uid)...)
	}
	for flag, attribute := range map[string]string{"-c": "comment", "-d": "home", "-s": "shell"} {
		if s := text(r, attribute); s != "" {
			argv = append(argv, flag, s)
		}
	}
	if yes(r, "system") {
		argv = append(argv, "-r")
	}
	home := "-M"
	if yes(r, "manage_home") {
		home = "-m"
	}
	return h.host.run(ctx, "--prefix", "", append(argv, home, "--", name)...)
}

// Update implements provider.Handler.
func (h user) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return h.Create(ctx, provider.CreateRequest{Resource: req.Resource})
}

// bring changes the attributes that differ. A secret is passed to the program on its standard
// input.
func (h user) bring(ctx *provider.Context, r provider.Resource) error {
	name := text(r, "name")
	a, err := h.host.account(name, needsShadow(r))
	if err != nil || a == nil {
		return err
	}
	m := a.memberships(ctx, r)
	argv, err := a.changes(r, m)
	if err != nil {
		return err
	}
	if len(argv) > 0 {
		if err := h.host.run(ctx, "--prefix", "", append(append([]string{"usermod"}, argv...), "--",
			name)...); err != nil {
			return err
		}
	}
	if !yes(r, "exact_groups") {
		for _, group := range m.ended {
			if err := h.host.run(ctx, "--root", "", "gpasswd", "-d", name, group); err != nil {
				return err
			}
		}
	}
	if hash := text(r, "password"); hash != "" && wantedHash(r) != a.hash {
		if !isHash(hash) || wantedHash(r) == "" {
			return provider.Errorf(provider.NeedsChange, "password is not the hash of one")
		}
		if err := h.host.run(ctx, "--root", name+":"+wantedHash(r)+"\n", "chpasswd",
			"-e"); err != nil {
			return err
		}
	}
	if argv := a.chage(r); len(argv) > 0 {
		if err := h.host.run(ctx, "--root", "", append(append([]string{"chage"}, argv...), "--",
			name)...); err != nil {
			return err
		}
	}
	if a, err = h.host.account(name, false); err != nil || a == nil {
		return err
	}
	if err := h.makeHome(ctx, r, a); err != nil {
		return err
	}
	if r.Attributes["authorized_keys"] == nil {
		return nil
	}
	return h.keys(r, a).write(ctx)
}

// changes returns the arguments of usermod.
func (a *account) changes(r provider.Resource, m memberships) ([]string, error) {
	var argv []string
	if uid := r.Attributes["uid"]; uid != nil && fmt.Sprint(uid) != a.uid {
		argv = append(argv, numbered(r, "-u", uid)...)
	}
	if g := r.Attributes["group"]; g != nil && !a.hasPrimary(r) {
		argv = append(argv, "-g", fmt.Sprint(g))
	}
	if s, ok := r.Attributes["comment"].(string); ok && s != a.comment {
		argv = append(argv, "-c", s)
	}
	if s := text(r, "home"); s != "" && s != a.home {
		argv = append(argv, "-d", s)
		if yes(r, "manage_home") {
			argv = append(argv, "-m")
		}
	}
	if s := text(r, "shell"); s != "" && s != a.shell {
		argv = append(argv, "-s", s)
	}
	if s := text(r, "expires"); s != "" {
		want, err := days(s)
		if err != nil {
			return nil, provider.Errorf(provider.NeedsChange, "expires: %q is not a date", s)
		}
		if want != a.expires {
			argv = append(argv, "-e", strings.TrimSuffix(s, "never"))
		}
	}
	if lock, isSet := r.Attributes["locked"].(bool); isSet && lock != a.locked() &&
		text(r, "password") == "" {
		switch {
		case lock:
			argv = append(argv, "-L")
		case unlocked(a.hash) == "":
			return nil, provider.Errorf(provider.NeedsChange,
				"the user has no password that could be unlocked; give one")
		default:
			argv = append(argv, "-U")
		}
	}
	switch {
	case yes(r, "exact_groups") && len(m.made)+len(m.ended) > 0:
		argv = append(argv, "-G", strings.Join(list(r.Attributes["groups"]), ","))
	case len(m.made) > 0:
		argv = append(argv, "-a", "-G", strings.Join(m.made, ","))
	}
	return argv, nil
}

// chage returns the arguments of the program chage.
func (a *account) chage(r provider.Resource) []string {
	var argv []string
	for i, g := range ages() {
		if want, given := r.Attributes[g.attribute].(int64); given && i < len(a.ages) &&
			want != a.ages[i] {
			argv = append(argv, g.option, fmt.Sprint(want))
		}
	}
	return argv
}

// Delete implements provider.Handler.
func (h user) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	name := text(req.Resource, "name")
	a, err := h.host.account(name, false)
	if err != nil || a == nil {
		return provider.Result{}, err
	}
	argv := []string{"userdel"}
	if yes(req.Resource, "manage_home") {
		if _, err := os.Lstat(h.host.path(a.home)); err == nil && a.home != "" && a.home != "/" {
			argv = append(argv, "-r")
		}
	}
	return provider.Result{}, h.host.run(ctx, "--prefix", "", append(argv, "--", name)...)
}

// Remembers implements provider.Rememberer.
func (user) Remembers(r provider.Resource) []string {
	if !lists(r, "groups") {
		return nil
	}
	return []string{string(groupsAdded)}
}

// Facts implements provider.FactReader.
func (h user) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	a, err := h.host.account(text(req.Resource, "name"), false)
	if err != nil || a == nil {
		return nil, err
	}
	return map[string]any{"uid": a.uid, "gid": a.gid, "home": a.home}, nil
}
