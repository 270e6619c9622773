package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/lang/python"
	"southbound/shared/lang/std"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// documents reads the input of a command: documents, or a model.
type documents struct {
	*console
	*location
	*program

	// path is the path that the command deploys; "": nothing, or standard input.
	path string
	// handled is the path of the loaded model with handlers in Python; "": there is none.
	handled string
	// modules are used by models unchanged, even if other modules are installed under their names.
	modules []*module.Module
	// host runs the Python code of models; nil: each starts its own.
	host *python.Host
	// told are the files for which a warning was written.
	told map[string]bool
	// described returns the position of a resource in documents; nil: not known.
	described func(id string) diag.Pos
}

// loaded holds the documents that were read.
type loaded struct {
	model  *model.Model
	inputs source.Inputs
	check  func(*model.Model) diag.Problems
}

// model compiles a model. With say, output that the model prints goes to standard error.
func (d *documents) model(
	ctx context.Context, path string, noStd, say bool,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, noStd, say, nil, nil)
}

// modelFor compiles a model with the services s. The output that the model prints is shown.
func (d *documents) modelFor(
	ctx context.Context, path string, s *lsm.Services,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, false, true, s, nil)
}

// trial compiles a model for made-up instances. It prints nothing and stores no password.
func (d *documents) trial(
	ctx context.Context, path string, s *lsm.Services,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, false, false, s, &lostPasswords{})
}

func (d *documents) compiled(
	ctx context.Context, path string, noStd, say bool, s *lsm.Services, p std.Passwords,
) (*compile.Compiled, error) {
	types, err := d.registry()
	if err != nil {
		return nil, err
	}
	project, err := source.FindProject(path)
	if err != nil {
		return nil, err
	}
	o := compile.Options{
		Path: path, NoStd: noStd, Types: types, VirtualEnv: os.Getenv("VIRTUAL_ENV"),
		Mapper: d.mapper, Modules: d.modules, Host: d.host, Services: s,
		Environment: pick(d.env, "SOUTHBOUND_ENVIRONMENT", project.Environment, "default"),
		Passwords:   p,
	}
	if say {
		o.Print = func(text string) { fmt.Fprint(d.err, text) }
	}
	c, err := compile.Model(ctx, o)
	return c, cutOff(ctx, err)
}

// compiling is the operation of errors that end the compilation of a model.
const compiling = "compile the model"

// cutCompiling returns the error of a model whose compilation was ended by a timeout or by an
// interrupt; nil if err is another error. The error names the step that was running; hint adds the
// consequence for the command.
func cutCompiling(err error, hint string) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Op != compiling {
		return nil
	}
	if f.Hint != "" {
		hint = f.Hint + "\n  " + hint
	}
	return fault.New(f.Kind, compiling, "%s", f.Message).WithHint("%s", hint)
}

// cutOff wraps an error in a model if a timeout or an interrupt caused it. If the running step is
// known, the error names it: a call in the model, or other work of Python code.
func cutOff(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil {
		return err
	}
	kind, said, hints := fault.KindOf(cause), "interrupted", []string(nil)
	if kind == fault.Timeout {
		said = "not done in time"
	}
	var limit *fault.Error
	if errors.As(cause, &limit) && limit.Op == compiling {
		said, hints = limit.Message, append(hints, limit.Hint)
	}
	problems, _ := diag.Of(err)
	var ended *python.Ended
	switch {
	case len(problems) > 0 && problems[0].Code == eval.CodeLimit:
		said = fmt.Sprintf("%s: it was at %s", said, problems[0].Pos)
	case len(problems) > 0:
		said = fmt.Sprintf("%s: %s: %s", said, problems[0].Pos, problems[0].Message)
		hints = append(hints, problems[0].Hint)
	case errors.As(err, &ended):
		said, hints = said+": "+ended.What, append(hints, ended.Said)
	}
	hint := strings.TrimSpace(strings.Join(hints, "\n"))
	return fault.New(kind, compiling, "%s", said).
		WithHint("%s", strings.ReplaceAll(hint, "\n", "\n  "))
}

// loadModel compiles a model, reads the documents beside it, and returns the model to deploy. It
// writes their warnings.
func (d *documents) loadModel(
	ctx context.Context, path string, o source.Options,
) (*model.Model, error) {
	c, err := d.model(ctx, path, false, true)
	if err != nil {
		return nil, err
	}
	d.warn(c.Warnings)
	m, err := d.withDocuments(ctx, path, c, o, d.warnOf)
	if err == nil && c.HasHandlers() {
		d.handled = path
	}
	return m, err
}

