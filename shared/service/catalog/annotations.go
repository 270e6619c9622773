package catalog

import (
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/types"
)

// console is the prefix of annotations for the console. Their values may be more than strings.
const console = "web_"

// ofEntity returns the annotations of the entity.
func (e *entity) ofEntity() map[string]any {
	v, ok := e.defaults[annotationsSuffix].(*types.Dict)
	at := e.of.At
	if a := e.of.Attribute(annotationsSuffix); a != nil && !strings.HasPrefix(
		a.Entity.Namespace, lsm.Namespace) {
		at = a.At
	}
	if !ok {
		e.bad(*at, annotationsSuffix, `write dict __annotations = {"name": "value"}`,
			"the annotations of %s have no value", e.of.FullName())
		return map[string]any{}
	}
	return e.annotations(v, *at, annotationsSuffix, "of "+e.of.FullName(), true)
}

// ofAttribute returns the annotations of an attribute.
func (e *entity) ofAttribute(of *types.Attribute) map[string]any {
	a := e.of.Attribute(of.Name + annotationsSuffix)
	if a == nil {
		return map[string]any{}
	}
	hint := "write dict " + a.Name + ` = {"name": "value"}`
	if a.Type != types.LiteralDict {
		e.bad(*a.At, a.Name, hint, "it has the type %s, and not dict", a.Type)
		return map[string]any{}
	}
	v, ok := e.defaults[a.Name].(*types.Dict)
	if !ok {
		e.bad(*a.At, a.Name, hint, "it has no value")
		return map[string]any{}
	}
	return e.annotations(v, *a.At, a.Name, "of "+of.Name, false)
}

// annotations checks and returns annotations. Annotations of entities, and those for the console,
// may be simple values, lists and dicts. All others must be strings.
func (c *collector) annotations(
	d *types.Dict, at diag.Pos, name, whose string, simple bool,
) map[string]any {
	out := map[string]any{}
	for _, k := range d.Keys() {
		v, _ := d.Get(k)
		if _, ok := v.(string); !ok && !simple && !strings.HasPrefix(k, console) {
			c.bad(
				at,
				name,
				"write a string, or begin its name with "+console+" if the console reads it",
				"the annotation %s %s is %s, and not a string",
				k,
				whose,
				types.Kind(v),
			)
			continue
		}
		if !constant(v) {
			c.bad(at, name, "use a string, a number, true or false, a list or a dict",
				"the annotation %s %s is or holds %s", k, whose, types.Kind(v))
			continue
		}
		plain, err := lsm.Plain(v)
		if err != nil {
			c.bad(at, name, "use a constant", "the annotation %s %s: %v", k, whose, err)
			continue
		}
		out[k] = plain
	}
	return out
}

// constant reports whether a value can be an annotation: it contains neither null nor unknown
// values.
func constant(v types.Value) bool {
	switch v := v.(type) {
	case bool, int64, float64, string:
		return true
	case *types.List:
		for _, item := range v.Items {
			if !constant(item) {
				return false
			}
		}
		return true
	case *types.Dict:
		for _, k := range v.Keys() {
			if item, _ := v.Get(k); !constant(item) {
				return false
			}
		}
		return true
	}
	return false
}

// decoration holds the annotations that replace the -- of a relation.
type decoration struct {
	modifier    string
	service     bool
	annotations map[string]any
}

// decoration parses the annotations of a relation.
func (c *collector) decoration(a *types.Attribute) decoration {
	out := decoration{annotations: map[string]any{}}
	for _, v := range c.result.Annotations[a] {
		o := found(v)
		switch {
		case o == nil:
			c.bad(
				*a.At,
				a.Name,
				"use lsm::__r__, lsm::__rw__, lsm::__rwplus__, lsm::__service__ or an "+
					"instance of lsm::RelationAnnotations",
				"one of its annotations is %s",
				types.Kind(v),
			)
		case is(o.Type(), "RelationModifier"):
			if m := text(o, "modifier"); out.modifier != "" && out.modifier != m {
				c.bad(*a.At, a.Name, "keep one of them", "it has two modifiers, %s and %s",
					out.modifier, m)
			} else {
				out.modifier = m
			}
		case is(o.Type(), "InterServiceRelation"):
			out.service = true
		case is(o.Type(), "RelationAnnotations"):
			c.merge(out.annotations, a, o)
		}
	}
	return out
}

// merge adds the annotations of an instance to those of a relation.
func (c *collector) merge(into map[string]any, a *types.Attribute, o *eval.Instance) {
	v, _ := o.Value("annotations")
	d, ok := v.(*types.Dict)
	if !ok {
		c.bad(o.Place("annotations"), "annotations", "compute it from known values",
			"the annotations of %s are %s", a.Name, types.Kind(v))
		return
	}
	at := o.Place("annotations")
	all := c.annotations(d, at, "annotations", "of "+a.Name, false)
	c.suggested(at, "annotations", all)
	c.titles(at, "annotations", all)
	if all[webPresentation] == documentation {
		c.bad(at, "annotations", "annotate an attribute of the type string",
			"%s is %s: documentation is text, and %s is a relation", webPresentation, documentation,
			a.Name)
	}
	for k, one := range all {
		into[k] = one
	}
}
