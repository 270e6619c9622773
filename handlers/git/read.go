package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"southbound/handlers/internal/disk"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

type handler struct {
	before func(args []string) error
	config []string
}

// Refs to commits that a remote has, or had. Their reflogs, and those of its branches, keep commits
// that the remote no longer has.
const (
	ours     = "refs/southbound/"          // all of these
	fetched  = "refs/southbound/fetched/"  // commits of branches at their last checkout
	single   = "refs/southbound/single/"   // fetched by id, or removed by the remote
	incoming = "refs/southbound/incoming/" // heads/ (of a bare repository) and tags/ as fetched
	mirror   = "refs/southbound/remote/"   // the same, at their last move
)

// checkout is the current state at the path of a resource.
//
// Large: each method is one query to git about the same working tree.
type checkout struct {
	client
	isBare bool // it has no working tree
}

// there reports whether the path has a checkout.
func (g *checkout) there() (exists bool, err error) {
	info, err := os.Lstat(g.path)
	switch {
	case os.IsNotExist(err):
		return false, nil
	case err != nil:
		return false, provider.Errorf(provider.Retryable, "read %s: %w", g.path, err)
	case !info.IsDir():
		return false, provider.Errorf(provider.NeedsChange,
			"%s is not a directory; remove it, or describe it by another type", g.path)
	}
	names, err := os.ReadDir(g.path)
	if err != nil {
		return false, provider.Errorf(provider.Terminal, "read %s: %w", g.path, err)
	}
	if len(names) == 0 {
		return false, nil
	}
	if _, err := os.Lstat(filepath.Join(g.path, ".git")); err == nil {
		g.isBare = false
		return true, nil
	}
	if _, err := os.Lstat(filepath.Join(g.path, "HEAD")); err == nil {
		g.isBare = true
		return true, nil
	}
	return false, provider.Errorf(provider.NeedsChange,
		"%s is not empty and not a git repository; move its contents away, such as %s", g.path,
		shown(names[0].Name()))
}

