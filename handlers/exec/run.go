// Package exec runs commands.
package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Run declares exec::Run: a command that is run when its conditions say so.
func Run() provider.Definition {
	guard := "a command, as command is; "
	return provider.Definition{
		Type: schema.Type{
			Name: "exec::Run",
			Description: "A command. Without unless, onlyif, creates and reload_only it runs at every deploy and every repair; with them only when they " +
				"say that it is needed. Secrets belong into environment: command lines can be seen by everybody on the machine.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
				{Name: "command", Type: "Variant[String[1],Array[String,1]]", Behaviour: schema.Parameter, Description: "a list is run as it is, text by /bin/sh -c"},
				{Name: "unless", Type: "Optional[Variant[String[1],Array[String,1]]]", Behaviour: schema.Parameter, Description: guard + "not needed when it succeeds"},
				{Name: "onlyif", Type: "Optional[Variant[String[1],Array[String,1]]]", Behaviour: schema.Parameter, Description: guard + "needed only when it succeeds"},
				{Name: "creates", Type: "Optional[Pattern[/\\A\\//]]", Behaviour: schema.Parameter, Description: "not needed when this path exists"},
				{Name: "reload_only", Type: "Boolean", Default: false, Behaviour: schema.Parameter, Description: "run only when something it requires has sent an event"},
				{Name: "timeout", Type: "Integer[1,86400]", Default: int64(300), Behaviour: schema.Parameter, Description: "seconds that a command may take"},
				{Name: "environment", Type: "Optional[Hash[String,String]]", Behaviour: schema.Parameter, Description: "variables beside PATH, HOME and LANG"},
				{Name: "cwd", Type: "Optional[Pattern[/\\A\\//]]", Behaviour: schema.Parameter, Description: "the directory it runs in; / unless said"},
				{Name: "returns", Type: "Array[Integer[0,255],1]", Default: []any{int64(0)}, Behaviour: schema.Parameter, Description: "exit codes that mean success"},
			},
			Features: []string{"reload"},
			Validate: noSecretInArgv,
		},
		Handler: handler{},
	}
}

// noSecretInArgv refuses references to secrets in command lines.
func noSecretInArgv(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	for _, name := range []string{"command", "unless", "onlyif"} {
		if provider.HasSecret(attrs[name]) {
			out = append(out, diag.Problem{Attribute: name, Message: "a secret in a command line can be seen by everybody on the machine",
				Hint: "put it into environment and use the variable"})
		}
	}
	return out
}

type handler struct{}

// CallTimeout implements provider.Timeouter: the guards and the command each take at most the timeout.
func (handler) CallTimeout(r provider.Resource) time.Duration {
	seconds, _ := r.Attributes["timeout"].(int64)
	return time.Duration(3*max(seconds, 1)+5) * time.Second
}

// Read implements provider.Handler: what exists is a state in which the command need not run.
func (handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	if r.Purged {
		return provider.Observation{}, nil
	}
	if reload, _ := r.Attributes["reload_only"].(bool); reload {
		return provider.Observation{Exists: true}, nil
	}
	if path, _ := r.Attributes["creates"].(string); path != "" {
		if _, err := os.Lstat(path); err == nil {
			return provider.Observation{Exists: true}, nil
		}
	}
	for _, guard := range []struct {
		name string
		skip bool // when it succeeds
	}{{"unless", true}, {"onlyif", false}} {
		argv := argvOf(r.Attributes[guard.name])
		if argv == nil {
			continue
		}
		code, _, err := start(ctx, r, argv)
		if err != nil {
			return provider.Observation{}, fmt.Errorf("%s: %w", guard.name, err)
		}
		ctx.Debug("ran "+guard.name, "exit_code", int64(code))
		if (code == 0) == guard.skip {
			return provider.Observation{Exists: true}, nil
		}
	}
	return provider.Observation{}, nil
}

// Create implements provider.Handler: it runs the command.
func (handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, run(ctx, req.Resource)
}

