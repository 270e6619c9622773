package std

import (
	"errors"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Reference is a reference that is resolved during deployment: an environment variable, a fact of a
// resource, or the integer value of another reference.
type Reference struct {
	Class string      // EnvironmentReference, FactReference or IntReference
	Value types.Value // the name of the variable or the fact, or the value of the integer
	On    types.Object
}

// The classes of references.
const (
	EnvironmentReference = "EnvironmentReference"
	FactReference        = "FactReference"
	IntReference         = "IntReference"
)

// ReferenceName implements types.Reference.
func (r Reference) ReferenceName() string { return r.Class }

// InText reports whether the reference may be part of a text of a resource.
func (r Reference) InText() bool {
	_, named := r.Value.(string)
	return named && r.Class != IntReference
}

// Of implements types.Reference.
func (r Reference) Of() types.Type {
	if r.Class == IntReference {
		return types.Int
	}
	return types.String
}

// envScheme is the prefix of the source of a secret that is an environment variable.
const envScheme = "env:"

// withinDoc documents the parameter within of plugins that read secrets from environment variables.
const withinDoc = "the variables that a computed name may be; an item that ends with _ allows all " +
	"that begin with it. In a model for orders, a computed name needs it."

func referencePlugins() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "std::create_environment_reference", Result: "reference",
			Doc: "Returns a reference to the environment variable name, which is resolved when resources are " +
				"deployed. It is deployed as a secret from env:name. within: " + withinDoc,
			Params: []eval.Param{{Name: "name", Type: "string | reference"}, Within()},
			Call: func(c *eval.Context, a eval.Args) (types.Value, error) {
				if err := SecretName(c, a, 0, 1, envScheme); err != nil {
					return nil, err
				}
				switch v := a.Values[0].(type) {
				case string:
					return Reference{Class: EnvironmentReference, Value: v}, nil
				case Reference:
					if v.Class != IntReference {
						return Reference{Class: EnvironmentReference, Value: v}, nil
					}
				}
				return nil, errors.New("the name is a string, or a reference to one")
			},
		},
		{
			Name: "std::create_fact_reference", Result: "reference",
			Doc: "Returns a reference to a fact of resource, which is resolved when resources are deployed.",
			Params: []eval.Param{
				{Name: "resource", Type: "std::Resource"},
				{Name: "fact_name", Type: "string"},
			},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				o, _ := a.Values[0].(types.Object)
				return Reference{Class: FactReference, Value: a.Text(1), On: o}, nil
			},
		},
		{
			Name: "std::create_int_reference", Result: "reference",
			Doc: "Returns a reference to value, a reference, as a whole number. No resource can " +
				"be deployed with it.",
			Params: []eval.Param{{Name: "value", Type: "reference"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return Reference{Class: IntReference, Value: a.Values[0]}, nil
			},
		},
	}
}
