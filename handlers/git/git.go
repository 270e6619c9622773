// Package git manages checkouts of git repositories on the machine it runs on. It runs the program
// git.
package git

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Checkout declares git::Checkout: a directory with a git repository, at a revision.
func Checkout() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:    "git::Checkout",
			Machine: true,
			Description: "A checkout of a git repository. It appears atomically. Local work is never lost, " +
				"unless local is discard: changed, untracked and ignored files, and commits, stashes, " +
				"tags and all other objects of the repository and its submodules that no remote has. A " +
				"plan shows changes that would be refused because of local work. Hooks of the " +
				"repository do not run. Each run asks the remote whether a branch has moved, unless " +
				"update is false.",
			Attributes: []schema.Attribute{
				{Name: "path", Type: `Pattern[/\A\//]`, Behaviour: schema.Namevar,
					Description: "the directory: an absolute path"},
				{Name: "source", Type: `Pattern[/\A[^-\s][^\r\n]*\z/]`,
					Description: "the remote: a URL, host:path or a path; without credentials"},
				{Name: "revision", Type: `Optional[Pattern[/\A[^-\s][^\s~^:?*\[\\]*\z/]]`,
					Description: "a branch, a tag or a whole commit id; absent: the remote's default branch is " +
						"checked out once, and any revision is accepted"},
				{Name: "update", Type: "Boolean", Default: true, Behaviour: schema.Parameter,
					Description: "whether to follow a branch or tag that moves on the remote; false: the remote " +
						"is asked only for missing revisions"},
				{Name: "local", Type: "Enum[refuse,keep,discard]", Default: "refuse",
					Behaviour: schema.Parameter,
					Description: "treatment of local work. refuse: a revision is not checked out if tracked " +
						"files are changed, if it would overwrite other files, or if it would leave " +
						"commits that the remote does not have; a checkout with local work is not " +
						"purged. keep: the same, but another revision is checked out if it does not " +
						"touch the changed files. discard: changed files are restored at every run, " +
						"branches are reset, files in the way are overwritten, and a purge removes " +
						"everything. In a bare repository, refuse fails if a branch or tag changed " +
						"both locally and on the remote, keep leaves it, and discard removes " +
						"everything that the remote does not have"},
				{Name: "depth", Type: "Optional[Integer[1]]", Behaviour: schema.Parameter,
					Description: "number of fetched commits of the history; absent: all"},
				{Name: "submodules", Type: "Boolean", Default: false,
					Description: "whether to check out submodules"},
				{Name: "bare", Type: "Boolean", Default: false, Behaviour: schema.InitOnly,
					Description: "a repository without a working tree, with all branches and tags of the remote"},
				{Name: "user", Type: `Optional[Pattern[/\A[^\s:-][^\s:]*\z/]]`,
					Behaviour:   schema.Parameter,
					Description: "the user that runs git and owns the files, by name"},
				{Name: "username", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Description: "the user name for the remote"},
				{Name: "password", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Sensitive:   true,
					Description: "the password or token for the remote; it is not written to disk"},
				{Name: "ssh_key", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Sensitive: true,
					Description: "the private key for a remote over ssh, in OpenSSH or PEM format, without a " +
						"passphrase; it is not written to disk"},
				{Name: "known_hosts", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "with ssh_key: known_hosts lines of the remote; absent: those of the user that " +
						"runs git"},
				{Name: "commit", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the checked-out commit"},
				{Name: "modified", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "files that differ from the commit, if local is discard"},
			},
			Timeout:  30 * time.Minute, // the first fetch of a large repository
			Features: []string{"noop", "facts"},
			Validate: validate,
			Thing:    thingOf,
			Keeps:    schema.KeepsTrees("path"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "fs::Directory",
					Keys: map[string]string{"path": "${path|dir}"}},
				{Kind: schema.Require, Type: "acct::User",
					Keys: map[string]string{"name": "$user"}},
			},
		},
		Handler: handler{},
	}
}

// thingOf names a checkout by its directory.
func thingOf(attrs map[string]any) schema.Thing {
	path := schema.CleanPath(attrs["path"])
	if path == "" {
		return schema.Thing{}
	}
	return schema.NewThing("the checkout at " + path)
}

func validate(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	add := func(attribute, hint, format string, args ...any) {
		out = append(out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
			Hint: hint})
	}
	if path, ok := attrs["path"].(string); ok && (filepath.Clean(path) != path || path == "/") {
		add("path", "write "+filepath.Clean(path),
			"the path %q is not one of a directory in its shortest form", path)
	}
	const hint = "give username and password"
	if provider.HasSecret(attrs["source"]) {
		add("source", hint,
			"source is written to the repository and shown, so it cannot be a secret")
	}
	if s, ok := attrs["source"].(string); ok && hasPassword(s) {
		add("source", hint,
			"source has a password in it, which would be written to the repository and shown")
	}
	if attrs["known_hosts"] != nil && attrs["ssh_key"] == nil {
		add("known_hosts", "give ssh_key, too, or keep the hosts in the files of the user",
			"known_hosts without ssh_key is not used")
	}
	if bare, _ := attrs["bare"].(bool); bare {
		for _, name := range []string{"revision", "depth"} {
			if attrs[name] != nil {
				add(name, "leave it out",
					"a bare repository has all of the remote and nothing checked out")
			}
		}
		if sub, _ := attrs["submodules"].(bool); sub {
			add("submodules", "leave it out", "a bare repository has nothing checked out")
		}
	}
	return out
}

func hasPassword(source string) bool {
	u, err := url.Parse(source)
	if err != nil || u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// wanted holds the attributes of a resource.
type wanted struct {
	path, source, revision, local string
	update, submodules, bare      bool
	depth                         int64
	user, username, password      string
	sshKey, knownHosts            string
}

// wantedOf reads a resource, and rejects one without any effect.
func wantedOf(r provider.Resource) (wanted, error) {
	text := func(name string) string { s, _ := r.Attributes[name].(string); return s }
	yes := func(name string) bool { b, _ := r.Attributes[name].(bool); return b }
	w := wanted{path: text("path"), source: text("source"), revision: text("revision"),
		local: text("local"), update: yes("update"), submodules: yes("submodules"),
		bare: yes("bare"), user: text("user"), username: text("username"),
		password: text("password"), sshKey: text("ssh_key"), knownHosts: text("known_hosts")}
	w.depth, _ = r.Attributes["depth"].(int64)
	switch {
	case !filepath.IsAbs(w.path) || filepath.Clean(w.path) != w.path || w.path == "/":
		return w, provider.Errorf(provider.NeedsChange,
			"%q is not an absolute path in its shortest form", w.path)
	case (w.source == "" || w.source[0] == '-' || hasPassword(w.source)) && !r.Purged:
		return w, provider.Errorf(provider.NeedsChange,
			"the source is empty, looks like an option, or has a password in it")
	case strings.HasPrefix(w.revision, "-"):
		return w, provider.Errorf(provider.NeedsChange, "the revision %q looks like an option",
			w.revision)
	}
	return w, w.reached()
}

var commitID = pattern.Lazy(`\A([0-9a-f]{40}|[0-9a-f]{64})\z`)

// isCommit reports whether a revision is a complete commit id.
func isCommit(revision string) bool { return commitID().MatchString(revision) }
