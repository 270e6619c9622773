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
			Description: "A checkout of a git repository. It appears as a whole. Work that is only " +
				"there is never lost, unless local is discard: files that are changed, untracked " +
				"or ignored, and commits, stashes, tags and whatever else its repository and " +
				"those of its submodules have that no remote had. A plan shows which changes " +
				"would be refused for that. Hooks of the repository do not run. Whether a branch " +
				"has moved is asked of the remote at each run, unless update is false.",
			Attributes: []schema.Attribute{
				{Name: "path", Type: `Pattern[/\A\//]`, Behaviour: schema.Namevar,
					Description: "the directory: an absolute path"},
				{Name: "source", Type: `Pattern[/\A[^-\s][^\r\n]*\z/]`,
					Description: "the remote: a URL, host:path or a path; without credentials"},
				{Name: "revision", Type: `Optional[Pattern[/\A[^-\s][^\s~^:?*\[\\]*\z/]]`,
					Description: "a branch, a tag or a whole commit id; left out, the branch " +
						"that the remote has as its own is checked out once, and any revision " +
						"is right"},
				{Name: "update", Type: "Boolean", Default: true, Behaviour: schema.Parameter,
					Description: "whether it follows the remote when a branch or tag has moved " +
						"there; false: the remote is asked only for what is not here"},
				{Name: "local", Type: "Enum[refuse,keep,discard]", Default: "refuse",
					Behaviour: schema.Parameter,
					Description: "what becomes of work that is only here. refuse: a revision " +
						"is not checked out while tracked files are changed, where it would " +
						"overwrite others, or where it would leave commits that the remote has " +
						"not; a checkout with any work is not purged. keep: the same, but " +
						"another revision is checked out under changed files that it does not " +
						"concern. discard: changed files are restored, also when nothing has to " +
						"move, branches are reset, files in the way are overwritten, and a purge " +
						"removes everything. In a bare repository, refuse fails where a branch " +
						"or tag was changed both here and at the remote, keep leaves it, and " +
						"discard leaves nothing that the remote has not"},
				{Name: "depth", Type: "Optional[Integer[1]]", Behaviour: schema.Parameter,
					Description: "how many commits of the history are fetched; left out, all"},
				{Name: "submodules", Type: "Boolean", Default: false,
					Description: "whether submodules are checked out, too"},
				{Name: "bare", Type: "Boolean", Default: false, Behaviour: schema.InitOnly,
					Description: "a repository without a working tree, which has all branches " +
						"and tags of the remote"},
				{Name: "user", Type: `Optional[Pattern[/\A[^\s:-][^\s:]*\z/]]`,
					Behaviour:   schema.Parameter,
					Description: "the user that git runs as, by name, who then owns the files"},
				{Name: "username", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Description: "the name given to a remote that asks for one"},
				{Name: "password", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Sensitive: true,
					Description: "the password or token given to a remote that asks for one; it " +
						"is written nowhere"},
				{Name: "ssh_key", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Sensitive: true,
					Description: "the private key shown to a remote over ssh, in the form of " +
						"OpenSSH or PEM, without a passphrase; it is written nowhere"},
				{Name: "known_hosts", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "with ssh_key: the lines of known_hosts for the remote; left " +
						"out, those of the user that git runs as"},
				{Name: "commit", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the commit that is checked out"},
				{Name: "modified", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "files that differ from the commit, when local is discard"},
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
			"what is in source is written to the repository and shown, so it cannot be a secret")
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

// wanted is what a resource says.
type wanted struct {
	path, source, revision, local string
	update, submodules, bare      bool
	depth                         int64
	user, username, password      string
	sshKey, knownHosts            string
}

// wantedOf reads a resource, and refuses one that nothing is to be done for.
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

// isCommit reports whether a revision is a whole commit id.
func isCommit(revision string) bool { return commitID().MatchString(revision) }
