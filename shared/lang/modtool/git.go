package modtool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep440"
	"southbound/shared/pattern"
)

// git runs git in a folder and returns its output. git never prompts for a password.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return gitWith(ctx, dir, nil, args...)
}

// gitWith runs git with additional environment variables. git gives up on an HTTP server that is
// silent for a minute.
func gitWith(
	ctx context.Context, dir string, variables []string, args ...string,
) (string, error) {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_DIR=") || strings.HasPrefix(v, "GIT_WORK_TREE=") ||
			strings.HasPrefix(v, "GIT_INDEX_FILE=")
	})
	env = append(append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"), variables...)
	// By default, git waits forever for a server that has stopped responding.
	for _, v := range []string{"GIT_HTTP_LOW_SPEED_LIMIT=1", "GIT_HTTP_LOW_SPEED_TIME=60"} {
		if name, _, _ := strings.Cut(v, "="); os.Getenv(name) == "" {
			env = append(env, v)
		}
	}
	out, err := run(ctx, dir, env, "git", args...)
	return strings.TrimRight(out, "\n"), err
}

// Patterns of git's messages about servers, in English.
var (
	gitRefused = pattern.Lazy(`Authentication failed|could not read (Username|Password)|` +
		`Permission denied|The requested URL returned error: 403`)
	gitNothing = pattern.Lazy(`repository '.*' not found|does not appear to be a git repository|` +
		`repository '.*' does not exist`)
	gitBehind = pattern.Lazy(`\[rejected\].*\((fetch first|non-fast-forward)\)`)
	gitMoved  = pattern.Lazy(`\[rejected\].*\(would clobber existing tag\)`)
	gitHints  = pattern.Lazy(`(?m)^(?:hint:|error: failed to push|From |To | \* |` +
		`   [0-9a-f]+\.\.).*\n?`)
)

// gitError classifies an error of git's communication with a server, and adds a hint.
func gitError(doing string, err error) error {
	if err == nil || fault.KindOf(err) == fault.Canceled {
		return err
	}
	said := strings.TrimSpace(gitHints().ReplaceAllString(err.Error(), ""))
	kind := fault.Unavailable
	hint := "check that this machine reaches the server, and run this again: existing modules are kept"
	switch {
	case gitRefused().MatchString(said):
		kind = fault.Denied
		hint = "put a name and password for the server into the file .netrc of your home " +
			"directory, or a key into your agent of ssh, and see that they may read the repository"
	case gitNothing().MatchString(said):
		kind = fault.NotFound
		hint = "see repo in project.yml, and how the module is spelled"
	case gitBehind().MatchString(said):
		kind = fault.Conflict
		hint = "fetch the new commits of the server, such as with `git pull --rebase`, and run " +
			"this again"
	case gitMoved().MatchString(said):
		kind = fault.Conflict
		hint = "a tag names another commit on the server now; `git fetch --tags --force` in the " +
			"folder of the module takes that over"
	}
	return fault.New(kind, doing, "%s", said).WithHint("%s", hint)
}

// changed returns the uncommitted changes in the folder of a repository; "" if there are none.
func changed(ctx context.Context, dir string) (string, error) {
	return git(ctx, dir, "status", "--porcelain", "--", ".")
}

// ownCommits returns the commits of HEAD that are on no server; "" if there are none.
func ownCommits(ctx context.Context, dir string) (string, error) {
	return git(ctx, dir, "log", "--oneline", "HEAD", "--not", "--remotes", "--tags")
}

// tags returns the versions that tags of a repository name, and the tags by version.
func tags(ctx context.Context, dir string) ([]pep440.Version, map[string]string, error) {
	out, err := git(ctx, dir, "tag", "--list")
	if err != nil {
		return nil, nil, err
	}
	var versions []pep440.Version
	names := map[string]string{}
	for _, tag := range strings.Fields(out) {
		if v, err := pep440.Parse(tag); err == nil {
			versions = append(versions, v)
			names[v.String()] = tag
		}
	}
	return versions, names, nil
}

// compiler is the version of the reference compiler whose language this compiler implements. The
// compiler_version of modules is compared to it.
const compiler = "20.1.0"

