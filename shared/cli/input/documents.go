// Package input loads the documents and models that a command deploys.
package input

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

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
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
	"southbound/shared/schema"
)

// Documents reads the input of a command: documents, or a model.
type Documents struct {
	*output.Console
	*home.Location
	*home.Program

	// Path is the path that the command deploys; "": nothing, or standard input.
	Path string
	// Handled is the path of the loaded model with handlers in Python; "": there is none.
	Handled string
	// Modules are used by models unchanged, even if other modules are installed under their names.
	Modules []*module.Module
	// Host runs the Python code of models; nil: each starts its own.
	Host *python.Host
	// warned are the files for which a warning was written.
	warned map[string]bool
	// Described returns the position of a resource in documents; nil: not known.
	Described func(id string) diag.Pos
}

// Loaded holds the documents that were read.
type Loaded struct {
	Model  *model.Model
	Inputs source.Inputs
	Check  func(*model.Model) diag.Problems
}

// Model compiles a model. With say, output that the model prints goes to standard error.
func (d *Documents) Model(
	ctx context.Context, path string, noStd, say bool,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, noStd, say, nil, nil)
}

// ModelFor compiles a model with the services s. The output that the model prints is shown.
func (d *Documents) ModelFor(
	ctx context.Context, path string, s *lsm.Services,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, false, true, s, nil)
}

// Trial compiles a model for made-up instances. It prints nothing and stores no password.
func (d *Documents) Trial(
	ctx context.Context, path string, s *lsm.Services,
) (*compile.Compiled, error) {
	return d.compiled(ctx, path, false, false, s, &lostPasswords{})
}

func (d *Documents) compiled(
	ctx context.Context, path string, noStd, say bool, s *lsm.Services, p std.Passwords,
) (*compile.Compiled, error) {
	project, err := source.FindProject(path)
	if err != nil {
		return nil, err
	}
	types, err := d.Registry(project.Dir)
	if err != nil {
		return nil, err
	}
	o := compile.Options{
		Path: path, NoStd: noStd, Types: types, VirtualEnv: os.Getenv("VIRTUAL_ENV"),
		Mapper: d.Mapper, Modules: d.Modules, Host: d.Host, Services: s,
		Environment: home.Pick(d.Env, "SOUTHBOUND_ENVIRONMENT", project.Environment, "default"),
		Passwords:   p,
	}
	if say {
		o.Print = func(text string) { fmt.Fprint(d.Err, text) }
	}
	c, err := compile.Model(ctx, o)
	return c, cutOff(ctx, err)
}

// Compiling is the operation of errors that end the compilation of a model.
const Compiling = "compile the model"

// CutCompiling returns the error of a model whose compilation was ended by a timeout or by an
// interrupt; nil if err is another error. The error names the step that was running; hint adds the
// consequence for the command.
func CutCompiling(err error, hint string) error {
	var f *fault.Error
	if !errors.As(err, &f) || f.Op != Compiling {
		return nil
	}
	if f.Hint != "" {
		hint = f.Hint + "\n  " + hint
	}
	return fault.New(f.Kind, Compiling, "%s", f.Message).WithHint("%s", hint)
}

// cutOff wraps an error in a model if a timeout or an interrupt caused it. If the running step is
// known, the error names it: a call in the model, or other work of Python code.
func cutOff(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || cause == nil {
		return err
	}
	kind, message, hints := fault.KindOf(cause), "interrupted", []string(nil)
	if kind == fault.Timeout {
		message = "not done in time"
	}
	var limit *fault.Error
	if errors.As(cause, &limit) && limit.Op == Compiling {
		message, hints = limit.Message, append(hints, limit.Hint)
	}
	problems, _ := diag.Of(err)
	var ended *python.Ended
	switch {
	case len(problems) > 0 && problems[0].Code == eval.CodeLimit:
		message = fmt.Sprintf("%s: it was at %s", message, problems[0].Pos)
	case len(problems) > 0:
		message = fmt.Sprintf("%s: %s: %s", message, problems[0].Pos, problems[0].Message)
		hints = append(hints, problems[0].Hint)
	case errors.As(err, &ended):
		message, hints = message+": "+ended.What, append(hints, ended.Said)
	}
	hint := strings.TrimSpace(strings.Join(hints, "\n"))
	return fault.New(kind, Compiling, "%s", message).
		WithHint("%s", strings.ReplaceAll(hint, "\n", "\n  "))
}

