package git

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/child"
	"southbound/shared/provider"
)

// client runs git for one resource.
type client struct {
	wanted
	ctx    *provider.Context
	before func(args []string) error // called before each run that may make a change
	config []string                  // more settings: name=value
	extra  []string                  // more environment variables
	who    *syscall.Credential
	home   string
	key    *keyring
}

// close ends the processes that were started for git.
func (g *client) close() {
	if g.key != nil {
		g.key.close()
	}
}

// afterTerm is how long git may take to clean up after SIGTERM.
const afterTerm = 5 * time.Second

// checkout returns the checkout of a resource. The caller closes it.
func (h handler) checkout(ctx *provider.Context, w wanted) (*checkout, error) {
	g, err := h.identity(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.sshKey != "" {
		ctx.Secret(w.sshKey)
		if g.key, err = offer(g); err != nil {
			return nil, err
		}
	}
	return &checkout{client: *g}, nil
}

// identity determines the user git runs as.
func (h handler) identity(ctx *provider.Context, w wanted) (*client, error) {
	g := &client{wanted: w, ctx: ctx, before: h.before, config: h.config, home: os.Getenv("HOME")}
	if w.password != "" {
		ctx.Secret(w.password)
	}
	if w.user == "" {
		return g, nil
	}
	u, err := user.Lookup(w.user)
	if err != nil {
		return nil, provider.Errorf(provider.Retryable, "there is no user %q: %w", w.user, err)
	}
	g.home = u.HomeDir
	if u.Uid == strconv.Itoa(os.Geteuid()) {
		return g, nil
	}
	if g.who, err = tool.Credential(u); err != nil {
		return nil, provider.Errorf(provider.Retryable, "%w", err)
	}
	return g, nil
}

// helper answers from the environment, so that a password is in no command line and no file.
const helper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$SOUTHBOUND_GIT_USERNAME" "$SOUTHBOUND_GIT_PASSWORD"; }; f`

// settings apply to every run. Hooks are code of any user who can write to the repository. Logs of
// all refs later show which commits a remote had.
func (g *client) settings() []string {
	out := []string{"core.hooksPath=/dev/null", "advice.detachedHead=false", "gc.auto=0",
		"maintenance.auto=false", "credential.helper=", "core.askPass=", "core.fsmonitor=false",
		"core.logAllRefUpdates=always", "submodule.recurse=false"}
	if g.password != "" {
		out = append(out, "credential.helper="+helper)
	}
	return append(out, g.config...)
}

func (g *client) environment() []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + g.home, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(g.path)}
	// Another user gets none of this process's credentials.
	own := g.key == nil && g.who == nil
	if g.key == nil && (os.Getenv("GIT_SSH_COMMAND") == "" || !own) {
		env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	for _, name := range []string{"GIT_SSH_COMMAND", "SSH_AUTH_SOCK", "http_proxy", "https_proxy",
		"no_proxy", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"} {
		if v := os.Getenv(name); v != "" && (own || !strings.Contains(name, "SSH_")) &&
			(g.who == nil || !tool.ProxyLogin(name+"="+v)) {
			env = append(env, name+"="+v)
		}
	}
	if g.key != nil {
		env = append(env, g.key.environment(g)...)
	}
	if g.password != "" {
		name := g.username
		if name == "" {
			name = "git"
		}
		env = append(env, "SOUTHBOUND_GIT_USERNAME="+name, "SOUTHBOUND_GIT_PASSWORD="+g.password)
	}
	return env
}

// failure is the output of a failed git.
type failure struct {
	code   int
	output string
}

// Error returns the output.
func (f *failure) Error() string { return f.output }

// ask runs git in a directory, for commands that change nothing, and returns its output.
func (g *client) ask(dir string, args ...string) (string, error) {
	return g.feed(dir, "", args...)
}

// feed is ask with a standard input.
func (g *client) feed(dir, input string, args ...string) (string, error) {
	var stdout strings.Builder
	err := g.pipe(dir, input, &stdout, args...)
	if err != nil {
		return "", err
	}
	return stdout.String(), nil
}

// pipe runs git with a standard input and output.
func (g *client) pipe(dir, input string, stdout io.Writer, args ...string) error {
	var argv []string
	for _, s := range g.settings() {
		argv = append(argv, "-c", s)
	}
	cmd := exec.Command("git", append(append(argv, "-C", dir), args...)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	cmd.Env = append(g.environment(), g.extra...)
	if input != "" {
		cmd.Stdin = strings.NewReader(input)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.who}
	err := child.Run(g.ctx, cmd, afterTerm) // git then removes its locks
	var exit *exec.ExitError
	var cut *child.Ended
	switch {
	case errors.As(err, &cut):
		return provider.Errorf(provider.Retryable, "git %s: %w", args[0], cut.Cause)
	case errors.Is(err, exec.ErrNotFound):
		return provider.Errorf(provider.Retryable, "there is no program git; install it")
	case errors.As(err, &exit):
		return g.explain(args[0], &failure{exit.ExitCode(), g.tail(stderr.String())})
	case err != nil:
		return provider.Errorf(provider.Retryable, "git %s: %w", args[0], err)
	}
	return nil
}

// maxOutput limits how much of git's output is shown.
const maxOutput = 600

func (g *client) tail(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if g.password != "" {
		s = strings.ReplaceAll(s, g.password, "***")
	}
	if len(s) > maxOutput {
		s = "…" + strings.ToValidUTF8(s[len(s)-maxOutput:], "")
	}
	lines := strings.FieldsFunc(s, func(c rune) bool { return c == '\n' || c == '\r' })
	return strings.Join(lines, "; ")
}

// explain classifies a failure.
func (g *client) explain(what string, f *failure) error {
	for _, part := range []string{"Authentication failed", "could not read Username",
		"could not read Password", "Permission denied (publickey", "Host key verification failed"} {
		if strings.Contains(f.output, part) {
			return provider.Errorf(provider.Terminal,
				"git %s: %w; the remote refuses who asks: see username and password, or the keys "+
					"of the user that git runs as", what, f)
		}
	}
	if strings.Contains(f.output, "dubious ownership") {
		return provider.Errorf(provider.NeedsChange,
			"git %s: %w; a repository of another user may hold settings that run programs: set "+
				"user to its owner", what, f)
	}
	return provider.Errorf(provider.Retryable, "git %s: %w", what, f)
}

// do runs git for commands that change the repository.
func (g *client) do(dir string, args ...string) error {
	if err := g.step(args...); err != nil {
		return err
	}
	_, err := g.ask(dir, args...)
	return err
}

// step is called before each change.
func (g *client) step(args ...string) error {
	if g.before != nil {
		return g.before(args)
	}
	return nil
}

// succeeds runs git only for its exit code: 0 is true, 1 is false.
func (g *client) succeeds(dir string, args ...string) (bool, error) {
	_, err := g.ask(dir, args...)
	var f *failure
	if errors.As(err, &f) && (f.code == 1 || f.code == 128) {
		return false, nil
	}
	return err == nil, err
}