// Update implements provider.Handler; nothing about a command is compared.
func (handler) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Delete implements provider.Handler; a command that ran cannot be taken back.
func (handler) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Reload implements provider.Reloader: it runs the command that waited for an event.
func (handler) Reload(ctx *provider.Context, req provider.ReadRequest) error {
	if only, _ := req.Resource.Attributes["reload_only"].(bool); !only {
		return nil // it has run, or its guards say that it need not
	}
	if err := run(ctx, req.Resource); err != nil {
		return err
	}
	ctx.Changed("reload", nil, "ran")
	return nil
}

func run(ctx *provider.Context, r provider.Resource) error {
	code, output, err := start(ctx, r, argvOf(r.Attributes["command"]))
	if err != nil {
		return err
	}
	returns, _ := r.Attributes["returns"].([]any)
	ok := slices.Contains(returns, any(int64(code)))
	log := ctx.Info
	if !ok {
		log = ctx.Error
	}
	log("ran the command", "exit_code", int64(code), "output", output)
	if !ok {
		return provider.Errorf(provider.Retryable, "the command ended with exit code %d%s", code, lastLine(output))
	}
	return nil
}

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + last
	}
	return ""
}

func argvOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{"/bin/sh", "-c", v}
	case []any:
		argv := make([]string, 0, len(v))
		for _, e := range v {
			s, _ := e.(string)
			argv = append(argv, s)
		}
		return argv
	}
	return nil
}

// start runs argv to its end, in a process group of its own that is killed as a whole when the time is up.
func start(ctx *provider.Context, r provider.Resource, argv []string) (int, string, error) {
	seconds, _ := r.Attributes["timeout"].(int64)
	limit, cancel := context.WithTimeout(ctx, time.Duration(max(seconds, 1))*time.Second)
	defer cancel()
	cmd := exec.CommandContext(limit, argv[0], argv[1:]...) //nolint:gosec // running commands is what it is for
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	cmd.Dir = "/"
	if dir, _ := r.Attributes["cwd"].(string); dir != "" {
		cmd.Dir = dir
	}
	cmd.Env = environment(r)
	out := &bounded{}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case limit.Err() != nil && ctx.Err() == nil:
		return 0, "", provider.Errorf(provider.Retryable, "%s took longer than %d s and was ended", argv[0], seconds)
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return cmd.ProcessState.ExitCode(), out.String(), nil
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), out.String(), nil
	case errors.As(err, &exit):
		return 0, "", provider.Errorf(provider.Retryable, "%s was ended by a signal: %v%s", argv[0], exit, lastLine(out.String()))
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission), errors.Is(err, exec.ErrNotFound):
		return 0, "", provider.Errorf(provider.Retryable, "%s cannot be started in %s: %w", argv[0], cmd.Dir, err)
	}
	return 0, "", fmt.Errorf("run %s: %w", argv[0], err)
}

// environment is small on purpose: what a command sees does not depend on who started the program.
func environment(r provider.Resource) []string {
	vars := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": os.Getenv("HOME")}
	given, _ := r.Attributes["environment"].(map[string]any)
	for k, v := range given {
		s, _ := v.(string)
		vars[k] = s
	}
	env := make([]string, 0, len(vars))
	for k, v := range vars {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	return env
}

// bounded keeps the first and the last part of what is written to it.
type bounded struct {
	head, tail bytes.Buffer
	dropped    int
}

const keep = 8 << 10 // bytes of each part

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := keep - b.head.Len(); room > 0 {
		part := p[:min(room, len(p))]
		b.head.Write(part)
		p = p[len(part):]
	}
	b.tail.Write(p)
	if over := b.tail.Len() - keep; over > 0 {
		b.dropped += over
		b.tail.Next(over)
	}
	return n, nil
}

// String returns what was kept.
func (b *bounded) String() string {
	s := b.head.String()
	if b.dropped > 0 {
		s += fmt.Sprintf("\n… %d bytes left out …\n", b.dropped)
	}
	return strings.ToValidUTF8(s+b.tail.String(), "?")
}
