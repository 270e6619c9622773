package exec

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"southbound/handlers/internal/tool"
	"southbound/shared/child"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// ended is a command that has ended.
type ended struct {
	code   int
	output []string // see bounded.pieces
}

// why returns ": " and the line of the output that explains a failure, for an error. This is the
// first line that reads like an error, since later lines often report consequences. If there is
// none, it is the last line.
func (e ended) why() string {
	for _, piece := range e.output {
		for line := range strings.Lines(piece) {
			if line = strings.TrimSpace(line); len(line) <= maxLast && readsLikeError(line) {
				return ": " + line
			}
		}
	}
	if len(e.output) == 0 {
		return ""
	}
	return lastLine(e.output[len(e.output)-1])
}

// readsLikeError reports whether a line of output has the form of an error message.
func readsLikeError(line string) bool {
	line = strings.ToLower(line)
	for _, word := range []string{"error:", "error ", "fatal", "failed", "cannot ", "can't ",
		"could not ", "unable to ", "denied",
		"not found", "no such ", "refused", "panic:", "e: "} {
		if strings.HasPrefix(line, word) || strings.Contains(line, word) && word != "e: " {
			return true
		}
	}
	return false
}

// start runs argv to its end. If its time is up or ctx is over, the command and all processes it
// started are ended, see package child. The environment is passed only to the command, and is never
// part of an error.
func start(ctx *provider.Context, r provider.Resource, argv []string) (ended, error) {
	limit, cancel := patience.WithTimeout(ctx, timeout(r))
	defer cancel()
	out := &bounded{}
	cmd, err := prepare(r, argv)
	if err != nil {
		return ended{}, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	err = child.Run(limit, cmd, 0)
	end := ended{output: out.pieces()}
	var exit *exec.ExitError
	var cut *child.Ended
	switch {
	case err == nil:
		return end, nil
	case errors.As(err, &cut) && ctx.Err() != nil:
		return end, provider.Errorf(provider.Retryable, "%s was ended: %w", argv[0], ctx.Err())
	case errors.As(err, &cut):
		return end, provider.Errorf(provider.Retryable,
			"%s took longer than %s and was ended; raise timeout if it needs more", argv[0],
			timeout(r))
	case errors.As(err, &exit) && exit.Exited():
		end.code = exit.ExitCode()
		return end, nil
	case errors.As(err, &exit):
		return end, provider.Errorf(provider.Retryable, "%s was ended by a signal: %v%s", argv[0],
			exit, end.why())
	}
	return end, notStarted(argv[0], cmd.Dir, err)
}

// prepare describes the process to run. Its input is empty.
func prepare(r provider.Resource, argv []string) (*exec.Cmd, error) {
	who, err := identity(r)
	if err != nil {
		return nil, err
	}
	dir := "/"
	if s, _ := r.Attributes["cwd"].(string); s != "" {
		dir = s
	}
	env, path := environment(r, who)
	program, err := find(argv[0], dir, path)
	if err != nil {
		return nil, notStarted(argv[0], dir, err)
	}
	args := argv
	if mask, _ := r.Attributes["umask"].(string); mask != "" {
		args = slices.Concat([]string{"/bin/sh", "-c", `umask "$0" && exec "$@"`, mask, program},
			argv[1:])
		program = args[0]
	}
	cmd := exec.Command(program)
	cmd.Args, cmd.Dir, cmd.Env = args, dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who.credential}
	return cmd, nil
}

// find returns the file of a program as a shell does: by the PATH of the command, regardless of the
// PATH of this process.
func find(name, dir, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // relative to dir if it is not absolute
	}
	missing := os.ErrNotExist
	for _, in := range filepath.SplitList(path) {
		if !filepath.IsAbs(in) {
			in = filepath.Join(dir, in)
		}
		file := filepath.Join(in, name)
		switch info, err := os.Stat(file); {
		case err != nil || info.IsDir():
		case info.Mode()&0o111 == 0:
			missing = os.ErrPermission
		default:
			return file, nil
		}
	}
	return "", missing
}

// notStarted explains why the process could not be started.
func notStarted(name, dir string, err error) error {
	if info, e := os.Stat(dir); e != nil {
		return provider.Errorf(provider.Retryable, "%s cannot run in %s: %w", name, dir, e)
	} else if !info.IsDir() {
		return provider.Errorf(provider.NeedsChange,
			"%s cannot run in %s, which is not a directory", name, dir)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return provider.Errorf(provider.Retryable,
			"%s cannot be started: there is no such program, or no interpreter for it", name)
	case errors.Is(err, os.ErrPermission):
		return provider.Errorf(provider.Terminal,
			"%s cannot be started: %w; it must be executable, and only the superuser may become "+
				"another user", name, err)
	case errors.Is(err, syscall.ENOEXEC):
		return provider.Errorf(provider.Terminal,
			"%s cannot be started: %w; a script begins with #! and its interpreter", name, err)
	case errors.Is(err, syscall.E2BIG):
		return provider.Errorf(provider.NeedsChange,
			"%s cannot be started: arguments and environment are too long", name)
	}
	return provider.Errorf(provider.Retryable, "%s cannot be started: %w", name, err)
}

// account is the user that runs a command.
type account struct {
	credential *syscall.Credential // nil: the user of this process
	name, home string
}

// identity looks up the user that runs a command.
func identity(r provider.Resource) (account, error) {
	asked, _ := r.Attributes["user"].(string)
	if asked == "" {
		who := account{name: os.Getenv("USER"), home: os.Getenv("HOME")}
		if u, err := user.Current(); err == nil {
			who.name, who.home = u.Username, u.HomeDir
		}
		return who, nil
	}
	u, err := user.Lookup(asked)
	if err != nil {
		if u, err = user.LookupId(asked); err != nil {
			return account{}, provider.Errorf(provider.Retryable, "there is no user %q", asked)
		}
	}
	who := account{name: u.Username, home: u.HomeDir}
	if u.Uid == strconv.Itoa(os.Geteuid()) {
		return who, nil
	}
	if who.credential, err = tool.Credential(u); err != nil {
		return account{}, provider.Errorf(provider.Retryable, "%w", err)
	}
	return who, nil
}

// environment is deliberately small: a command's variables do not depend on the user who started
// this program. path is its PATH.
func environment(r provider.Resource, who account) (env []string, path string) {
	vars := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG": "C.UTF-8", "HOME": who.home, "USER": who.name, "LOGNAME": who.name,
	}
	given, _ := r.Attributes["environment"].(map[string]any)
	for k, v := range given {
		vars[k] = fmt.Sprint(v)
	}
	env = make([]string, 0, len(vars))
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env, vars["PATH"]
}
