// Package exec runs commands on the machine it runs on.
package exec

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Run declares exec::Run: a command that runs if its conditions require it. No record is kept of a
// run: each check asks the machine whether the command is needed.
func Run() provider.Definition {
	const command = "Variant[String[1],Array[String,1]]"
	const guard = "Optional[" + command + "]"
	return provider.Definition{
		Type: schema.Type{
			Name: "exec::Run",
			Description: "A command. Its runs are not remembered: without unless, onlyif, creates or " +
				"reload_only it runs at every deploy and every repair; with them only if all of them " +
				"require it. unless and onlyif also run in dry runs, and must change nothing. Put " +
				"secrets into environment: all users of the machine can see command lines. A purge " +
				"does nothing.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "its name"},
				{Name: "command", Type: command, Behaviour: schema.Parameter,
					Description: "a list of arguments, or a text for /bin/sh -c"},
				{Name: "unless", Type: guard, Behaviour: schema.Parameter,
					Description: "a command in the same form; if it succeeds, command does not run"},
				{Name: "onlyif", Type: guard, Behaviour: schema.Parameter,
					Description: "a command in the same form; command runs only if it succeeds"},
				{Name: "creates", Type: `Optional[Pattern[/\A\//]]`, Behaviour: schema.Parameter,
					Description: "a path; if it exists, command does not run"},
				{Name: "reload_only", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "run only if a required resource changed and sent an event, and creates, " +
						"unless and onlyif permit it"},
				{Name: "timeout", Type: "Integer[1,86400]", Default: int64(300),
					Behaviour: schema.Parameter,
					Description: "time limit of the command, and of each condition, in seconds; then it is " +
						"killed with its children, except detached daemons"},
				{Name: "environment", Type: "Optional[Hash[String,String]]",
					Behaviour:   schema.Parameter,
					Description: "variables besides PATH, HOME, USER, LOGNAME and LANG; no other variable is passed on"},
				{Name: "cwd", Type: `Optional[Pattern[/\A\//]]`, Behaviour: schema.Parameter,
					Description: "the working directory; default /"},
				{Name: "user", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "the user, by name or number; the command has the groups of that user"},
				{Name: "umask", Type: `Optional[Pattern[/\A[0-7]{3,4}\z/]]`,
					Behaviour:   schema.Parameter,
					Description: `the umask it runs with, in quotes: "0022"`},
				{Name: "returns", Type: "Array[Integer[0,255],1]", Default: []any{int64(0)},
					Behaviour:   schema.Parameter,
					Description: "exit codes that count as success"},
			},
			Features: []string{"reload"},
			Machine:  true,
			Validate: validate,
			Thing:    schema.SharedByIdentity("name"), // the thing is the command's effect
			Keeps:    schema.KeepsPaths("creates"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "acct::User",
					Keys: map[string]string{"name": "$user"}},
			},
		},
		Handler: handler{},
	}
}

// validate rejects references to secrets in command lines, and invalid variables.
func validate(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	for _, name := range []string{"command", "unless", "onlyif"} {
		if provider.HasSecret(attrs[name]) {
			out = append(out,
				diag.Problem{Attribute: name,
					Message: "a secret in a command line can be seen by everybody on the machine",
					Hint:    "put it into environment and use the variable"})
		}
	}
	env, _ := attrs["environment"].(map[string]any)
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !validVariable(name) {
			out = append(out, diag.Problem{Attribute: "environment",
				Message: fmt.Sprintf("%q cannot name a variable", name),
				Hint:    "use letters, digits and _, and no digit first"})
		}
	}
	return out
}

