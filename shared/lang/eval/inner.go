package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
)

// innerVariable is a variable of a block that a name outside of the block cannot refer to.
type innerVariable struct {
	at            *diag.Pos
	message, hint string
}

// inner returns the variable with the name of the spot that is set inside of a block, if the name
// is used outside of that block; nil if there is none.
func (p *spot) inner() *innerVariable {
	if p.block == nil || p.last != p.name {
		return nil
	}
	for b := p.block; b != nil; b = b.parent {
		if out := innerOf(b.statements, p.name); out != nil {
			out.at = b.ns.file.pos(out.node)
			return &out.innerVariable
		}
	}
	return nil
}

// foundInner is an innerVariable with its place in the tree.
type foundInner struct {
	innerVariable
	node syntax.Node
}

// innerOf searches the blocks in statements for the first one that sets a variable.
func innerOf(statements []syntax.Statement, name string) *foundInner {
	for _, st := range statements {
		var out *foundInner
		switch st := st.(type) {
		case *syntax.For:
			if v := loopVariable(st, name); v != nil {
				return &foundInner{innerVariable{
					message: name + " is a variable of this `for`",
					hint:    "use " + name + " inside of the `for`",
				}, v}
			}
			out = setIn(st.Body, name, "`for`", "use it there, or collect the values: "+name+
				" = [... for "+st.Variable.Text+" in ...]")
		case *syntax.If:
			text := "choose the value in one assignment: " + name + " = condition ? a : b"
			if out = setIn(st.Then, name, "`if`", text); out == nil {
				out = setIn(st.Else, name, "`if`", text)
			}
		case *syntax.Implementation:
			out = setIn(st.Body, name, "implementation "+st.Name.Text,
				"use it there, or set an attribute of the instance: self."+name+" = ...")
		}
		if out != nil {
			return out
		}
	}
	return nil
}

// loopVariable returns the variable of a loop with a name; nil if there is none.
func loopVariable(st *syntax.For, name string) *syntax.Ident {
	switch {
	case st.Variable.Text == name:
		return &st.Variable
	case st.Second != nil && st.Second.Text == name:
		return st.Second
	}
	return nil
}

// setIn searches the statements of a block, and the blocks in it.
func setIn(body []syntax.Statement, name, block, hint string) *foundInner {
	for _, st := range body {
		if a, ok := st.(*syntax.Assign); ok {
			if r, ok := a.Target.(*syntax.Ref); ok && r.Name.Text == name {
				return &foundInner{innerVariable{
					message: name + " is set here, inside of the " + block +
						", and is not visible outside of it",
					hint: hint,
				}, r}
			}
		}
	}
	return innerOf(body, name)
}
