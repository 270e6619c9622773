package eval

import (
	"errors"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// The codes of problems, which stay the same.
const (
	CodeDoubleSet       = "double_set"
	CodeType            = "type_mismatch"
	CodeOptional        = "optional_unset"
	CodeNull            = "relation_null"
	CodeFrozen          = "modified_after_freeze"
	CodeArity           = "relation_arity"
	CodeIncomplete      = "incomplete_instance"
	CodeStuck           = "not_executed"
	CodeEndless         = "endless"
	CodeLimit           = "limit"
	CodeUnknownType     = "unknown_type"
	CodeUnknownName     = "unknown_variable"
	CodeUnknownAttr     = "unknown_attribute"
	CodeNamespace       = "unknown_namespace"
	CodeImport          = "import"
	CodeDuplicate       = "duplicate_definition"
	CodeInherit         = "inheritance"
	CodeTypedef         = "typedef"
	CodeDefault         = "default"
	CodeIndex           = "index"
	CodeIndexCollision  = "index_collision"
	CodeIndexMissing    = "index_attribute"
	CodeNoMatch         = "no_match"
	CodeImplement       = "implement"
	CodeNoImplement     = "no_implementation"
	CodePlugin          = "plugin"
	CodeArguments       = "arguments"
	CodeCall            = "not_callable"
	CodeKey             = "key"
	CodeOperator        = "operator"
	CodeCondition       = "condition"
	CodeFormat          = "format"
	CodeCast            = "cast"
	CodeRelation        = "relation"
	CodeRegex           = "regex"
	CodeReference       = "reference"
	CodePolicy          = "relation_precedence"
	CodeNotEntity       = "not_an_instance"
	CodeNotList         = "not_a_list"
	CodeDataclass       = "dataclass"
	CodeDuplicateArg    = "duplicate_argument"
	CodeShadow          = "shadowed_variable"
	CodeDeprecated      = "deprecated"
	CodeOverrideBuiltin = "overrides_builtin"
)

// typeFail says that a value does not belong to a type. A typedef that refuses it is the place
// then, as for the reference.
func typeFail(err error) *fail {
	f := &fail{code: CodeType, message: err.Error(), weight: 100}
	var m *types.Mismatch
	if errors.As(err, &m) {
		f.with(m.Type.At, "the type "+m.Type.Name+" is defined here")
	}
	var inner *fail
	if errors.As(err, &inner) {
		f.related = append(f.related, related{inner.at, inner.message})
		f.related = append(f.related, inner.related...)
	}
	return f
}

func (v *variable) twice(value types.Value, at *diag.Pos) *fail {
	f := &fail{
		code:   CodeDoubleSet,
		weight: 51,
		message: "the value is set twice: it is " + types.Short(
			v.value,
		) + " already, and would become " + types.Short(
			value,
		),
	}
	if v.attr != nil {
		f.message = v.attr.Name + " is set twice: it is " + types.Short(
			v.value,
		) + " already, and would become " + types.Short(
			value,
		)
	}
	f.hint = "a variable or an attribute gets one value; remove one of the two assignments"
	return f.with(v.at, "the first value is set here").with(at, "the other value is set here")
}

func (v *variable) tooLate(value types.Value, at *diag.Pos, turn bool) *fail {
	r, o := v.attr, v.owner
	if v.kind == many && len(v.late.list.Items) == r.Relation.High {
		return v.overFull(at)
	}
	f := &fail{
		code: CodeFrozen, weight: 50, at: at,
		message: "the relation " + r.Name + " of " + o.String() + " was complete, and its value used, when " + types.Short(
			value,
		) + " came",
		hint: "set it before something needs all of it, or say in project.yml in which order relations become complete (relation_precedence_policy)",
	}
	return f.with(r.At, "the relation is defined here")
}

func (v *variable) overFull(at *diag.Pos) *fail {
	f := &fail{code: CodeArity, weight: 100, at: at}
	f.message = "the relation " + v.attr.Name + " of " + v.owner.String() + " holds at most " + types.Repr(
		int64(v.attr.Relation.High),
	) + ", and gets one more"
	return f.with(v.attr.At, "the relation is defined here")
}