// choose returns the tag of a module's best version within the constraints; "" for the branch.
func choose(ctx context.Context, dir, name, mode string, d *module.Demands) (string, error) {
	if mode == metadata.Master {
		return "", nil
	}
	versions, names, err := tags(ctx, dir)
	if err != nil {
		return "", err
	}
	var set pep440.Set
	for _, a := range d.Of(name) {
		set = append(set, a.Set...)
	}
	fits := set.Filter(versions, mode == metadata.Prerelease)
	if mode == metadata.Release {
		fits = slices.DeleteFunc(fits, pep440.Version.IsPrerelease)
	}
	slices.SortFunc(fits, func(a, b pep440.Version) int { return b.Compare(a) })
	for _, v := range fits {
		if suits(ctx, dir, names[v.String()]) {
			return names[v.String()], nil
		}
	}
	if len(versions) == 0 && len(set) == 0 {
		return "", nil // there is no release yet
	}
	slices.SortFunc(versions, pep440.Version.Compare)
	var texts []string
	for _, v := range versions {
		texts = append(texts, v.String())
	}
	p := d.Conflict(name, texts)
	if mode == metadata.Release && len(set.Filter(versions, true)) > 0 {
		p.Hint = "there are pre-releases: install_mode: prerelease in project.yml allows them"
	}
	return "", oneProblem(p)
}

// suits reports whether the module at a tag supports this compiler.
func suits(ctx context.Context, dir, tag string) bool {
	text, err := git(ctx, dir, "show", tag+":"+metadata.FileV1)
	if err != nil {
		return true // it states no compiler version
	}
	m, _, err := metadata.ReadModuleV1(metadata.FileV1, []byte(text))
	if err != nil || m.CompilerVersion == "" {
		return true // an error in the file is reported when the module is loaded
	}
	needs, err := pep440.Parse(m.CompilerVersion)
	own, _ := pep440.Parse(compiler)
	return err != nil || needs.Compare(own) <= 0
}

// clones are the modules V1 of a project, which git clones from its repositories.
type clones struct {
	meta *metadata.Project
	say  func(format string, args ...any)
	warn func(diag.Problem)
	// back are the functions that revert the changes of clones, in the order of the changes.
	back []func(context.Context) error
}

// undo reverts the changes of all clones, the last change first.
func (c *clones) undo(ctx context.Context) error {
	var all error
	for _, one := range slices.Backward(c.back) {
		all = errors.Join(all, one(ctx))
	}
	c.back = nil
	return all
}

// get clones a module from one of the repositories into a folder, and reports whether one has it.
func (c *clones) get(ctx context.Context, name string, d *module.Demands) (bool, error) {
	into := c.meta.Download()
	if err := os.MkdirAll(into, 0o755); err != nil {
		return false, fault.Wrap(fault.Unavailable, "make "+into, err)
	}
	lock, err := lockFolder(ctx, into, c.say) // several projects may share the folder
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if fileThere(filepath.Join(into, name)) {
		return true, nil // another process cloned it before the lock was free
	}
	if err := tidy(into, "."+name+".install-*"); err != nil {
		return false, err
	}
	var failed []error
	for _, repo := range c.meta.Repos {
		if repo.Type != "git" {
			continue
		}
		temporary, err := os.MkdirTemp(into, "."+name+".install-")
		if err != nil {
			return false, fault.Wrap(fault.Unavailable, "make a folder in "+into, err)
		}
		err = c.clone(ctx, repo, temporary, name, d)
		if err == nil {
			err = c.put(temporary, filepath.Join(into, name))
			return true, fault.Wrap(fault.Unavailable, "put the module in its place", err)
		}
		_ = os.RemoveAll(temporary) // the error of git is returned
		if ctx.Err() != nil || fault.KindOf(err) == fault.Invalid {
			return false, err
		}
		failed = append(failed, err)
	}
	for _, err := range failed {
		if fault.KindOf(err) != fault.NotFound {
			return false, err
		}
	}
	if len(failed) == 0 {
		return false, nil
	}
	return false, fault.Wrap(fault.NotFound, "", errors.Join(failed...))
}

