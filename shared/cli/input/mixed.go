package input

import (
	"context"

	"southbound/shared/cli/home"
	"southbound/shared/compile"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/internal/source"
)

// withDocuments returns the union of a model and the documents in its directory.
func (d *Documents) withDocuments(
	ctx context.Context, path string, c *compile.Compiled, o source.Options,
	warn func(diag.Problem),
) (*model.Model, error) {
	if !home.IsDir(path) {
		return c.Deployable(ctx, o)
	}
	loaded := map[string]bool{}
	for _, s := range c.Project.Sources {
		loaded[home.Resolved(s.Path)] = true
	}
	part := o
	part.Check = nil // a part may require resources of the other one
	part.Beside = &source.Beside{Leave: c.Project.Meta.Paths(),
		Data: func(file string) { warn(withoutFormat(file)) }}
	part.Foreign = func(file string) {
		if !loaded[home.Resolved(file)] {
			warn(unloaded(file))
		}
	}
	documents, in, failed := source.Load(ctx, part)
	if failed == nil && len(in.Documents) == 0 {
		return c.Deployable(ctx, o)
	}
	compiled, err := c.Deployable(ctx, part)
	if err != nil || failed != nil {
		return nil, bothProblems(err, failed)
	}
	return source.Merge(compiled, documents)
}

// bothProblems joins the problems of two parts of an input. An error that is no problem precedes
// them.
func bothProblems(errs ...error) error {
	var all diag.Problems
	more := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		problems, n := diag.Of(err)
		if len(problems) == 0 {
			return err
		}
		all, more = append(all, problems...), more+n
	}
	return all.ErrAnd(more)
}

// warnOf writes a warning about a file, once.
func (d *Documents) warnOf(p diag.Problem) {
	if d.warned[p.File] {
		return
	}
	if d.warned == nil {
		d.warned = map[string]bool{}
	}
	d.warned[p.File] = true
	d.Warn(diag.Problems{p})
}

// unloaded warns of a file of a model that is not part of the export.
func unloaded(file string) diag.Problem {
	return diag.Problem{Pos: diag.Pos{File: file, Line: 1, Column: 1},
		Message: "no model loads this file",
		Hint: "name it main.cf to export it with this directory, import it as a module, or begin its " +
			"name with _ to keep it here"}
}

// withoutFormat warns of a file beside a model that may be intended as a document.
func withoutFormat(file string) diag.Problem {
	return diag.Problem{Pos: diag.Pos{File: file, Line: 1, Column: 1},
		Message: "the file has resources and is not a document: it lacks `southbound: 1`",
		Hint:    "add `southbound: 1`, or begin its name with _ if the model reads it"}
}
