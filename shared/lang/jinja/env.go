package jinja

import (
	"errors"
	"fmt"
	"sync"

	"southbound/shared/lang/types"
)

// Limits of one rendering. A rendering that exceeds a limit fails before it exhausts memory.
const (
	maxOutput = 64 << 20 // bytes of the output, and of each intermediate text
	maxSteps  = 10_000_000
	maxDepth  = 200     // nesting of macro calls, includes and recursive loops
	maxItems  = 5 << 20 // items of a range or of a repeated list
	maxSource = 16 << 20
)

// Host provides the variables, attributes and filters that are outside of the template.
type Host interface {
	// Lookup returns a variable, and whether it exists.
	Lookup(name string) (types.Value, bool, error)
	// Attr returns an attribute of an instance or of another value that is opaque to templates, and
	// whether it exists.
	Attr(of types.Value, name string) (types.Value, bool, error)
	// Filter calls a function of the host as a filter; ok is false if there is none of this name.
	Filter(name string, args []types.Value) (v types.Value, ok bool, err error)
	// HasFilter reports whether the host has a filter of this name.
	HasFilter(name string) bool
}

// Budget is a Host that counts the work of a rendering, and can stop the rendering with an error.
type Budget interface {
	// Work counts pieces of work; each piece takes about a microsecond.
	Work(pieces int) error
}

// Room is a Host that limits the memory of a rendering.
type Room interface {
	// Room returns the number of bytes of texts and lists that a rendering may create in total.
	Room() int64
}

// Variables is a Host with variables only.
type Variables map[string]types.Value

// Lookup returns a variable.
func (v Variables) Lookup(name string) (types.Value, bool, error) {
	x, ok := v[name]
	return x, ok, nil
}

// Attr finds no attributes.
func (Variables) Attr(types.Value, string) (types.Value, bool, error) { return nil, false, nil }

// Filter finds no filters.
func (Variables) Filter(string, []types.Value) (types.Value, bool, error) { return nil, false, nil }

// HasFilter returns false.
func (Variables) HasFilter(string) bool { return false }

// Environment holds templates that can refer to each other (include, import, extends). It is safe
// for concurrent use.
type Environment struct {
	// Load returns the text of a template. Its error for a missing template wraps fs.ErrNotExist.
	Load func(name string) (string, error)
	// Missing returns the reason why a template is missing, for an error message; it may be nil.
	Missing func(name string) string

	mu     sync.Mutex
	loaded map[string]*Template
	once   sync.Once
	lib    *library
}

// Template is a parsed template.
type Template struct {
	Name   string
	env    *Environment
	body   []node
	blocks map[string]*blockNode
	// filters are the uses of filters outside of branches. Those filters are certain to be called,
	// so a missing one is an error before the rendering starts.
	filters []use
	// looksUp are the names that are looked up in the host at the start of the template.
	looksUp []string
}

type use struct {
	name string
	line int
}

// Error is an error in a template, with its place.
type Error struct {
	Template string
	Line     int // from 1
	Syntax   bool
	// Undefined is the undefined name that caused the error; "" for another error.
	Undefined string
	// Reason is the message without the place.
	Reason string
	// Cause is an error of the host.
	Cause error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Template, e.Line, e.Reason) }

// Unwrap returns the error of the host.
func (e *Error) Unwrap() error { return e.Cause }

// ErrUnknown is the cause of an Error if a template needs a value that is not known yet.
var ErrUnknown = errors.New("a value is not known yet")

// library returns the library of templates, which is created on first use.
func (env *Environment) library() *library {
	env.once.Do(func() { env.lib = newLibrary() })
	return env.lib
}

// New parses a template. Its error is an *Error.
func (env *Environment) New(name, text string) (*Template, error) {
	t := &Template{Name: name, env: env, blocks: map[string]*blockNode{}}
	if len(text) > maxSource {
		return nil, &Error{
			Template: name,
			Line:     1,
			Syntax:   true,
			Reason: fmt.Sprintf("the template has %d bytes; %d are allowed", len(text),
				maxSource),
		}
	}
	tokens, err := lex(text)
	if err == nil {
		p := &parser{tokens: tokens, tpl: t}
		t.body, err = p.template()
	}
	if err != nil {
		return nil, at(err, t, 0, true)
	}
	t.track()
	return t, nil
}

// Get returns a template by name. It loads each template once.
func (env *Environment) Get(name string) (*Template, error) {
	env.mu.Lock()
	t := env.loaded[name]
	env.mu.Unlock()
	if t != nil {
		return t, nil
	}
	if env.Load == nil {
		return nil, fmt.Errorf("there is no template %q", name)
	}
	text, err := env.Load(name)
	if err != nil {
		return nil, err
	}
	if t, err = env.New(name, text); err != nil {
		return nil, err
	}
	env.mu.Lock()
	defer env.mu.Unlock()
	if env.loaded == nil {
		env.loaded = map[string]*Template{}
	}
	env.loaded[name] = t
	return t, nil
}

// Render renders a template with the variables of a host. Its error is an *Error, whose cause is
// the error of the host, if any.
func (t *Template) Render(host Host) (string, error) {
	v, err := t.RenderParts(host)
	if err == nil && isLater(v) {
		err = at(later(v), t, 0, false)
	}
	text, _ := v.(string)
	return text, err
}

// RenderParts is Render, and accepts references of the host, and facts that are not known yet, that the
// template prints. Then the result is that of types.JoinText.
func (t *Template) RenderParts(host Host) (types.Value, error) {
	r := &rendering{host: host, lib: t.env.library(), work: &work{}, models: modelsOf(host)}
	r.budget, _ = host.(Budget)
	if h, ok := host.(Room); ok {
		r.room = max(h.Room(), 1)
	}
	s := &state{rendering: r, tpl: t, out: &output{}, scope: &scope{top: true}}
	s.blocks = map[string][]*blockNode{}
	err := s.template(t)
	if err == nil {
		err = s.report()
	}
	if err != nil {
		return nil, at(err, t, 0, false)
	}
	return s.out.value(), nil
}

// at adds a place to an error, unless it has one.
func at(err error, t *Template, line int, syntax bool) error {
	var e *Error
	if errors.As(err, &e) {
		if e.Line == 0 && line > 0 {
			e.Line, e.Template = line, t.Name
		}
		return e
	}
	e = &Error{
		Template: t.Name,
		Line:     max(line, 1),
		Syntax:   syntax,
		Reason:   err.Error(),
		Cause:    err,
	}
	var l *lineError
	if errors.As(err, &l) {
		e.Line, e.Reason, e.Cause = l.line, l.reason, nil
	}
	var u *undefinedError
	if errors.As(err, &u) {
		e.Undefined, e.Cause = u.name, nil
	}
	var f failure
	if errors.As(err, &f) {
		e.Cause = nil
	}
	return e
}

// lineError is a syntax error with its line.
type lineError struct {
	line   int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// failure is an error of a computation.
type failure string

func (e failure) Error() string { return string(e) }

func failf(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

// limit is the error of a rendering that exceeded a limit.
type limit string

func (e limit) Error() string { return string(e) }

// Limited marks an error as an exceeded limit, not a mistake in the template. Callers find it in
// the chain of an *Error.
func (limit) Limited() bool { return true }

func limitf(format string, args ...any) error { return limit(fmt.Sprintf(format, args...)) }

// undefinedError is the use of an undefined name.
type undefinedError struct{ name, reason string }

func (e *undefinedError) Error() string { return e.reason }