// put moves a clone to its place.
func (c *clones) put(from, to string) error {
	err := os.Rename(from, to)
	if err == nil {
		c.back = append(c.back, func(context.Context) error {
			c.say("%s is removed again", filepath.Base(to))
			return os.RemoveAll(to)
		})
	}
	return err
}

// clone clones a module from a repository into a folder, and checks out the best version.
func (c *clones) clone(
	ctx context.Context, repo metadata.Repo, dir, name string, d *module.Demands,
) error {
	address := repo.Address(name)
	if !strings.Contains(address, ":") && !filepath.IsAbs(address) { // a folder
		full, err := filepath.Abs(filepath.Join(filepath.Dir(c.meta.File), address))
		if err != nil {
			return fault.Wrap(fault.Usage, "get the module", err)
		}
		address = full
	}
	address = withoutPassword(address)
	variables := gitPasswords(c.meta.Repos)
	if _, err := gitWith(ctx, "", variables, "clone", "-q", "--", address, dir); err != nil {
		return gitError("get the module "+name+" from "+hide(address), err)
	}
	tag, err := choose(ctx, dir, name, c.meta.InstallMode, d)
	if err != nil {
		return err
	}
	if tag != "" {
		if err := checkout(ctx, dir, tag); err != nil {
			return err
		}
	}
	m, _, err := module.Open(dir)
	if err != nil {
		return err
	}
	c.say("%s %s from %s", m.Name, m.Version(), hide(address))
	return nil
}

// fetchTags fetches new commits and tags from the server of a module.
func fetchTags(ctx context.Context, m *module.Module) error {
	_, err := gitWith(ctx, m.Dir, passwordsAround(m.Dir), "fetch", "--tags")
	return gitError("fetch new commits of the module "+m.Name+" in "+m.Dir, err)
}

// checkout checks out a tag, a branch or a commit.
func checkout(ctx context.Context, dir, to string) error {
	_, err := git(ctx, dir, "-c", "advice.detachedHead=false", "checkout", "-q", to, "--")
	return err
}

// move checks out the best version of a module in its clone. A clone with changes that are not
// committed or not on the server stays as it is, with a warning.
func (c *clones) move(ctx context.Context, m *module.Module, d *module.Demands) (bool, error) {
	if _, err := os.Stat(filepath.Join(m.Dir, ".git")); err != nil {
		return false, nil // the folder is not a clone of its own
	}
	if text, err := changed(ctx, m.Dir); err != nil || text != "" {
		c.stays(m, "it has changes that are not committed")
		return false, err
	}
	if remote, err := git(ctx, m.Dir, "remote"); err != nil || remote == "" {
		return false, err
	}
	if err := fetchTags(ctx, m); err != nil {
		return false, err
	}
	own, err := ownCommits(ctx, m.Dir)
	if err != nil || own != "" {
		c.stays(m, "it has commits that are not on the server")
		return false, err
	}
	before, err := git(ctx, m.Dir, "rev-parse", "HEAD")
	if err != nil {
		return false, err
	}
	at, err := git(ctx, m.Dir, "rev-parse", "--abbrev-ref", "HEAD")
	if err != nil {
		return false, err
	}
	if at == "HEAD" { // a detached HEAD
		at = before
	}
	tag, err := choose(ctx, m.Dir, m.Name, c.meta.InstallMode, d)
	if err != nil {
		return false, err
	}
	if tag == "" {
		tag = "origin/HEAD"
	}
	if err := checkout(ctx, m.Dir, tag); err != nil {
		return false, err
	}
	after, err := git(ctx, m.Dir, "rev-parse", "HEAD")
	if before != after {
		c.say("%s is at %s", m.Name, tag)
		was := m.Version()
		c.back = append(c.back, func(ctx context.Context) error {
			c.say("%s is at %s again", m.Name, was)
			return checkout(ctx, m.Dir, at)
		})
	}
	return before != after, err
}

// stays warns that a module is left as it is.
func (c *clones) stays(m *module.Module, why string) {
	c.warn(diag.Problem{
		Pos: diag.Pos{File: m.Dir}, Code: metadata.CodeModule,
		Message: "the module " + m.Name + " stays as it is: " + why,
		Hint:    "commit and push it, or put it aside, and run this again",
	})
}
