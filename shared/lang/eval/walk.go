package eval

import "southbound/shared/lang/syntax"

// walk calls use for an expression. If use returns true, walk continues with its subexpressions.
func walk(x syntax.Expression, use func(syntax.Expression) bool) {
	if x == nil || !use(x) {
		return
	}
	switch x := x.(type) {
	case *syntax.Group:
		walk(x.Value, use)
	case *syntax.Attr:
		walk(x.Of, use)
	case *syntax.Not:
		walk(x.Value, use)
	case *syntax.Defined:
		walk(x.Value, use)
	case *syntax.Operation:
		walk(x.Left, use)
		walk(x.Right, use)
	case *syntax.Condition:
		walk(x.If, use)
		walk(x.Then, use)
		walk(x.Else, use)
	case *syntax.Lookup:
		walk(x.Map, use)
		walk(x.Key, use)
	case *syntax.List:
		for _, item := range x.Items {
			walk(item, use)
		}
	case *syntax.Dict:
		for _, p := range x.Pairs {
			walk(p.Value, use)
		}
	default:
		walkMore(x, use)
	}
}

func walkMore(x syntax.Expression, use func(syntax.Expression) bool) {
	args := func(args []syntax.Arg) {
		for i := range args {
			walk(args[i].Value, use)
		}
	}
	switch x := x.(type) {
	case *syntax.Call:
		args(x.Args)
	case *syntax.Construct:
		args(x.Args)
	case *syntax.IndexLookup:
		args(x.Args)
	case *syntax.Comprehension:
		walk(x.Value, use)
		for i := range x.Loops {
			walk(x.Loops[i].In, use)
		}
		for _, c := range x.If {
			walk(c, use)
		}
	}
}
