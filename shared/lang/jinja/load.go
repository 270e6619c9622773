package jinja

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"southbound/shared/lang/types"
)

// module is an imported template: its macros and its top-level variables.
type module struct {
	name  string
	scope *scope
	text  string
}

func (m *module) attribute(name string) (types.Value, bool, error) {
	if strings.HasPrefix(name, "_") {
		return nil, false, nil
	}
	only := &scope{vars: m.scope.vars}
	v, ok := only.get(name)
	return v, ok, nil
}

// localName returns the name of a template relative to its module.
func (t *Template) localName() string {
	_, name, inModule := strings.Cut(t.Name, "/")
	if !inModule {
		return t.Name
	}
	return name
}

// self is the variable self: the blocks of a template as functions.
type self struct{ state *state }

func (b *self) attribute(name string) (types.Value, bool, error) {
	if len(b.state.blocks[name]) == 0 {
		return nil, false, nil
	}
	return &function{name, func(s *state, _ []types.Value, _ []namedValue) (types.Value, error) {
		text, err := b.state.capture(func(inner *state) error {
			return inner.block(name, 0, inner.topScope())
		})
		return s.markup(text), err
	}}, true, nil
}

// load returns the template of a name.
func (s *state) load(name types.Value) (*Template, error) {
	if u, ok := name.(*Undefined); ok {
		return nil, u.err()
	}
	text, ok := stringOf(name)
	if !ok {
		return nil, failf("the name of a template is a string, not %s", kindOf(name))
	}
	t, err := s.tpl.env.Get(text)
	if errors.Is(err, fs.ErrNotExist) {
		missing := &missingTemplate{name: text}
		if s.tpl.env.Missing != nil {
			missing.why = s.tpl.env.Missing(text)
		}
		return nil, missing
	}
	return t, err
}

type missingTemplate struct{ name, why string }

func (e *missingTemplate) Error() string {
	text := fmt.Sprintf("there is no template %q", e.name)
	if e.why != "" {
		text += ": " + e.why
	}
	return text
}

// choose returns the first existing template of a name or of a list of names.
func (s *state) choose(names types.Value) (*Template, error) {
	list, kind := sequence(names)
	if kind == 0 {
		return s.load(names)
	}
	for _, name := range list {
		t, err := s.load(name)
		var missing *missingTemplate
		if !errors.As(err, &missing) {
			return t, err
		}
	}
	return nil, &missingTemplate{name: "any of the list"}
}

func (n *includeNode) exec(s *state) error {
	v, err := n.what.eval(s)
	if err != nil {
		return err
	}
	t, err := s.choose(v)
	if err != nil {
		var missing *missingTemplate
		if n.ignoreMissing && errors.As(err, &missing) {
			return nil
		}
		return err
	}
	inner := s.fresh(n.context)
	inner.out = s.out
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	return inner.template(t)
}

// fresh returns a state for another template.
func (s *state) fresh(context bool) *state {
	inner := &state{
		rendering: s.rendering,
		tpl:       s.tpl,
		out:       &output{},
		escaping:  s.escaping,
		blocks:    map[string][]*blockNode{},
	}
	inner.scope = &scope{top: true}
	if context {
		inner.scope.outer = s.scope
	} else {
		inner.rendering = &rendering{functionsOnly{s.host}, s.lib, s.work, s.models}
	}
	return inner
}

// module runs a template to import its definitions.
func (s *state) module(what expr, context bool) (*module, error) {
	v, err := what.eval(s)
	if err != nil {
		return nil, err
	}
	t, err := s.load(v)
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	inner := s.fresh(context)
	err = inner.template(t)
	text, is := inner.out.value().(string)
	if !is && err == nil {
		err = later(inner.out.placed[0].of)
	}
	return &module{t.Name, inner.scope, text}, err
}

// functionsOnly is a host without variables, for templates without context.
type functionsOnly struct{ Host }

func (functionsOnly) Lookup(string) (types.Value, bool, error) { return nil, false, nil }

func (n *importNode) exec(s *state) error {
	m, err := s.module(n.what, n.context)
	if err != nil {
		return err
	}
	s.scope.set(n.as, m)
	return nil
}

func (n *fromNode) exec(s *state) error {
	m, err := s.module(n.what, n.context)
	if err != nil {
		return err
	}
	for _, name := range n.names {
		v, ok, err := m.attribute(name[0])
		if err != nil {
			return err
		}
		if !ok {
			v = &Undefined{
				name:   name[0],
				reason: fmt.Sprintf("the template %q does not define %q", m.name, name[0]),
			}
		}
		s.scope.set(name[1], v)
	}
	return nil
}
