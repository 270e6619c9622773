package input

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"southbound/shared/api"
	"southbound/shared/child"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/patience"
)

// OriginFlags adds the flags that set the origin of a version.
func OriginFlags(fl *pflag.FlagSet, o *state.Origin) {
	fl.StringVar(&o.Author, "author", "", "author of the version (default: from CI or git)")
	fl.StringVar(&o.Message, "message", "", "reason for the version (default: the subject of the commit)")
	fl.StringVar(&o.Commit, "commit", "", "commit of the documents (default: from CI or git)")
}

// gitSlow is how long git may take before people see a message about the wait.
const gitSlow = 3 * time.Second

// gitReader queries git about a directory.
type gitReader struct {
	ctx context.Context
	dir string
}

// The limits of the origin that a version records.
const (
	MaxName    = 1000
	MaxMessage = 10_000
)

// OriginOf returns the origin of the documents under path: from flags, else from the variables of
// CI, else from git, if path is in a work tree. It warns people through say if git takes long.
func OriginOf(
	ctx context.Context, say func(string, ...any), path string, flags state.Origin,
) state.Origin {
	ci := state.Origin{
		Author:  firstVariable(authors()...),
		Message: firstVariable("CI_COMMIT_TITLE"),
		Commit:  firstVariable("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT"),
	}
	git := state.Origin{}
	if flags.Author == "" && ci.Author == "" || flags.Message == "" && ci.Message == "" ||
		flags.Commit == "" && ci.Commit == "" {
		slow := patience.AfterFunc(gitSlow, func() {
			say("git takes long to name the author and the commit; --author, --message and " +
				"--commit make it unnecessary")
		})
		git = gitOrigin(ctx, path)
		slow.Stop()
	}
	out := state.Origin{Author: cmp.Or(flags.Author, ci.Author, git.Author, userName()),
		Message: cmp.Or(flags.Message, ci.Message), Commit: cmp.Or(flags.Commit, ci.Commit,
			git.Commit)}
	if out.Message == "" && out.Commit == git.Commit {
		out.Message = git.Message
	}
	out.Author, out.Commit, out.Message = FirstBytes(out.Author, MaxName), FirstBytes(out.Commit,
		MaxName), FirstBytes(out.Message, MaxMessage)
	return out
}

// authors are the variables in which CI names the user who started it.
func authors() []string { return []string{"GITHUB_ACTOR", "GITLAB_USER_LOGIN", "BUILD_USER_ID"} }

// Applier names the user who runs the program, or who started it in CI.
func Applier() string {
	return FirstBytes(cmp.Or(firstVariable(authors()...), userName()), MaxName)
}

func firstVariable(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}

// userName returns the name of the user who runs the program, also through sudo.
func userName() string {
	if name := firstVariable("SUDO_USER", "USER", "LOGNAME"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// FirstBytes truncates a text to at most so many bytes, at a character boundary.
func FirstBytes(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// gitOrigin queries git about the work tree of path. Uncommitted changes are marked at the commit,
// as git describe does. The message is then omitted, since it does not describe them.
func gitOrigin(ctx context.Context, path string) state.Origin {
	dir := path
	if info, err := os.Stat(path); path == "-" || err != nil || !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if !inGit(dir) {
		return state.Origin{}
	}
	var o state.Origin
	g := &gitReader{ctx, dir}
	if text, ok := g.ask("var", "GIT_AUTHOR_IDENT"); ok { // name <address> time zone
		if i := strings.LastIndexByte(text, '>'); i > 0 {
			o.Author = text[:i+1]
		}
	}
	text, ok := g.ask("log", "-1", "--format=%H%x00%s")
	if !ok {
		return o
	}
	o.Commit, o.Message, _ = strings.Cut(text, "\x00")
	if changes, ok := g.ask("status", "--porcelain", "--", "."); !ok || changes != "" {
		o.Commit, o.Message = o.Commit+"-dirty", ""
	}
	return o
}

// inGit reports whether a directory is in a work tree.
func inGit(dir string) bool {
	at, err := filepath.Abs(dir)
	for err == nil {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(at)
		if up == at {
			return false
		}
		at = up
	}
	return false
}

// ask runs git and returns its output. It waits for git without a limit: otherwise the recorded
// author or commit of a version would depend on the speed of a disk. People see a message about the
// wait.
func (g *gitReader) ask(args ...string) (string, bool) {
	cmd := exec.Command("git", append([]string{"-C", g.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
	var out bytes.Buffer
	cmd.Stdout = &out
	err := child.Run(g.ctx, cmd, 0)
	return string(bytes.TrimRight(out.Bytes(), "\n")), err == nil
}

// OriginText describes the origin of a version in one line that follows the version.
func OriginText(o api.Origin) string {
	text := ""
	if o.Author != "" {
		text += "  by " + output.OneLine(o.Author)
	}
	if o.Commit != "" {
		text += "  " + output.OneLine(shortCommit(o.Commit))
	}
	if subject, _, _ := strings.Cut(o.Message, "\n"); subject != "" {
		text += "  " + output.OneLine(subject)
	}
	return text
}

// shortCommit shortens the hash of a commit to its usual length, and keeps the suffix after it.
func shortCommit(s string) string {
	hash, rest, _ := strings.Cut(s, "-")
	if len(hash) < 40 || strings.Trim(hash, "0123456789abcdef") != "" {
		return s
	}
	if rest != "" {
		rest = "-" + rest
	}
	return hash[:12] + rest
}
