package jinja

import (
	"fmt"

	"southbound/shared/lang/types"
)

// rendering is the state that all parts of one rendering share.
type rendering struct {
	host Host
	lib  *library
	*work
	models *models
}

// work counts the work of a rendering, and its nesting depth.
type work struct {
	steps    int
	reported int    // steps that were reported to the host
	budget   Budget // nil if the host does not count work
	depth    int
	bytes    int64 // of all created texts and lists
	room     int64 // limit of bytes; 0: none
}

const (
	reportEach   = 4096 // steps
	stepsToPiece = 3    // steps that take as long as one piece of work of a Budget
	bytesToStep  = 32   // bytes of a created text that take as long as one step
	itemBytes    = 16   // of a list
)

// report reports new work to the host.
func (w *work) report() error {
	n := (w.steps - w.reported) / stepsToPiece
	if w.budget == nil || n == 0 {
		return nil
	}
	w.reported = w.steps
	return w.budget.Work(n)
}

// state is the context of a statement in a rendering: its output and its scope.
//
// Large: its methods implement expressions, statements, filters and tests, file by file. Each of
// them may need all of it, since undefined values, limits and escaping depend on the context.
type state struct {
	*rendering
	tpl      *Template
	out      *output
	scope    *scope
	escaping bool
	// blockText is the input of the innermost filter that is applied to a block.
	blockText types.Value
	// blocks are the blocks of the template and of its ancestors, the most derived first.
	blocks map[string][]*blockNode
	// parent is the template that this one extends; output outside of blocks is discarded.
	parent *Template
	// root is the template that Render was called on.
	root *Template
}

func (s *state) lookup(name string) (types.Value, bool, error) {
	if v, ok := s.scope.get(name); ok {
		return v, true, nil
	}
	if name == "self" {
		s.scope.hold()
		return &self{s}, true, nil
	}
	if v, ok, err := s.host.Lookup(name); ok || err != nil {
		return v, ok, err
	}
	if g, ok := s.lib.globals[name]; ok {
		return &function{name, g}, true, nil
	}
	return nil, false, nil
}

// spend counts steps, so that every template terminates.
func (s *state) spend(n int) error {
	if s.steps += n + 1; s.steps > maxSteps {
		return limitf("the template does not end: it made %d steps", maxSteps)
	}
	if s.steps-s.reported >= reportEach {
		return s.report()
	}
	return nil
}

// made counts a computed value.
func (s *state) made(v types.Value, err error) (types.Value, error) {
	if text, ok := stringOf(v); ok && err == nil {
		if err = s.take(len(text)); err == nil {
			err = s.spend(len(text) / bytesToStep)
		}
	}
	return v, err
}

// take counts bytes of created values.
func (w *work) take(bytes int) error {
	if w.bytes += int64(bytes); w.room > 0 && w.bytes > w.room {
		return limitf("the template makes more than %d MiB of texts and lists", w.room>>20)
	}
	return nil
}

// spendItems counts the items of a created list.
func (s *state) spendItems(n int) error {
	if err := s.take(itemBytes * n); err != nil {
		return err
	}
	return s.spend(n)
}