// load reads the documents or compiles the model under path. In a partial export, requirements may be
// met by resources outside the export.
func (d *documents) load(ctx context.Context, path string, partial bool) (*loaded, error) {
	if path != "-" && keeps(path) {
		return nil, fault.New(fault.Usage, "read "+path,
			"this is a plan that was kept, and not documents").
			WithHint("`southbound apply %s` does it", path)
	}
	opts, err := d.options(path, partial)
	if err != nil {
		return nil, err
	}
	if project.Is(path) {
		model, err := d.loadModel(ctx, path, opts)
		return &loaded{model: model, check: opts.Check}, err
	}
	opts.Note = !d.remote()
	model, inputs, err := source.Load(ctx, opts)
	return &loaded{model, inputs, opts.Check}, err
}

// options returns the options for reading documents with the types of this program. In a partial
// export, requirements may be met by resources outside the export.
func (d *documents) options(path string, partial bool) (source.Options, error) {
	types, err := d.registry()
	if err != nil {
		return source.Options{}, err
	}
	// handlers return the resources that follow from a resource
	e := deploy.New(deploy.Config{Types: types, Handlers: d.handlers()})
	check := e.ValidateClosed
	if partial {
		check = e.Validate
	}
	return source.Options{Path: path, Stdin: d.stdin, Types: types, Agent: d.packs.Check,
		Check: check, Foreign: func(file string) { d.warnOf(unloaded(file)) }}, nil
}

// fingerprint combines the fingerprint of the documents with the other inputs of an export.
func (d *documents) fingerprint(documents string) string {
	settings, _ := json.Marshal(d.project.Settings)
	sum := sha256.Sum256([]byte(documents + platform.Build() + string(settings)))
	return hex.EncodeToString(sum[:])
}

// describedAt returns a function that returns the position at which a resource is described. The
// function returns no positions if the documents have problems.
func (d *documents) describedAt(ctx context.Context, path string) func(id string) diag.Pos {
	types, err := d.registry()
	if err != nil {
		return nil
	}
	var model *model.Model
	if project.Is(path) { // the output of the model was printed before
		var c *compile.Compiled
		if c, err = d.model(ctx, path, false, false); err == nil {
			model, err = d.withDocuments(ctx, path, c, source.Options{Path: path, Types: types},
				func(diag.Problem) {})
		}
	} else {
		model, _, err = source.Load(ctx, source.Options{Path: path, Types: types})
	}
	if err != nil || model.Where == nil {
		return nil
	}
	at := make(map[string]diag.Pos, len(model.Resources))
	for i := range model.Resources {
		at[string(model.Resources[i].ID)] = model.Where(i, "")
	}
	return func(id string) diag.Pos { return at[id] }
}

// writtenAt returns the position of a resource in the documents that the command was given; nil: no
// documents were given, or they do not describe the resource.
func (d *documents) writtenAt(ctx context.Context, id resource.ID) *diag.Pos {
	if d.path == "" {
		return nil
	}
	if d.described == nil {
		d.described = d.describedAt(ctx, d.path)
	}
	if d.described == nil {
		return nil
	}
	if at := d.described(string(id)); at.Line > 0 {
		return &at
	}
	return nil
}

// cutShort explains the effect of an export that ended before it had a version to wait for.
func cutShort(ctx context.Context, err error) error {
	const hint = "a version is stored whole or not at all; the same command begins again"
	if ctx.Err() != nil {
		if cut := cutCompiling(err, hint); cut != nil {
			return cut
		}
	}
	switch kind := fault.KindOf(err); {
	case ctx.Err() == nil:
	case kind == fault.Canceled:
		return fault.New(fault.Canceled, "", "interrupted before the export was done").
			WithHint(hint)
	case kind == fault.Timeout:
		return fault.New(fault.Timeout, "", "the time to wait ran out before the export was done").
			WithHint(hint)
	}
	return err
}

// lostPasswords holds the passwords of one compile in memory only.
type lostPasswords struct {
	mu   sync.Mutex
	made map[string]string
}

// Password implements std.Passwords.
func (l *lostPasswords) Password(_ context.Context, name string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made[name], nil
}

// Make implements std.Passwords.
func (l *lostPasswords) Make(_ context.Context, name, password string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = map[string]string{}
	}
	if l.made[name] == "" {
		l.made[name] = password
	}
	return l.made[name], nil
}
