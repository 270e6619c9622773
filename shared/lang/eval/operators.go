package eval

import (
	"errors"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// pair holds the two operands of an operation that needs both.
type pair struct {
	shape
	left, right node
}

func (n *pair) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *pair) emit(e *engine, s *scope, f frame) *fail {
	if x := n.left.emit(e, s, f); x != nil {
		return x.in(n.at, false)
	}
	return n.right.emit(e, s, f).in(n.at, false)
}

// both returns the values of the operands.
func (n *pair) both(e *engine, s *scope, f frame) (a, b types.Value, x *fail) {
	if a, x = n.left.value(e, s, f); x == nil {
		b, x = n.right.value(e, s, f)
	}
	return a, b, x
}

// binaryNode is an operation that needs both operands.
type binaryNode struct {
	pair
	op string
}

func (n *binaryNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	a, b, x := n.both(e, s, f)
	if x != nil {
		return nil, x
	}
	if x := e.scan(breadth(a)+breadth(b), n.at); x != nil {
		return nil, x
	}
	if x := fitsBoth(&e.scheduler, n.op, a, b, n.at); x != nil {
		return nil, x
	}
	v, err := operate(n.op, a, b)
	if err != nil {
		return nil, operatorFail(err, n.at)
	}
	return v, e.made(v, n.at)
}

// operate computes a op b; the result is unknown if an operand is unknown.
func operate(op string, a, b types.Value) (types.Value, error) {
	if types.IsUnknown(a) || types.IsUnknown(b) {
		return &types.Unknown{}, nil
	}
	switch op {
	case "==":
		return types.Equal(a, b), nil
	case "!=":
		return !types.Equal(a, b), nil
	case "<", "<=", ">", ">=":
		return types.Compare(op, a, b)
	}
	return types.Arithmetic(op, a, b)
}

// operatorFail returns the problem of an operation that failed.
func operatorFail(err error, at *diag.Pos) *fail {
	f := failed(CodeOperator, at, "%v", err).heavy(10)
	var o *types.OperandError
	if errors.As(err, &o) {
		f.hint = o.Hint
	}
	return f
}

// inNode tests whether a value is in a list, or is a key of a dict.
type inNode struct{ pair }

func (n *inNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	a, b, x := n.both(e, s, f)
	if x != nil {
		return nil, x
	}
	if x := e.scan(breadth(b), n.at); x != nil {
		return nil, x
	}
	v, ok := contains(a, b)
	if !ok {
		return nil, notIn(b, n.at)
	}
	return v, nil
}

// notIn returns the problem of `in` with a value that is neither a list nor a dict.
func notIn(v types.Value, at *diag.Pos) *fail {
	const text = "`in` looks into a list or a dict, and this is %s"
	return failed(CodeOperator, at, text, types.Kind(v)).heavy(10)
}

// contains reports whether a value is in a list or is a key of a dict. The result is unknown if it
// depends on an unknown value.
func contains(a, b types.Value) (types.Value, bool) {
	if types.IsUnknown(a) {
		return &types.Unknown{}, true
	}
	switch b := b.(type) {
	case *types.Dict:
		key, ok := a.(string)
		if ok {
			_, ok = b.Get(key)
		}
		return ok, true
	case *types.List:
		unknown := false
		for _, item := range b.Items {
			if types.Equal(item, a) {
				return true, true
			}
			unknown = unknown || types.IsUnknown(item)
		}
		if unknown {
			return &types.Unknown{}, true
		}
		return false, true
	}
	return nil, false
}

// notNode is `not`.
type notNode struct {
	shape
	of node
}

func (n *notNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *notNode) emit(e *engine, s *scope, f frame) *fail {
	return n.of.emit(e, s, f).in(n.at, false)
}

func (n *notNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	v, x := n.of.value(e, s, f)
	if x != nil || types.IsUnknown(v) {
		return unknownOr(x)
	}
	b, ok := v.(bool)
	if !ok {
		return nil, failed(CodeType, n.at, "`not` needs a bool, and this is %s", types.Kind(v))
	}
	return !b, nil
}

// matchNode tests whether a text matches a regular expression from its beginning.
type matchNode struct {
	shape
	of node
	re *regex
}

func (n *matchNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}
func (n *matchNode) emit(e *engine, s *scope, f frame) *fail {
	return n.of.emit(e, s, f).in(n.at, false)
}

func (n *matchNode) value(e *engine, s *scope, f frame) (types.Value, *fail) {
	v, x := n.of.value(e, s, f)
	if x != nil || types.IsUnknown(v) {
		return unknownOr(x)
	}
	ok, err := n.re.matches(v)
	if err != nil {
		return nil, failed(CodeRegex, n.at, "%v", err).heavy(10)
	}
	return ok, nil
}

// lazyNode is `and` or `or`. The right operand does not start if the left one decides the result.
type lazyNode struct {
	shape
	or          bool
	left, right node // in their own frames
	slot        int
}

func (n *lazyNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *lazyNode) name() string {
	if n.or {
		return "or"
	}
	return "and"
}