func validVariable(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

type handler struct{}

// CallTimeout implements provider.Timeouter. A call runs at most two conditions and the command,
// each with the resource's timeout.
func (handler) CallTimeout(r provider.Resource) time.Duration {
	return 3*timeout(r) + 15*time.Second
}

// Read implements provider.Handler: the thing exists if the command need not run.
func (handler) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	if r.Purged {
		return provider.Observation{}, nil
	}
	if reloadOnly(r) {
		return provider.Observation{Exists: true}, nil
	}
	runs, err := needed(ctx, r)
	return provider.Observation{Exists: !runs}, err
}

// needed reports whether creates, unless and onlyif all require that the command runs.
func needed(ctx *provider.Context, r provider.Resource) (bool, error) {
	if path, _ := r.Attributes["creates"].(string); path != "" {
		switch _, err := os.Lstat(path); {
		case err == nil:
			return false, nil
		case !os.IsNotExist(err) && !errors.Is(err, syscall.ENOTDIR):
			return false, provider.Errorf(provider.Retryable, "creates: %w", err)
		}
	}
	for _, guard := range []struct {
		name string
		skip bool // whether the guard's success, or its failure, makes the command unnecessary
	}{{"unless", true}, {"onlyif", false}} {
		argv := argvOf(r.Attributes[guard.name])
		if argv == nil {
			continue
		}
		end, err := start(ctx, r, argv)
		if err != nil {
			return false, fmt.Errorf("%s: %w", guard.name, err)
		}
		ctx.Debug("ran "+guard.name, "exit_code", int64(end.code))
		if (end.code == 0) == guard.skip {
			return false, nil
		}
	}
	return true, nil
}

// Create implements provider.Handler: it runs the command.
func (handler) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, run(ctx, req.Resource)
}

// Update implements provider.Handler; a command has no compared attributes.
func (handler) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Delete implements provider.Handler; the effects of a command cannot be undone.
func (handler) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// Reloads implements provider.Selective: any other command has run, or its conditions do not
// require it.
func (handler) Reloads(r provider.Resource) bool { return reloadOnly(r) }

// Reload implements provider.Reloader: it runs the command that waited for an event, if its
// conditions require it.
func (handler) Reload(ctx *provider.Context, req provider.ReadRequest) error {
	if !reloadOnly(req.Resource) {
		return nil
	}
	runs, err := needed(ctx, req.Resource)
	if err == nil && !runs {
		ctx.SetChange(diff.NoChange)
	}
	if err != nil || !runs {
		return err
	}
	if err := run(ctx, req.Resource); err != nil {
		return err
	}
	ctx.Changed("reload", nil, "ran")
	return nil
}

func run(ctx *provider.Context, r provider.Resource) error {
	argv := argvOf(r.Attributes["command"])
	if argv == nil {
		return provider.Errorf(provider.NeedsChange, "the command is empty")
	}
	began := time.Now()
	end, err := start(ctx, r, argv)
	returns, _ := r.Attributes["returns"].([]any)
	ok := err == nil &&
		(slices.Contains(returns, any(int64(end.code))) || returns == nil && end.code == 0)
	level := ctx.Info
	if !ok {
		level = ctx.Error
	}
	for _, piece := range end.output {
		level("output of the command", "output", piece)
	}
	if err != nil {
		return err
	}
	level("ran the command", "exit_code", int64(end.code), "duration_ms",
		time.Since(began).Milliseconds())
	if !ok {
		return provider.Errorf(provider.Retryable, "the command ended with exit code %d%s",
			end.code, end.why())
	}
	return nil
}

func reloadOnly(r provider.Resource) bool {
	only, _ := r.Attributes["reload_only"].(bool)
	return only
}

func timeout(r provider.Resource) time.Duration {
	seconds, _ := r.Attributes["timeout"].(int64)
	return time.Duration(max(seconds, 1)) * time.Second
}

// argvOf returns the words of a command, nil if there is none.
func argvOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{"/bin/sh", "-c", v}
	case []any:
		argv := make([]string, 0, len(v))
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil
			}
			argv = append(argv, s)
		}
		if len(argv) > 0 {
			return argv
		}
	}
	return nil
}
