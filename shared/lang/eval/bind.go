package eval

import (
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// bind binds an expression, without its slots.
func (b *binder) bind(x syntax.Expression, h *hint) node {
	at := b.file.pos(x)
	if v, ok := folded(x); ok {
		return &constant{shape: shape{at: at}, result: v}
	}
	switch x := x.(type) {
	case *syntax.Group:
		return b.bind(x.Value, h)
	case *syntax.Ref:
		n := b.ref(x.Name.Text, shape{at: at})
		if r, ok := n.(*refNode); ok {
			r.where.numeral = b.file.syntax.Numeral(x.From)
		}
		return n
	case *syntax.Attr:
		return b.attr(x)
	case *syntax.Format:
		return b.format(x, x.Parts, shape{at: at})
	case *syntax.FText:
		return b.format(x, x.Parts, shape{at: at})
	case *syntax.Pattern:
		return b.pattern(x)
	case *syntax.List:
		return b.list(x, h)
	case *syntax.Dict:
		return b.dict(x)
	case *syntax.Lookup:
		m := b.node(x.Map, nil)
		return &lookupNode{pair{shape: shape{at: at}, left: m, right: b.node(x.Key, nil)}}
	case *syntax.Not:
		return &notNode{shape: shape{at: at}, of: b.node(x.Value, nil)}
	}
	return b.larger(x, h)
}

func (b *binder) larger(x syntax.Expression, h *hint) node {
	switch x := x.(type) {
	case *syntax.Operation:
		return b.operation(x)
	case *syntax.Condition:
		return b.condition(x, h)
	case *syntax.Comprehension:
		return b.comprehension(x, h)
	case *syntax.Defined:
		return b.defined(x)
	case *syntax.Call:
		return b.call(x)
	case *syntax.Construct:
		return b.construct(x, h)
	case *syntax.IndexLookup:
		return b.indexLookup(x)
	}
	return b.report(failed(CodeTypedef, b.file.pos(x), "this cannot be computed"))
}

// Constant returns the value of an expression that consists only of literals; false for any other
// expression.
func Constant(x syntax.Expression) (types.Value, bool) { return folded(x) }

// folded returns the value of a literal, or of a list or dictionary of literals.
func folded(x syntax.Expression) (types.Value, bool) {
	switch x := x.(type) {
	case *syntax.Number:
		if x.Int != nil {
			return types.Integer(x.Int), true
		}
		return x.Float, true
	case *syntax.Constant:
		switch x.Text {
		case "true":
			return true, true
		case "false":
			return false, true
		}
		return types.Null{}, true
	case *syntax.Text:
		return x.Value, true
	case *syntax.Group:
		return folded(x.Value)
	case *syntax.List:
		return foldedList(x)
	case *syntax.Dict:
		out := types.NewDict(len(x.Pairs))
		for _, p := range x.Pairs {
			v, ok := folded(p.Value)
			if !ok {
				return nil, false
			}
			out.Set(p.Key.Value, v)
		}
		return out, true
	}
	return nil, false
}

func foldedList(x *syntax.List) (types.Value, bool) {
	out := &types.List{Items: make([]types.Value, 0, len(x.Items))}
	for _, item := range x.Items {
		v, ok := folded(item)
		if !ok {
			return nil, false
		}
		if l, ok := v.(*types.List); ok {
			out.Items = append(out.Items, l.Items...)
			continue
		}
		out.Items = append(out.Items, v)
	}
	return out, true
}

func (b *binder) ref(name string, s shape) node {
	where, f := b.block.find(name, s.at)
	if f != nil {
		return b.report(f)
	}
	return &refNode{shape: s, where: where, slot: b.slot()}
}

func (b *binder) attr(x *syntax.Attr) node {
	dot := b.file.onLine(x, x.Name.From-1)
	of := b.root(x.Of, nil)
	return &attrNode{
		shape:  shape{at: dot},
		member: member{of: of, name: x.Name.Text, mark: b.file.pos(&x.Name)}, slot: b.slot(),
	}
}

// path binds a variable with attributes that is interpolated in a text. marks are the positions of
// the names.
func (b *binder) path(path []string, s shape, marks []*diag.Pos) node {
	last := len(path) - 1
	if last == 0 {
		n := b.ref(path[0], s)
		if r, ok := n.(*refNode); ok {
			r.mark = marks[0]
		}
		return n
	}
	n := b.own(func() node {
		from := b.slots
		n := b.path(path[:last], s, marks)
		n.fit(from, b.slots)
		return n
	})
	of := member{of: n, name: path[last], mark: marks[last]}
	return &attrNode{shape: s, member: of, slot: b.slot()}
}

func (b *binder) format(x syntax.Expression, parts []syntax.Part, s shape) node {
	t := &b.file.syntax.Tokens[x.Tokens().From]
	out := &formatNode{shape: s, python: t.Kind == syntax.FString}
	m := &textNames{file: b.file, token: t, left: syntax.Mentions(t, parts)}
	out.parts = b.parts(parts, s, m)
	return out
}

func (b *binder) parts(parts []syntax.Part, s shape, m *textNames) []part {
	out := make([]part, 0, len(parts))
	for _, p := range parts {
		q := part{text: p.Text, conversion: p.Conversion}
		if len(p.Path) > 0 {
			from := b.slots
			q.name = strings.Join(p.Path, ".")
			q.of = b.path(p.Path, s, m.next(p.Path))
			q.of.fit(from, b.slots)
			q.spec = b.parts(p.Spec, s, m)
		}
		out = append(out, q)
	}
	return out
}

// textNames are the names in a text that are not bound yet.
type textNames struct {
	file  *file
	token *syntax.Token
	left  []syntax.Mention
}

// next returns the positions of the names of a path; nil for a name that is written with an escape.
func (m *textNames) next(path []string) []*diag.Pos {
	out := make([]*diag.Pos, len(path))
	for i, name := range path {
		if len(m.left) > 0 && m.left[0].Name == name {
			out[i] = m.file.place(m.token.At(m.left[0].From))
			m.left = m.left[1:]
		}
	}
	return out
}

func (b *binder) pattern(x *syntax.Pattern) node {
	at := b.file.pos(x)
	re, err := pattern(x.Text)
	if err != nil {
		return b.report(
			failed(CodeRegex, at, "the regular expression /%s/ is not valid: %v", x.Text, err),
		)
	}
	from := b.slots
	self := b.ref("self", shape{at: at})
	self.fit(from, b.slots)
	return &matchNode{shape: shape{at: at}, of: self, re: re}
}

func (b *binder) list(x *syntax.List, h *hint) node {
	out := &listNode{shape: shape{at: b.file.pos(x)}, slot: b.slot()}
	for _, item := range x.Items {
		out.items = append(out.items, b.node(item, h))
	}
	return out
}

func (b *binder) dict(x *syntax.Dict) node {
	out := &dictNode{shape: shape{at: b.file.pos(x)}}
	for _, p := range x.Pairs {
		out.keys = append(out.keys, p.Key.Value)
		out.values = append(out.values, b.node(p.Value, nil))
	}
	return out
}

func (b *binder) operation(x *syntax.Operation) node {
	s := shape{at: b.file.token(x.At)}
	switch x.Op {
	case "and", "or":
		out := &lazyNode{shape: s, or: x.Op == "or", slot: b.slot()}
		out.left, out.right = b.root(x.Left, nil), b.root(x.Right, nil)
		return out
	case "in", "not in":
		in := &inNode{pair{shape: s, left: b.node(x.Left, nil)}}
		in.right = b.node(x.Right, nil)
		if x.Op == "in" {
			return in
		}
		return &notNode{shape: s, of: in}
	}
	left := b.node(x.Left, nil)
	return &binaryNode{pair{s, left, b.node(x.Right, nil)}, x.Op}
}

func (b *binder) condition(x *syntax.Condition, h *hint) node {
	out := &choiceNode{shape: shape{at: b.placeOf(x.If)}, slot: b.slot()}
	out.test = b.root(x.If, nil)
	out.yes, out.no = b.root(x.Then, h), b.root(x.Else, h)
	return out
}

// defined binds `is defined`.
func (b *binder) defined(x *syntax.Defined) node {
	switch of := x.Value.(type) {
	case *syntax.Ref:
		at := b.file.pos(x)
		where, f := b.block.find(of.Name.Text, at)
		if f != nil {
			return b.report(f)
		}
		return &definedNode{shape: shape{at: at}, where: where, slot: b.slot()}
	case *syntax.Attr:
		dot := b.file.onLine(of, of.Name.From-1)
		n := b.root(of.Of, nil)
		return &definedNode{
			shape:  shape{at: dot},
			member: member{of: n, name: of.Name.Text, mark: b.file.pos(&of.Name)}, slot: b.slot(),
		}
	case *syntax.Lookup:
		return b.definedEntry(x, of)
	}
	return b.report(
		failed(
			CodeOperator,
			b.file.pos(x),
			"`is defined` asks for variables, attributes and entries of dictionaries",
		),
	)
}

// definedEntry binds `d[k] is defined` as: k in d and d[k] != null and d[k] != [].
func (b *binder) definedEntry(x *syntax.Defined, of *syntax.Lookup) node {
	s := shape{at: b.file.token(x.To - 1)}
	differs := func(other types.Value) node {
		return b.own(func() node {
			left := b.node(of, nil)
			n := &binaryNode{pair{s, left, &constant{shape: s, result: other}}, "!="}
			n.fit(0, b.slots)
			return n
		})
	}
	in := b.own(func() node {
		n := &inNode{pair{shape: s, left: b.node(of.Key, nil)}}
		n.right = b.node(of.Map, nil)
		n.fit(0, b.slots)
		return n
	})
	outer := &lazyNode{shape: s, slot: b.slot()}
	outer.left = b.own(func() node {
		inner := &lazyNode{shape: s, slot: b.slot(), left: in, right: differs(types.Null{})}
		inner.fit(0, b.slots)
		return inner
	})
	outer.right = differs(&types.List{})
	return outer
}

// comprehension binds [value for a in x for b in y if c] as [[value for b in y if c] for a in x].
func (b *binder) comprehension(x *syntax.Comprehension, h *hint) node {
	return b.loops(x, 0, h)
}

func (b *binder) loops(x *syntax.Comprehension, i int, h *hint) node {
	l := &x.Loops[i]
	out := &comprehensionNode{shape: shape{at: b.file.pos(x)}, slot: b.slot(), pairs: l.Second != nil}
	out.in = b.loopOver(l.In)
	inner := &block{
		parent: b.block,
		names:  indexed(loopVariables(l.Variable, l.Second)),
		ns:     b.block.ns,
	}
	b.inside(inner, func() {
		if i+1 < len(x.Loops) {
			out.of = b.own(func() node {
				n := b.loops(x, i+1, h)
				n.fit(0, b.slots)
				return n
			})
			return
		}
		out.of = b.root(x.Value, h)
		if len(x.If) > 0 {
			out.guard = b.root(b.all(x.If), nil)
		}
	})
	return out
}

// all joins conditions with `and`.
func (b *binder) all(conditions []syntax.Expression) syntax.Expression {
	last := conditions[len(conditions)-1]
	if len(conditions) == 1 {
		return last
	}
	first := conditions[0]
	return &syntax.Operation{
		Span:  first.Tokens(),
		Op:    "and",
		At:    first.Tokens().From - 1,
		Left:  first,
		Right: b.all(conditions[1:]),
	}
}

// placeOf returns the position that the node of an expression will have.
func (b *binder) placeOf(x syntax.Expression) *diag.Pos {
	switch x := x.(type) {
	case *syntax.Group:
		return b.placeOf(x.Value)
	case *syntax.Operation:
		return b.file.token(x.At)
	case *syntax.Attr:
		return b.file.onLine(x, x.Name.From-1)
	case *syntax.Construct:
		return b.file.onLine(x, x.Entity.To+1)
	}
	return b.file.pos(x)
}