func (n *lazyNode) emit(e *engine, s *scope, f frame) *fail {
	result := &variable{kind: truth}
	g := e.frame(n.left)
	if x := n.left.emit(e, s, g); x != nil {
		return x
	}
	f.set(n.slot, result)
	e.start(&later{at: n.at, result: result, do: func(u *unit) *fail {
		if x := u.take(); x != nil {
			return x
		}
		v, x := n.left.value(e, s, u.frame)
		if x != nil {
			return x
		}
		if types.IsUnknown(v) {
			return result.set(v, n.at, true)
		}
		b, ok := v.(bool)
		if !ok {
			return failed(
				CodeType,
				n.at,
				"the left side of `%s` has to be a bool, and this is %s",
				n.name(),
				types.Kind(v),
			)
		}
		if b == n.or {
			return result.set(v, n.at, true)
		}
		return e.compute(n.right, s, result, n.at)
	}}, g)
	return nil
}

func (n *lazyNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

// choiceNode is `test ? yes : no`. Only the chosen branch starts.
type choiceNode struct {
	shape
	test, yes, no node // in their own frames
	slot          int
}

func (n *choiceNode) emit(e *engine, s *scope, f frame) *fail { return n.start(e, s, f, nil) }

func (n *choiceNode) gradual(e *engine, s *scope, f frame, c collector) (bool, *fail) {
	return true, n.start(e, s, f, c)
}

func (n *choiceNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

func (n *choiceNode) start(e *engine, s *scope, f frame, c collector) *fail {
	result := &variable{}
	g := e.frame(n.test)
	if x := n.test.emit(e, s, g); x != nil {
		return x
	}
	f.set(n.slot, result)
	e.start(&later{at: n.at, keep: true, result: result, do: func(u *unit) *fail {
		if x := u.take(); x != nil {
			return x
		}
		v, x := n.test.value(e, s, u.frame)
		if x != nil {
			return x
		}
		if types.IsUnknown(v) {
			return result.set(&types.Unknown{}, n.at, true)
		}
		b, ok := v.(bool)
		if !ok {
			return failed(
				CodeCondition,
				n.at,
				"the condition before ? has to be a bool, and this is %s",
				types.Kind(v),
			)
		}
		chosen := n.no
		if b {
			chosen = n.yes
		}
		return e.follow(chosen, s, c, n.at, result)
	}}, g)
	return nil
}

// follow computes a node, passes its values to the collector, and sets the result.
func (e *engine) follow(n node, s *scope, c collector, at *diag.Pos, result *variable) *fail {
	f := e.frame(n)
	tells := false
	if c == nil {
		if x := n.emit(e, s, f); x != nil {
			return x
		}
	} else {
		own, x := n.gradual(e, s, f, c)
		if x != nil {
			return x
		}
		tells = !own
	}
	e.start(&later{at: at, replace: true, result: result, do: func(u *unit) *fail {
		if x := u.take(); x != nil {
			return x
		}
		v, x := n.value(e, s, u.frame)
		if x != nil {
			return x
		}
		if tells {
			if x := tell(c, v, n.pos()); x != nil {
				return x
			}
		}
		return result.set(v, at, true)
	}}, f)
	return nil
}

// definedNode is `is defined` for a variable or an attribute.
type definedNode struct {
	shape
	where  spot // for a variable
	member      // empty for a variable
	slot   int
}

func (n *definedNode) gradual(e *engine, s *scope, f frame, _ collector) (bool, *fail) {
	return false, n.emit(e, s, f)
}

func (n *definedNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

func (n *definedNode) emit(e *engine, s *scope, f frame) *fail {
	d := &definedness{node: n, engine: e, result: &variable{}}
	if n.of != nil {
		if _, x := e.hook(hook{member: &n.member, at: n.at, scope: s, user: d}); x != nil {
			return x.in(n.at, false)
		}
	} else {
		v, x := n.where.lookUp(s, n.at)
		if x != nil {
			return x.in(n.at, false)
		}
		if x := d.use(v); x != nil {
			return x.in(n.at, false)
		}
	}
	f.set(n.slot, d.result)
	return nil
}

// definedness decides whether a variable is defined as soon as the answer is certain.
type definedness struct {
	node   *definedNode
	engine *engine
	result *variable
}

// pure implements collector. It returns false, because an empty list is not defined, which is only
// known when the list is complete.
func (d *definedness) pure() bool { return false }

func (d *definedness) receive(v types.Value, _ *diag.Pos) (bool, *fail) {
	if types.IsUnknown(v) {
		return false, nil
	}
	return true, d.result.set(true, d.node.at, true)
}

func (d *definedness) use(v *variable) *fail {
	if v.isReady() {
		return d.decide(v)
	}
	if _, x := v.listen(d, d.node.at); x != nil {
		return x
	}
	d.engine.start(
		&later{
			at: d.node.at, keep: true, result: d.result,
			do: func(*unit) *fail { return d.decide(v) },
		},
		frame{vars: []*variable{v}},
	)
	return nil
}

func (d *definedness) decide(v *variable) *fail {
	var out types.Value = true
	value, x := v.get()
	if x != nil {
		return d.result.set(false, d.node.at, true)
	}
	switch value := value.(type) {
	case *types.Unknown:
		out = &types.Unknown{}
	case types.Null:
		out = false
	case *types.List:
		unknown := 0
		for _, item := range value.Items {
			if types.IsUnknown(item) {
				unknown++
			}
		}
		switch {
		case len(value.Items) == 0:
			out = false
		case unknown == len(value.Items):
			out = &types.Unknown{}
		}
	}
	return d.result.set(out, d.node.at, true)
}