// owned refuses to run git in a repository of another user: its settings can name programs that git
// runs.
func (g *checkout) owned() error {
	at := g.path
	if !g.isBare {
		at = filepath.Join(g.path, ".git")
	}
	info, err := os.Lstat(at)
	if err != nil {
		return provider.Errorf(provider.Retryable, "read %s: %w", at, err)
	}
	uid := os.Geteuid()
	if g.who != nil {
		uid = int(g.who.Uid)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != uid {
		return provider.Errorf(provider.NeedsChange,
			"%s belongs to the user %d and not to %d that git runs as; set user to its owner, as "+
				"settings in it may run programs", at, st.Uid, uid)
	}
	return nil
}

// reached rejects a path on which another user could redirect the operations. Such a user may have
// put a directory or a link on the way, see disk.OpenFolder. A missing directory is reported by the
// next step.
func (w wanted) reached() error {
	d, err := disk.OpenFolder(nil, filepath.Dir(w.path))
	switch {
	case disk.Gone(err):
		return nil
	case err != nil:
		return disk.Explain("reach "+w.path, err)
	}
	d.Close()
	return nil
}

// hidden is the path at which a checkout is prepared and removed.
func (w wanted) hidden() string {
	dir, base := filepath.Split(w.path)
	return filepath.Join(dir, disk.Leftover(base))
}

// away is the path of a checkout before its removal, until it is certain that no data is lost.
func (w wanted) away() string {
	dir, base := filepath.Split(w.hidden())
	return filepath.Join(dir, disk.Leftover(base))
}

// Read implements provider.Handler.
func (h handler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	r := req.Resource
	w, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	g, err := h.checkout(ctx, w)
	if err != nil && !r.Purged {
		return provider.Observation{}, err
	}
	if !ctx.DryRun() {
		if err := w.tidy(); err != nil {
			return provider.Observation{}, err
		}
	}
	if g == nil {
		g = &checkout{client: client{wanted: w, ctx: ctx}}
	}
	defer g.close()
	exists, err := g.there()
	if err != nil || !exists || r.Purged {
		return provider.Observation{Exists: exists}, err
	}
	if err := g.owned(); err != nil {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{"bare": g.isBare}}
	if g.isBare != w.bare {
		return obs, nil
	}
	url, err := g.setting("remote.origin.url")
	if err != nil {
		return provider.Observation{}, err
	}
	if url != "" {
		obs.Attributes["source"] = url
	}
	if w.bare {
		return obs, g.readBare(&obs)
	}
	return obs, g.readTree(r, &obs)
}

// setting returns a setting of the repository, "" if it has none.
func (g *checkout) setting(name string) (string, error) {
	out, err := g.ask(g.path, "config", "--local", "--get", name)
	var f *failure
	if errors.As(err, &f) && f.code == 1 {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

func (g *checkout) readTree(r provider.Resource, obs *provider.Observation) error {
	commit, branch, err := g.head()
	if err != nil {
		return err
	}
	if commit != "" {
		obs.Attributes["commit"] = commit
	}
	if g.revision != "" {
		to, err := g.target()
		if err != nil {
			return err
		}
		switch {
		case to.commit == commit && to.branch == branch:
			obs.Attributes["revision"] = r.Attributes["revision"]
		case branch != "" && branch != to.branch:
			obs.Attributes["revision"] = branch
		case commit != "":
			obs.Attributes["revision"] = commit
		}
	}
	have, err := g.work()
	if err != nil {
		return err
	}
	if modified := have.left; g.local == "discard" {
		modified = append(modified, have.changed...)
		if have.ours || len(modified) > 0 {
			obs.Attributes["modified"] = list(modified)
		}
	} else if have.ours {
		obs.Attributes["modified"] = list(modified)
	}
	obs.Attributes["submodules"] = g.submodules
	if g.submodules {
		out, err := g.ask(g.path, "submodule", "status", "--recursive")
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(out, "\n") {
			if line != "" && line[0] != ' ' {
				obs.Attributes["submodules"] = false
			}
		}
		if cutOff, err := g.linksCutOff(); err != nil || cutOff {
			obs.Attributes["submodules"] = false
			return err
		}
	}
	return nil
}

// head returns the commit that is checked out, and the branch, if there is one. Both may be empty.
func (g *checkout) head() (commit, branch string, err error) {
	out, err := g.ask(g.path, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	var f *failure
	if err != nil && !errors.As(err, &f) {
		return "", "", err
	}
	if f != nil && f.code != 1 {
		return "", "", err
	}
	commit = strings.TrimSpace(out)
	out, err = g.ask(g.path, "symbolic-ref", "-q", "HEAD")
	if f = nil; err != nil && !(errors.As(err, &f) && f.code == 1) {
		return "", "", err
	}
	return commit, strings.TrimPrefix(strings.TrimSpace(out), "refs/heads/"), nil
}

// target is the commit or ref of a revision.
type target struct {
	ref    string // of the remote, "" for a commit
	branch string // "" for a tag or a commit
	commit string
	remote bool // the remote has confirmed it
}

// target determines the revision's current commit; it queries the remote if this is necessary.
func (g *checkout) target() (target, error) {
	if isCommit(g.revision) {
		return target{commit: g.revision}, nil
	}
	if !g.update {
		if t, err := g.here(); err != nil || t.commit != "" {
			return t, err
		}
	}
	return g.remote(g.revision)
}

// here resolves a revision without the remote.
func (g *checkout) here() (target, error) {
	for _, ref := range candidates(g.revision) {
		out, err := g.ask(g.path, "rev-parse", "--verify", "-q", ref+"^{commit}")
		var f *failure
		if errors.As(err, &f) {
			continue
		}
		if err != nil {
			return target{}, err
		}
		return target{ref, strings.TrimPrefix(branchOf(ref), "refs/heads/"),
			strings.TrimSpace(out), false}, nil
	}
	return target{}, nil
}

// candidates are the refs that a revision may mean, the more likely one first.
func candidates(revision string) []string {
	if strings.HasPrefix(revision, "refs/") {
		return []string{revision}
	}
	return []string{"refs/heads/" + revision, "refs/tags/" + revision}
}

func branchOf(ref string) string {
	if strings.HasPrefix(ref, "refs/heads/") {
		return ref
	}
	return ""
}

// remote resolves a branch or tag at the remote.
func (g *checkout) remote(revision string) (target, error) {
	args := []string{"ls-remote", "--", g.source}
	for _, ref := range candidates(revision) {
		args = append(args, ref, ref+"^{}")
	}
	out, err := g.ask("/", args...)
	if err != nil {
		return target{}, err
	}
	words := strings.Fields(out)
	for _, ref := range candidates(revision) {
		for _, name := range []string{ref + "^{}", ref} {
			// the commit of a tag precedes the tag itself
			for i := 0; i+1 < len(words); i += 2 {
				if words[i+1] == name {
					return target{ref, strings.TrimPrefix(branchOf(ref), "refs/heads/"),
						words[i], true}, nil
				}
			}
		}
	}
	return target{}, provider.Errorf(provider.Retryable,
		"the remote has neither a branch nor a tag %q; of a commit, give the whole id", revision)
}

// Diff implements provider.Differ.
func (handler) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := map[string]diff.Diff{}
	for _, name := range []string{"source", "revision", "submodules", "bare"} {
		want := desired.Attributes[name]
		if want == nil || name == "submodules" && want == false {
			continue
		}
		if have := observed.Attributes[name]; !resource.Equal(want, have) &&
			!(have == nil && want == false) {
			out[name] = diff.Diff{Current: have, Desired: want}
		}
	}
	if m := observed.Attributes["modified"]; m != nil {
		out["modified"] = diff.Diff{Current: m, Desired: []any{}}
	}
	return out, nil
}

// Facts implements provider.FactReader: the commit that is checked out.
func (h handler) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	w, err := wantedOf(req.Resource)
	if err != nil {
		return nil, err
	}
	g, err := h.checkout(ctx, w)
	if err != nil {
		return nil, err
	}
	defer g.close()
	if exists, err := g.there(); err != nil || !exists {
		return nil, err
	}
	commit, branch, err := g.head()
	return map[string]any{"commit": commit, "branch": branch}, err
}