func (s *state) enter() error {
	if s.depth++; s.depth > maxDepth {
		return failf("calls are nested more than %d deep", maxDepth)
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// template runs a template and its ancestors.
func (s *state) template(t *Template) error {
	if s.root == nil {
		s.root = t
	}
	for {
		if err := s.known(t); err != nil {
			return err
		}
		for name, b := range t.blocks {
			s.blocks[name] = append(s.blocks[name], b)
		}
		inner := *s
		inner.tpl = t
		if err := inner.begin(t.looksUp, t.body); err != nil {
			return err
		}
		if inner.parent == nil {
			return nil
		}
		if err := s.enter(); err != nil {
			return err
		}
		defer s.leave()
		t = inner.parent
	}
}

// known rejects a template that uses a missing filter.
func (s *state) known(t *Template) error {
	for _, u := range t.filters {
		if !s.lib.hasFilter(u.name) && !s.host.HasFilter(u.name) {
			return &Error{
				Template: t.Name,
				Line:     u.line,
				Syntax:   true,
				Reason:   s.lib.noFilter(u.name),
			}
		}
	}
	return nil
}

// run runs statements. Its error has the place of the innermost failed statement.
func (s *state) run(body []node) error {
	for _, n := range body {
		err := s.spend(0)
		if err == nil {
			err = n.exec(s)
		}
		if err != nil {
			return at(err, s.tpl, n.place(), false)
		}
	}
	return nil
}

// begin looks up the names of a part, and runs its statements.
func (s *state) begin(looksUp []string, body []node) error {
	before, err := s.lookUp(looksUp)
	if err != nil {
		return err
	}
	s.scope.setAll(before)
	return s.run(body)
}

// captured runs the statements of a part and returns their output as a value.
func (s *state) captured(looksUp []string, body []node) (types.Value, error) {
	return s.capture(func(inner *state) error { return inner.begin(looksUp, body) })
}

// capture returns the output that a part writes into a state of its own, as a value.
func (s *state) capture(part func(inner *state) error) (types.Value, error) {
	inner := *s
	inner.out = &output{}
	if err := part(&inner); err != nil {
		return nil, err
	}
	return inner.out.value(), s.spend(inner.out.text.Len() / bytesToStep)
}

// markup converts captured output of a template to a value of this state.
func (s *state) markup(out types.Value) types.Value {
	if text, is := out.(string); is && s.escaping {
		return Markup(text)
	}
	return out
}

// write appends to the output.
func (s *state) write(text string) error {
	if s.out.text.Len()+len(text) > maxOutput {
		return limitf("the output becomes longer than %d bytes", maxOutput)
	}
	s.out.text.WriteString(text)
	return s.take(len(text))
}

func (n *dataNode) exec(s *state) error {
	if s.dropped() {
		return nil
	}
	return s.write(n.text)
}

// dropped reports whether output is discarded: in a template that extends another one, outside of
// blocks.
func (s *state) dropped() bool { return s.parent != nil && s.scope.top }

func (n *printNode) exec(s *state) error {
	if s.dropped() {
		return nil
	}
	v, err := n.what.eval(s)
	if err != nil {
		return err
	}
	return s.print(v)
}

func (n *ifNode) exec(s *state) error {
	ok, err := s.test(n.test)
	if err != nil {
		return err
	}
	if ok {
		return s.run(n.then)
	}
	return s.run(n.rest)
}

// assign assigns a value to a target.
func (s *state) assign(to target, v types.Value) error {
	switch to := to.(type) {
	case nameTarget:
		s.scope.set(string(to), v)
	case tupleTarget:
		items, err := s.items(v)
		if err != nil {
			return err
		}
		if len(items) != len(to) {
			return failf("%d values cannot be assigned to %d names", len(items), len(to))
		}
		for i := range to {
			if err := s.assign(to[i], items[i]); err != nil {
				return err
			}
		}
	case attrTarget:
		of, ok, err := s.lookup(to.of)
		if err != nil {
			return err
		}
		ns, is := of.(*namespace)
		if !ok || !is {
			return failf("%q is not a namespace: an attribute of it cannot be set", to.of)
		}
		return ns.attrs.set(to.name, v)
	}
	return nil
}

func (n *setNode) exec(s *state) error {
	v, err := n.value.eval(s)
	if err != nil {
		return err
	}
	return s.assign(n.target, v)
}

func (n *setBlockNode) exec(s *state) error {
	inner := *s
	inner.scope = &scope{outer: s.scope}
	text, err := inner.captured(n.looksUp, n.body)
	if err != nil {
		return err
	}
	v := s.markup(text)
	if n.filter != nil {
		inner := *s
		inner.blockText = v
		if v, err = n.filter.eval(&inner); err != nil {
			return err
		}
	}
	return s.assign(n.target, v)
}

func (n *withNode) exec(s *state) error {
	values, err := s.all(n.values)
	if err != nil {
		return err
	}
	inner := *s
	inner.scope = &scope{outer: s.scope}
	for i, to := range n.targets {
		if err := inner.assign(to, values[i]); err != nil {
			return err
		}
	}
	return inner.begin(n.looksUp, n.body)
}

func (n *filterNode) exec(s *state) error {
	inner := *s
	inner.scope = &scope{outer: s.scope}
	text, err := inner.captured(n.looksUp, n.body)
	if err != nil {
		return err
	}
	inner.blockText = s.markup(text)
	v, err := n.filter.eval(&inner)
	if err != nil {
		return err
	}
	return s.print(v)
}

func (n *autoescapeNode) exec(s *state) error {
	on, err := s.test(n.on)
	if err != nil {
		return err
	}
	inner := *s
	inner.escaping, inner.scope = on, &scope{outer: s.scope}
	return inner.begin(n.looksUp, n.body)
}

func (n *macroNode) exec(s *state) error {
	s.scope.set(n.macro.name, s.macro(n.macro))
	return nil
}

func (n *callNode) exec(s *state) error {
	of, err := n.call.of.eval(s)
	if err != nil {
		return err
	}
	args, named, err := s.arguments(n.call.args)
	if err != nil {
		return err
	}
	v, err := s.call(of, args, append(named, namedValue{"caller", s.macro(n.body)}))
	if err != nil {
		return err
	}
	return s.print(v)
}

func (n *blockNode) exec(s *state) error {
	if s.dropped() {
		return nil // the parent template defines the position of the block
	}
	outer := s.scope
	if !n.scoped {
		outer = s.topScope()
	}
	return s.block(n.name, 0, outer)
}

func (s *state) topScope() *scope {
	c := s.scope
	for !c.top && c.outer != nil {
		c = c.outer
	}
	return c
}

// block writes a block in the version of the template that is level steps up from the most derived
// one.
func (s *state) block(name string, level int, outer *scope) error {
	versions := s.blocks[name]
	if level >= len(versions) {
		return failf("there is no block %q", name)
	}
	b := versions[level]
	if b.required && level == 0 {
		return failf("the block %q has to be filled by a template that extends this one", name)
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	inner := *s
	inner.tpl, inner.parent, inner.scope = b.tpl, nil, &scope{outer: outer}
	inner.scope.hold() // super may still use the scope
	inner.scope.set(
		"super",
		&function{"super", func(*state, []types.Value, []namedValue) (types.Value, error) {
			if level+1 >= len(versions) {
				return &Undefined{
					name:   "super",
					reason: fmt.Sprintf("there is no parent block called %q", name),
				}, nil
			}
			text, err := inner.capture(func(super *state) error {
				return super.block(name, level+1, outer)
			})
			return s.markup(text), err
		}},
	)
	return inner.begin(b.looksUp, b.body)
}

func (n *extendsNode) exec(s *state) error {
	v, err := n.parent.eval(s)
	if err != nil {
		return err
	}
	if s.parent != nil {
		return failf("a template can extend one other only")
	}
	t, err := s.load(v)
	if err != nil {
		return err
	}
	s.parent = t
	return nil
}
