package git

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/provider"
)

// refs are ids by name.
type refs map[string]string

// refs returns the refs below a prefix, without the prefix.
func (g *checkout) refs(prefix string) (refs, error) {
	out, err := g.ask(g.path, "for-each-ref", "--format=%(objectname) %(refname)", prefix)
	return parseRefs(out, prefix), err
}

// remoteRefs queries the remote for its branches and tags.
func (g *checkout) remoteRefs() (refs, error) {
	out, err := g.ask("/", "ls-remote", "--heads", "--tags", "--refs", "--", g.source)
	return parseRefs(out, "refs/"), err
}

// parseRefs parses lines with an id and a name each.
func parseRefs(out, prefix string) refs {
	all := refs{}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 {
			all[strings.TrimPrefix(f[1], prefix)] = f[0]
		}
	}
	return all
}

// own returns the remote's default branch.
func (g *change) own() (string, error) {
	out, err := g.ask("/", "ls-remote", "--symref", "--", g.source, "HEAD")
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(out, "\n") {
		if rest, ok := strings.CutPrefix(line, "ref: "); ok {
			ref, _, _ := strings.Cut(rest, "\t")
			return ref, nil
		}
	}
	return "", nil
}

// refChange makes branches and tags equal to those of the remote.
type refChange struct {
	set  refs     // to move or create
	drop []string // to remove, as the remote no longer has them
	own  []string // left unchanged, as they were made or moved here
}

// compare compares branches and tags here with those of the remote. A ref that differs from the
// remote's earlier state was changed by a person, and only discard overwrites it.
func (g *checkout) compare(theirs, here refs) (refChange, error) {
	todo := refChange{set: refs{}}
	before := func(name string) string { return here[strings.TrimPrefix(mirror, "refs/")+name] }
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		id, have := theirs[name], here[name]
		switch {
		case id == have:
		case have == "" || have == before(name) || g.local == "discard":
			todo.set[name] = id
		case !strings.HasPrefix(name, "heads/"):
			todo.own = append(todo.own, name)
		default:
			on, err := g.leadsTo(have, id)
			if err != nil {
				return todo, err
			}
			if on {
				todo.set[name] = id
			} else {
				todo.own = append(todo.own, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		is := strings.HasPrefix(name, "heads/") || strings.HasPrefix(name, "tags/")
		if is && theirs[name] == "" && (here[name] == before(name) || g.local == "discard") {
			todo.drop = append(todo.drop, name)
		}
	}
	return todo, nil
}

// leadsTo reports whether a commit is an ancestor of another, or whether this is unknown because
// the other is missing.
func (g *checkout) leadsTo(from, to string) (bool, error) {
	if here, err := g.succeeds(g.path, "cat-file", "-e", to); err != nil || !here {
		return err == nil, err
	}
	return g.succeeds(g.path, "merge-base", "--is-ancestor", from, to)
}

// adopt moves branches and tags to the fetched commits, and records the remote's state in the same
// transaction. It deletes refs first: their names may conflict with new ones.
func (g *change) adopt(todo refChange, theirs refs) error {
	var drop, set strings.Builder
	known, err := g.refs(mirror)
	if err != nil {
		return err
	}
	for _, name := range todo.drop {
		drop.WriteString("delete refs/" + name + "\n")
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if theirs[name] == "" && g.bare {
			drop.WriteString("update " + single + known[name] + " " + known[name] + "\n" +
				"delete " + mirror + name + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(todo.set)) {
		if id := theirs[name]; id != "" { // otherwise it was deleted since the comparison
			set.WriteString("update refs/" + name + " " + id + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		if known[name] != theirs[name] {
			set.WriteString("update " + mirror + name + " " + theirs[name] + "\n")
		}
	}
	for _, lines := range []string{drop.String(), set.String()} {
		if lines == "" {
			continue
		}
		if err := g.step("update-ref"); err != nil {
			return err
		}
		if _, err := g.feed(g.path, lines, "update-ref", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// compareBare compares a bare repository with the remote.
func (g *checkout) compareBare() (refChange, error) {
	theirs, err := g.remoteRefs()
	if err != nil {
		return refChange{}, err
	}
	here, err := g.refs("refs/")
	if err != nil {
		return refChange{}, err
	}
	return g.compare(theirs, here)
}

// readBare reports as modified the branches and tags that differ from those of the remote.
func (g *checkout) readBare(obs *provider.Observation) error {
	if !g.update {
		return nil
	}
	todo, err := g.compareBare()
	names := append(slices.Sorted(maps.Keys(todo.set)), todo.drop...)
	if g.local == "refuse" {
		names = append(names, todo.own...)
	}
	if len(names) > 0 {
		obs.Attributes["modified"] = list(names)
	}
	return err
}

// mayBring rejects a move of refs that were changed here, if local is refuse.
func (g *checkout) mayBring() error {
	todo, err := g.compareBare()
	if err == nil && len(todo.own) > 0 && g.local == "refuse" {
		err = changedHere(todo.own)
	}
	return err
}

func changedHere(names []string) error {
	return provider.Errorf(provider.NeedsChange,
		"branches or tags were changed here and differ from the remote's: %s; push "+
			"them, or set local", named(names))
}

// bringBare fetches into refs of our own, and then moves branches and tags.
func (g *change) bringBare() error {
	if err := g.mayBring(); err != nil {
		return err
	}
	if err := g.do(g.path, "fetch", "-q", "--prune", "--force", "--no-tags", "origin",
		"+refs/heads/*:"+incoming+"heads/*", "+refs/tags/*:"+incoming+"tags/*"); err != nil {
		return err
	}
	theirs, err := g.refs(incoming)
	if err != nil {
		return err
	}
	here, err := g.refs("refs/")
	if err != nil {
		return err
	}
	todo, err := g.compare(theirs, here)
	if err != nil {
		return err
	}
	if len(todo.own) > 0 && g.local == "refuse" {
		return changedHere(todo.own)
	}
	if err := g.adopt(todo, theirs); err != nil {
		return err
	}
	if ref, err := g.own(); err == nil && ref != "" {
		return g.do(g.path, "symbolic-ref", "HEAD", ref)
	}
	return nil
}
