package jinja

import "southbound/shared/lang/types"

// node is a statement.
type node interface {
	exec(s *state) error
	place() int
	// reads records the names of the part that contains the statement.
	reads(in *names)
	// parts computes the names of the statement's own parts, such as the body of a loop.
	parts(in *names)
}

// expr is an expression.
type expr interface {
	eval(s *state) (types.Value, error)
}

// line is the line of a statement.
type line int

func (l line) place() int { return int(l) }

type (
	dataNode struct {
		line
		text string
	}
	printNode struct {
		line
		what expr
	}
	ifNode struct {
		line
		test       expr
		then, rest []node
	}
	forNode struct {
		line
		target    target
		over      expr
		test      expr // nil if there is none
		body      []node
		otherwise []node
		recursive bool
		// The names to look up in the host: when a round starts, when items are selected, and when
		// there are no items.
		looksUp, testLooksUp, elseLooksUp []string
	}
	setNode struct {
		line
		target target
		value  expr
	}
	setBlockNode struct {
		line
		target target
		filter *filterExpr // nil if there is none; its innermost value is the block
		body   []node
		// looksUp are the names to look up in the host when the body starts.
		looksUp []string
	}
	withNode struct {
		line
		targets []target
		values  []expr
		body    []node
		// looksUp are the names to look up in the host when the body starts.
		looksUp []string
	}
	macroNode struct {
		line
		macro *macro
	}
	callNode struct {
		line
		call *callExpr
		body *macro
	}
	filterNode struct {
		line
		filter *filterExpr
		body   []node
		// looksUp are the names to look up in the host when the body starts.
		looksUp []string
	}
	autoescapeNode struct {
		line
		on   expr
		body []node
		// looksUp are the names to look up in the host when the body starts.
		looksUp []string
	}
	blockNode struct {
		line
		name     string
		body     []node
		scoped   bool
		required bool
		tpl      *Template
		// looksUp are the names to look up in the host when the body starts.
		looksUp []string
	}
	extendsNode struct {
		line
		parent expr
	}
	includeNode struct {
		line
		what          expr
		ignoreMissing bool
		context       bool
	}
	importNode struct {
		line
		what    expr
		as      string
		context bool
	}
	fromNode struct {
		line
		what    expr
		names   [][2]string // name, and its local name
		context bool
	}
)

// target is the target of an assignment: a name, a tuple of targets, or an attribute of a
// namespace.
type target interface{ targetNode() }

type (
	nameTarget  string
	tupleTarget []target
	attrTarget  struct{ of, name string }
)

func (nameTarget) targetNode()  {}
func (tupleTarget) targetNode() {}
func (attrTarget) targetNode()  {}

type (
	constExpr struct{ value types.Value }
	nameExpr  struct{ name string }
	tupleExpr struct{ items []expr }
	listExpr  struct{ items []expr }
	dictExpr  struct{ keys, values []expr }
	condExpr  struct{ test, then, rest expr } // rest is nil without else
	binExpr   struct {
		op          string
		left, right expr
	}
	logicExpr struct {
		and         bool
		left, right expr
	}
	notExpr  struct{ of expr }
	signExpr struct {
		op string
		of expr
	}
	concatExpr  struct{ items []expr }
	compareExpr struct {
		first expr
		ops   []string
		rest  []expr
	}
	attrExpr struct {
		of   expr
		name string
	}
	itemExpr  struct{ of, at expr }
	sliceExpr struct{ of, from, to, step expr } // nil where a bound is omitted
	callExpr  struct {
		of   expr
		args arguments
	}
	filterExpr struct {
		name string
		of   expr // nil for the text of a block
		args arguments
	}
	testExpr struct {
		name string
		of   expr
		args arguments
	}
)

// arguments are the arguments of a call.
type arguments struct {
	args  []expr
	named []namedExpr
	list  expr // *x
	dict  expr // **x
}

type namedExpr struct {
	name  string
	value expr
}

// macro is a function that a template defines.
type macro struct {
	name     string // "" for the body of a call block
	params   []string
	defaults []expr // of the last params
	body     []node
	// The special names that the body reads. A macro accepts only those extra arguments that it
	// reads.
	varargs, kwargs, caller bool
	// looksUp are the names to look up in the host when the body starts.
	looksUp []string
}
