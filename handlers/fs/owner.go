package fs

import (
	"fmt"
	"slices"
	"strconv"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// owners looks up users and groups, each once. It is not safe for concurrent use.
type owners struct {
	uids, gids   map[string]int
	users, group map[int]string
}

// wantedOf reads the owner, group and mode of a resource.
func (n *owners) wantedOf(r provider.Resource) (disk.Perm, error) {
	return n.wantedUnless(r, func(string, string) bool { return false })
}

// wantedToRead is wantedOf for reading. In a dry run, a missing user or group may be created before
// it is needed. It then has no number, and so differs from all existing ones.
func (n *owners) wantedToRead(ctx *provider.Context, r provider.Resource) (disk.Perm, error) {
	return n.wantedUnless(r, func(word, name string) bool {
		made := ctx.DryRun() && mayBeMade(ctx, word, name)
		if made {
			ctx.Lacks(fmt.Sprintf("there is no %s %q", word, name))
		}
		return made
	})
}

// mayBeMade reports whether a user or a group is managed and required, or whether this is unknown,
// as on another machine.
func mayBeMade(ctx *provider.Context, word, name string) bool {
	stored := ctx.Stored()
	if stored == nil {
		return true
	}
	typ := map[string]string{"user": "acct::User", "group": "acct::Group"}[word]
	return slices.Contains(stored.Requires, resource.NewID(typ, ctx.ID().Agent(),
		resource.Key{Name: "name", Value: name}))
}

// wantedUnless is wantedOf, but accepts a missing user or group if missing returns true.
func (n *owners) wantedUnless(
	r provider.Resource, missing func(word, name string) bool,
) (disk.Perm, error) {
	w := disk.Perm{UID: -1, GID: -1, Mode: -1}
	for _, o := range []struct {
		attribute, word string
		id              *int
		known           *map[string]int
		lookup          func(string) (string, error)
	}{
		{"owner", "user", &w.UID, &n.uids, disk.LookupUser},
		{"group", "group", &w.GID, &n.gids, disk.LookupGroup},
	} {
		s := owner(r, o.attribute)
		if s == "" {
			continue
		}
		var err error
		if *o.id, err = idOf(o.known, s, o.lookup); err == nil {
			continue
		}
		if disk.Silent(err) {
			return w, err
		}
		if !missing(o.word, s) {
			return w, provider.Errorf(provider.Retryable, "there is no %s %q: %w", o.word, s, err)
		}
		*o.id = noID
	}
	if s := text(r, "mode"); s != "" {
		bits, err := strconv.ParseUint(s, 8, 12)
		if err != nil {
			return w, provider.Errorf(provider.NeedsChange, `mode %q is not octal, such as "0644"`,
				s)
		}
		w.Mode = int(bits) // 12 bits
	}
	return w, nil
}

// owner returns the value of an attribute that is a user or a group: a name, or a number as text.
func owner(r provider.Resource, name string) string {
	if n, ok := r.Attributes[name].(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	return text(r, name)
}

// idBits is the size of the number of a user or group. The largest number means "leave it
// unchanged".
const (
	idBits = 32
	noID   = 1<<idBits - 1
)

// idOf returns the number of a user or group from a name or a number.
func idOf(known *map[string]int, s string, lookup func(string) (string, error)) (int, error) {
	if id, ok := (*known)[s]; ok {
		return id, nil
	}
	number := s
	if _, err := strconv.ParseUint(s, 10, idBits); err != nil {
		if number, err = lookup(s); err != nil {
			return -1, err
		}
	}
	id, err := strconv.ParseUint(number, 10, idBits)
	if err == nil && id == noID {
		err = strconv.ErrRange
	}
	if err != nil {
		return -1, err
	}
	if *known == nil {
		*known = map[string]int{}
	}
	(*known)[s] = int(id) // 32 bits
	return int(id), nil   // 32 bits
}

// nameOf returns the name of a user or group, or its number if it has none.
func nameOf(known *map[int]string, id int, lookup func(string) string) string {
	if s, ok := (*known)[id]; ok {
		return s
	}
	s := strconv.Itoa(id)
	if name := lookup(s); name != "" {
		s = name
	}
	if *known == nil {
		*known = map[int]string{}
	}
	(*known)[id] = s
	return s
}

// observe reports owner and group, if the resource sets them, and mode. Equal values are reported
// in the resource's form, so that 0 and root, or 644 and 0644, do not differ.
func (n *owners) observe(
	attrs map[string]any, r provider.Resource, w disk.Perm, st *unix.Stat_t, mode bool,
) {
	if uid := int(st.Uid); w.UID == uid {
		attrs["owner"] = r.Attributes["owner"]
	} else if w.UID >= 0 {
		attrs["owner"] = nameOf(&n.users, uid, disk.UserName)
	}
	if gid := int(st.Gid); w.GID == gid {
		attrs["group"] = r.Attributes["group"]
	} else if w.GID >= 0 {
		attrs["group"] = nameOf(&n.group, gid, disk.GroupName)
	}
	if !mode {
		return
	}
	if bits := int(st.Mode & 0o7777); w.Mode == bits {
		attrs["mode"] = r.Attributes["mode"]
	} else {
		attrs["mode"] = octal(bits)
	}
}

// octal formats permissions as four digits.
func octal(bits int) string {
	return string([]byte{'0' + byte(bits>>9&7), '0' + byte(bits>>6&7), '0' + byte(bits>>3&7),
		'0' + byte(bits&7)})
}
