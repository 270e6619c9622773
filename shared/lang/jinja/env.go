package jinja

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"southbound/shared/lang/types"
)

// Limits of one rendering: what is larger ends with an error instead of the memory of the machine.
const (
	maxOutput = 64 << 20 // bytes of output, and of each text that is built on the way
	maxSteps  = 10_000_000
	maxDepth  = 200     // calls of macros, includes and recursive loops in each other
	maxItems  = 5 << 20 // items of a range or of a repeated list
	maxSource = 16 << 20
)

// Host is what a rendering asks of the world outside the template.
type Host interface {
	// Lookup returns a variable, and whether there is one.
	Lookup(name string) (types.Value, bool, error)
	// Attr returns an attribute of an instance or of whatever else is opaque to templates, and
	// whether there is one.
	Attr(of types.Value, name string) (types.Value, bool, error)
	// Filter calls a function of the host as a filter; ok is false if there is none of this name.
	Filter(name string, args []types.Value) (v types.Value, ok bool, err error)
	// HasFilter reports whether Filter knows a name.
	HasFilter(name string) bool
}

// Budget is a Host that is told of the work that a rendering does, and can end it with an error.
type Budget interface {
	// Work counts pieces of work, each of which takes about a microsecond.
	Work(pieces int) error
}

// Room is a Host that bounds the memory of a rendering.
type Room interface {
	// Room is how many bytes of texts and lists a rendering may make, all told.
	Room() int64
}

// Variables is a Host that has nothing but variables.
type Variables map[string]types.Value

// Lookup returns a variable.
func (v Variables) Lookup(name string) (types.Value, bool, error) {
	x, ok := v[name]
	return x, ok, nil
}

// Attr knows no attributes.
func (Variables) Attr(types.Value, string) (types.Value, bool, error) { return nil, false, nil }

// Filter knows no filters.
func (Variables) Filter(string, []types.Value) (types.Value, bool, error) { return nil, false, nil }

// HasFilter knows no filters.
func (Variables) HasFilter(string) bool { return false }

// Environment holds the templates that can name each other (include, import, extends). It is safe
// for several at once.
type Environment struct {
	// Load returns the text of a template. The error of one that does not exist is fs.ErrNotExist.
	Load func(name string) (string, error)
	// Missing says why there is no template of a name, for people; it may be nil.
	Missing func(name string) string

	mu     sync.Mutex
	loaded map[string]*Template
	once   sync.Once
	lib    *library
}

// Template is one that was read.
type Template struct {
	Name   string
	env    *Environment
	body   []node
	blocks map[string]*blockNode
	// filters are the names of filters that are used where they are certain to be called, with
	// their lines: all but those in branches.
	filters []use
	// looksUp are the names that the host is asked for when the template begins.
	looksUp []string
}

type use struct {
	name string
	line int
}

// Error says what is wrong with a template, and where.
type Error struct {
	Template string
	Line     int // from 1
	Syntax   bool
	// Undefined is the name of what is not defined, if that is what is wrong.
	Undefined string
	// Reason is what is wrong, without the place.
	Reason string
	// Cause is an error of the host.
	Cause error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Template, e.Line, e.Reason) }

// Unwrap returns the error of the host behind it.
func (e *Error) Unwrap() error { return e.Cause }

// ErrUnknown is the cause of an Error where a template needs a value that is not known yet.
var ErrUnknown = errors.New("a value is not known yet")

// library returns what templates can call, made once.
func (env *Environment) library() *library {
	env.once.Do(func() { env.lib = newLibrary() })
	return env.lib
}

// New reads a template. Its error is an *Error.
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

// Get returns a template by its name, read once.
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

// Render returns the text that a template makes with the variables of a host. Its error is an
// *Error; the error of a host is its cause.
func (t *Template) Render(host Host) (string, error) {
	r := &rendering{host: host, lib: t.env.library(), work: &work{}, models: modelsOf(host)}
	r.budget, _ = host.(Budget)
	if h, ok := host.(Room); ok {
		r.room = max(h.Room(), 1)
	}
	s := &state{rendering: r, tpl: t, out: &strings.Builder{}, scope: &scope{top: true}}
	s.blocks = map[string][]*blockNode{}
	err := s.template(t)
	if err == nil {
		err = s.report()
	}
	if err != nil {
		return "", at(err, t, 0, false)
	}
	return s.out.String(), nil
}

// at gives an error its place, unless it has one.
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

// lineError is a problem of the text, with its line.
type lineError struct {
	line   int
	reason string
}

func (e *lineError) Error() string { return e.reason }

// failure is a problem of a computation.
type failure string

func (e failure) Error() string { return string(e) }

func failf(format string, args ...any) error { return failure(fmt.Sprintf(format, args...)) }

// limit is a bound of a rendering that was met.
type limit string

func (e limit) Error() string { return string(e) }

// Limited tells this from what is wrong with a template. It is found in the chain of an *Error.
func (limit) Limited() bool { return true }

func limitf(format string, args ...any) error { return limit(fmt.Sprintf(format, args...)) }

// undefinedError is the use of something that is not defined.
type undefinedError struct{ name, reason string }

func (e *undefinedError) Error() string { return e.reason }
