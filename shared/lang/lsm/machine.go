package lsm

import (
	"cmp"
	"fmt"
	"slices"

	"southbound/shared/lang/types"
	"southbound/shared/service/lifecycle"
)

// Attribute returns the value of an attribute of an instance, like eval.Context.Attribute.
type Attribute func(of types.Object, name string) (types.Value, error)

// Machine converts an instance of lsm::LifecycleStateMachine to a lifecycle. The transfers are in
// the order in which the model created them. Machine does not validate the lifecycle.
func Machine(get Attribute, o types.Object) (*lifecycle.Machine, error) {
	r := &reader{get: get, seen: map[types.Object]string{}}
	m := &lifecycle.Machine{Name: r.text(o, "name"), Alternatives: []string{}}
	m.Initial = r.state(m, o, "initial_state")
	for _, s := range r.list(o, "alternative_initial_states") {
		m.Alternatives = append(m.Alternatives, r.known(m, s))
	}
	for _, t := range byNumber(r.list(o, "transfers")) {
		m.Transfers = append(m.Transfers, lifecycle.Transfer{
			Source: r.state(m, t, "source"), Target: r.state(m, t, "target"),
			Error: r.optional(m, t, "error"), Auto: r.bool(t, "auto"),
			Validate: r.bool(t, "validate"), OnUpdate: r.bool(t, "on_update"),
			OnDelete: r.bool(t, "on_delete"), APISetState: r.bool(t, "api_set_state"),
			ResourceBased: r.bool(t, "resource_based"), ConfigName: r.text(t, "config_name"),
			Description:            r.text(t, "description"),
			TargetOperation:        lifecycle.Operation(r.text(t, "target_operation")),
			ErrorOperation:         lifecycle.Operation(r.text(t, "error_operation")),
			TargetSameDesiredState: r.bool(t, "target_same_desired_state"),
			ErrorSameDesiredState:  r.bool(t, "error_same_desired_state"),
			Annotations:            r.dict(t, "__annotations"),
		})
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

// byNumber sorts instances by creation.
func byNumber(of []types.Object) []types.Object {
	slices.SortFunc(of, func(a, b types.Object) int { return cmp.Compare(a.Number(), b.Number()) })
	return of
}

// reader reads instances. After the first error, it returns zero values.
type reader struct {
	get  Attribute
	seen map[types.Object]string // names of states
	err  error
}

func (r *reader) value(o types.Object, name string) types.Value {
	if r.err != nil {
		return types.Null{}
	}
	v, err := r.get(o, name)
	if err != nil {
		r.err = err
	} else if types.IsUnknown(v) {
		r.err = fmt.Errorf("%s of %s is unknown, and has to be known when the model is compiled",
			name, o)
	}
	if r.err != nil {
		return types.Null{}
	}
	return v
}

func (r *reader) text(o types.Object, name string) string {
	s, _ := r.value(o, name).(string)
	return s
}

func (r *reader) bool(o types.Object, name string) bool {
	b, _ := r.value(o, name).(bool)
	return b
}

func (r *reader) dict(o types.Object, name string) map[string]any {
	v := r.value(o, name)
	if r.err != nil {
		return nil
	}
	p, err := Plain(v)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", name, err)
	}
	d, _ := p.(map[string]any)
	return d
}

func (r *reader) list(o types.Object, name string) []types.Object {
	list, _ := r.value(o, name).(*types.List)
	if list == nil {
		return nil
	}
	var out []types.Object
	for _, item := range list.Items {
		if o, ok := item.(types.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

// state returns the name of the state that a relation refers to.
func (r *reader) state(m *lifecycle.Machine, o types.Object, name string) string {
	s, ok := r.value(o, name).(types.Object)
	if !ok {
		return ""
	}
	return r.known(m, s)
}

// optional is state for an optional relation; "" if the relation is empty.
func (r *reader) optional(m *lifecycle.Machine, o types.Object, name string) string {
	if r.err != nil {
		return ""
	}
	v, err := r.get(o, name)
	if isMissing(err) {
		return ""
	}
	if err != nil {
		r.err = err
		return ""
	}
	s, ok := v.(types.Object)
	if !ok {
		return ""
	}
	return r.known(m, s)
}

// known returns the name of a state, and adds the state to the machine on first use.
func (r *reader) known(m *lifecycle.Machine, o types.Object) string {
	if name, ok := r.seen[o]; ok {
		return name
	}
	set := func(name string) lifecycle.Set { return lifecycle.Set(r.text(o, name)) }
	s := lifecycle.State{
		Name: r.text(o, "name"), Label: r.text(o, "label"),
		ExportResources: r.bool(o, "export_resources"), ValidateSelf: set("validate_self"),
		ValidateOthers: set("validate_others"), PurgeResources: r.bool(o, "purge_resources"),
		Deleted: r.bool(o, "deleted"), Values: r.dict(o, "values"),
		PreviousAttrSetOnValidate: set("previous_attr_set_on_validate"),
		PreviousAttrSetOnExport:   set("previous_attr_set_on_export"),
		Annotations:               r.dict(o, "__annotations"),
	}
	r.seen[o] = s.Name
	m.States = append(m.States, s)
	return s.Name
}
