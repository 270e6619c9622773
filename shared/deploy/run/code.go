package run

import (
	"bytes"
	"fmt"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Code runs handlers that come with resources.
type Code interface {
	// Handler returns the handler of the resources at an agent that have this code and these
	// packages, which are the zero value for resources that no function serves. If there is no
	// handler, it returns an error with the reason.
	Handler(env, agent string, code, packages resource.File) (provider.Handler, error)
}

// handlerOf returns the handler of a resource; nil if there is none, with the reason if it is
// known.
func (n *Runner) handlerOf(
	env string, r *resource.Resource, typ *schema.Compiled,
) (h provider.Handler, why error) {
	code, is := model.CodeOf(r)
	if !is {
		if _, declared := model.DeclaredBy(r); declared && typ != nil {
			return bridged(n, typ)
		}
		return n.Handlers[r.Type], nil
	}
	if n.Code == nil {
		return nil, fmt.Errorf(noCode, r.Agent)
	}
	return n.Code.Handler(env, r.Agent, code, model.PackagesOf(r))
}

// noCode is the reason for handlers that this program cannot run, with the command that runs them.
const noCode = "its handler is Python code, which this function does not run: `southbound agent run %s` " +
	"does, on a machine with Python and the packages of the project"

// Coded reports whether a row is of a resource that comes with its handler, without decoding the
// row: in texts, quotation marks would be escaped.
func Coded(row *state.Row) bool {
	return bytes.Contains(row.Body, []byte(`"`+model.CodeAttribute+`":{"file":"`))
}

// coded is Coded for a row with the intent res; nil: the intent is unknown.
func coded(row *state.Row, res *resource.Resource) bool {
	if res == nil {
		return Coded(row)
	}
	_, is := model.CodeOf(res)
	return is
}

// ownHandler returns this program's handler for a row; nil if the row comes with its handler, or if
// the declaration of its type was not read yet. res is the intent of the row; nil: it is decoded if
// that is needed.
func (n *Runner) ownHandler(row *state.Row, res *resource.Resource) provider.Handler {
	if Declared(n, row) {
		typ, known := declaredOf(n, row, res)
		if !known {
			return nil
		}
		h, _ := bridged(n, typ) // a run reports the error
		return h
	}
	typ := row.ID.Type()
	if h := n.Handlers[typ]; h == nil || !Coded(row) {
		return h
	}
	return nil
}

// ReportsFacts reports whether the handler of a row can read facts. A handler that is not known here
// may.
func (n *Runner) ReportsFacts(row *state.Row) bool {
	h := n.ownHandler(row, nil)
	_, facts := provider.As[provider.FactReader](h)
	return facts || Coded(row) || h == nil && Declared(n, row)
}
