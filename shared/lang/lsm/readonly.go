package lsm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// readOnlyPlugins returns the plugins that write to the inventory and to parameters.
func readOnlyPlugins() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "lsm::update_read_only_attribute", Result: "any", InContext: true,
			Call: updateReadOnly,
			Doc: "Stores value as the attribute of an instance that only the model sets " +
				"(modifier r), and returns it. attribute_path is its name, or a path into " +
				"embedded entities. If the attribute of the instance has a value in this compile " +
				"already, from its constructor or a default, that one is returned, and the " +
				"stored one is seen by the next compile.",
			Params: []eval.Param{
				{Name: "service", Type: "lsm::ServiceBase"},
				{Name: "attribute_path", Type: "string"},
				{Name: "value", Type: "any"},
			},
		},
		{
			Name: "lsm::set_suggested_values", Result: "any", InContext: true, Call: suggest,
			Doc: "Stores values as the suggestions of the parameter parameter_name: forms " +
				"whose attribute names it in web_suggested_values offer them.",
			Params: []eval.Param{
				{Name: "parameter_name", Type: "string"}, {Name: "values", Type: "list"},
			},
		},
	}
}

func isMissing(err error) bool { return errors.Is(err, eval.ErrMissing) }

func updateReadOnly(c *eval.Context, a eval.Args) (types.Value, error) {
	o, path, v := a.Values[0].(types.Object), a.Text(1), a.Values[2]
	id, err := c.Attribute(o, "instance_id")
	if err != nil {
		return nil, err
	}
	if err := readOnly(o.Type(), path, v); err != nil {
		return nil, err
	}
	plain, err := Plain(v)
	if err != nil {
		return nil, err
	}
	text, _ := id.(string)
	of(c).update(Update{Instance: text, Path: path, Value: plain})
	if has, ok := held(c, o, path); ok {
		return has, nil
	}
	return v, nil
}

// held returns the value of an attribute if the attribute has one in this compile already.
func held(c *eval.Context, o types.Object, path string) (types.Value, bool) {
	if o.Type().Place(path) < 0 {
		return nil, false
	}
	v, err := c.Attribute(o, path)
	return v, err == nil
}

// readOnly returns the reason why a value cannot be stored as an attribute of an entity; nil if it
// can.
func readOnly(e *types.Entity, path string, v types.Value) error {
	name, rest := path, ""
	if i := strings.IndexAny(path, ".["); i >= 0 {
		name, rest = path[:i], path[i:]
	}
	a := e.Attribute(name)
	if a == nil || strings.HasPrefix(name, "_") {
		var names []string
		for _, other := range e.All() {
			names = append(names, other.Name)
		}
		return &eval.PluginError{
			Message: e.FullName() + " has no attribute " + name, Hint: eval.DidYouMean(name, names),
		}
	}
	if rest != "" {
		if a.Relation == nil {
			return fmt.Errorf("%s is not an embedded entity, so the path cannot go on with %s",
				name, rest)
		}
		return nil // the path is checked when the value is stored
	}
	if a.Relation != nil {
		return fmt.Errorf("%s leads to an entity; write the path of one of its attributes", name)
	}
	if modifier := Modifier(e, name); modifier != "r" {
		return &eval.PluginError{
			Message: fmt.Sprintf(
				"%s is set by customers: its modifier is %s, and the model sets attributes "+
					"with the modifier r",
				name,
				modifier,
			),
			Hint: fmt.Sprintf(`write lsm::attribute_modifier %s__modifier = "r"`, name),
		}
	}
	return a.Type.Check(v)
}

// Modifier returns the modifier of an attribute of an entity. The default is rw.
func Modifier(e *types.Entity, attribute string) string {
	all := e.AllDefaults()
	i := slices.IndexFunc(
		all,
		func(d types.Default) bool { return d.Name == attribute+"__modifier" },
	)
	if i >= 0 {
		if m, ok := all[i].Value.(string); ok {
			return m
		}
	}
	return "rw"
}

func suggest(c *eval.Context, a eval.Args) (types.Value, error) {
	if a.Text(0) == "" {
		return nil, errors.New("a parameter has a name, and this one is empty")
	}
	values := make([]any, 0, len(a.List(1).Items))
	for i, item := range a.List(1).Items {
		v, err := suggested(item)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		values = append(values, v)
	}
	of(c).suggest(Suggestion{Parameter: a.Text(0), Values: values})
	return types.Null{}, nil
}

// suggested converts a suggested value: a string, or a dict with a label and a value.
func suggested(v types.Value) (any, error) {
	const text = "%s is not a string, and not a dict with label and value"
	switch v := v.(type) {
	case string:
		return v, nil
	case *types.Dict:
		label, ok := v.Get("label")
		_, is := label.(string)
		_, has := v.Get("value")
		if !ok || !is || !has || v.Len() != 2 {
			return nil, fmt.Errorf(text, types.Short(v))
		}
		return Plain(v)
	}
	return nil, fmt.Errorf(text, types.Kind(v))
}