// loadModel compiles a model, reads the documents beside it, and returns the model to deploy. It
// writes their warnings.
func (d *Documents) loadModel(
	ctx context.Context, path string, o source.Options,
) (*model.Model, error) {
	c, err := d.Model(ctx, path, false, true)
	if err != nil {
		return nil, err
	}
	d.Warn(c.Warnings)
	m, err := d.withDocuments(ctx, path, c, o, d.warnOf)
	if err == nil && c.HasHandlers() {
		d.Handled = path
	}
	return m, err
}

// Load reads the documents or compiles the model under path. In a partial export, requirements may be
// met by resources outside the export.
func (d *Documents) Load(ctx context.Context, path string, partial bool) (*Loaded, error) {
	if path != "-" && Keeps(path) {
		return nil, fault.New(fault.Usage, "read "+path,
			"this is a plan that was kept, and not documents").
			WithHint("`southbound apply %s` does it", path)
	}
	opts, err := d.Options(path, partial)
	if err != nil {
		return nil, err
	}
	if project.Is(path) {
		model, err := d.loadModel(ctx, path, opts)
		return &Loaded{Model: model, Check: opts.Check}, err
	}
	opts.Note = !d.Remote()
	model, inputs, err := source.Load(ctx, opts)
	return &Loaded{model, inputs, opts.Check}, err
}

// typesBeside returns the types of this program, and those of the lock file beside the project file of
// path.
func (d *Documents) typesBeside(path string) (*schema.Registry, error) {
	project, err := source.FindProject(path)
	if err != nil {
		return nil, err
	}
	return d.Registry(project.Dir)
}

// Options returns the options for reading documents with the types of this program. In a partial
// export, requirements may be met by resources outside the export.
func (d *Documents) Options(path string, partial bool) (source.Options, error) {
	types, err := d.typesBeside(path)
	if err != nil {
		return source.Options{}, err
	}
	// handlers return the resources that follow from a resource
	e := deploy.New(deploy.Config{Types: types, Handlers: d.Handlers()})
	check := e.ValidateClosed
	if partial {
		check = e.Validate
	}
	return source.Options{Path: path, Stdin: d.Stdin, Types: types, Agent: d.Packs.Check,
		Check: check, Elsewhere: d.Remote(), Foreign: func(file string) { d.warnOf(unloaded(file)) }}, nil
}

// Fingerprint combines the fingerprint of the documents with the other inputs of an export.
func (d *Documents) Fingerprint(documents string) string {
	settings, _ := json.Marshal(d.Project.Settings)
	lock := ""
	if d.Lock != nil {
		lock = d.Lock.Digest // of its declarations, too
	}
	sum := sha256.Sum256([]byte(documents + platform.Build() + string(settings) + lock))
	return hex.EncodeToString(sum[:])
}

// DescribedAt returns a function that returns the position at which a resource is described. The
// function returns no positions if the documents have problems.
func (d *Documents) DescribedAt(ctx context.Context, path string) func(id string) diag.Pos {
	types, err := d.typesBeside(path)
	if err != nil {
		return nil
	}
	var model *model.Model
	if project.Is(path) { // the output of the model was printed before
		var c *compile.Compiled
		if c, err = d.Model(ctx, path, false, false); err == nil {
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

// WrittenAt returns the position of a resource in the documents that the command was given; nil: no
// documents were given, or they do not describe the resource.
func (d *Documents) WrittenAt(ctx context.Context, id resource.ID) *diag.Pos {
	if d.Path == "" {
		return nil
	}
	if d.Described == nil {
		d.Described = d.DescribedAt(ctx, d.Path)
	}
	if d.Described == nil {
		return nil
	}
	if at := d.Described(string(id)); at.Line > 0 {
		return &at
	}
	return nil
}

// CutShort explains the effect of an export that ended before it had a version to wait for.
func CutShort(ctx context.Context, err error) error {
	const hint = "a version is stored whole or not at all; the same command begins again"
	if ctx.Err() != nil {
		if cut := CutCompiling(err, hint); cut != nil {
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
