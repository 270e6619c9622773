package resources

import (
	"errors"
	"fmt"
	"slices"

	"southbound/shared/entity"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// kind is a form of a value in documents. It is the name of the member that identifies the form.
type kind string

const (
	fileKind      kind = "file"
	secretKind    kind = "secret"
	parameterKind kind = "parameter"
	factKind      kind = "fact"
	textKind      kind = "text"
)

// reference is a value that is resolved during deployment.
type reference struct {
	kind    kind
	name    string       // for a file, its absolute path
	version string       // of a secret; "" if there is none
	of      types.Object // of a fact or a secret output
}

// ReferenceName implements types.Reference.
func (r reference) ReferenceName() string { return Namespace + "::" + string(r.kind) }

// InText reports whether the reference may be part of a text.
func (r reference) InText() bool { return r.kind != fileKind }

// Of implements types.Reference. It returns nil, because the type of the resource checks the
// resolved value.
func (r reference) Of() types.Type { return nil }

// Facts returns a function for std.Env.Later. The function returns the reference to a fact of the
// resource that an instance becomes, and false if it becomes none. The mapper may be nil.
func Facts(m *entity.Mapper) func(of types.Object, name string) (types.Reference, bool) {
	return func(of types.Object, name string) (types.Reference, bool) {
		var kinds []string
		for e := range lineage(of.Type()) {
			kinds = append(kinds, e.FullName())
		}
		if slices.Contains(kinds, resourceEntity) || m.Maps(kinds) {
			return factNamed(name, of), true
		}
		return nil, false
	}
}

// Plugins returns the plugins of Namespace.
func Plugins() []eval.Plugin {
	named := func(k kind) func(*eval.Context, eval.Args) (types.Value, error) {
		return func(_ *eval.Context, a eval.Args) (types.Value, error) {
			if a.Text(0) == "" {
				return nil, fmt.Errorf("a %s has a name, and this one is empty", k)
			}
			return reference{kind: k, name: a.Text(0)}, nil
		}
	}
	text := func(name string) eval.Param { return eval.Param{Name: name, Type: "string"} }
	return []eval.Plugin{
		{
			Name: Namespace + "::file", Result: "reference", InContext: true, Call: file,
			Doc: "Returns the bytes of a file of a module: path is module/path, or ./path in the " +
				"module that calls, or /path of the project, below the folder files.",
			Params: []eval.Param{text("path")},
		},
		{
			Name: Namespace + "::secret", Result: "reference", Call: secret,
			Doc: "Returns a secret, which is looked up where it is needed and never stored: " +
				"source is " + resource.SecretForms() + ". within: the " +
				"sources that a computed source may be, such as env:APP_ (an item that ends with " +
				"_ allows all variables that begin with it) or file:/srv/secrets/ (all files " +
				"below it). In a model for orders, a computed source needs it.",
			Params: []eval.Param{
				text("source"), {Name: "version", Type: "string?", Default: types.Null{}},
				std.Within(),
			},
		},
		{
			Name: Namespace + "::parameter", Result: "reference", Call: named(parameterKind),
			Doc: "Returns a parameter of the environment. A resource is undefined until " +
				"that is set.",
			Params: []eval.Param{
				text("name"),
			},
		},
		{
			Name: Namespace + "::fact", Result: "reference", Call: fact,
			Doc: "Returns a value that is known once a resource exists. A resource that needs " +
				"it is undefined until then. name may continue with a path into the value, such as " +
				"endpoints/0/port: members and positions counted from 0. ~ is written ~0, and / in a " +
				"name ~1.",
			Params: []eval.Param{{Name: "resource", Type: resourceEntity}, text("name")},
		},
		{
			Name: Namespace + "::output", Result: "reference", Call: output,
			Doc: "Returns a secret output of a resource: a value that its handler keeps sealed, such " +
				"as a generated password. path leads to it, as in users/0/password. A resource that " +
				"needs it is deployed after that resource, and again when the output changes.",
			Params: []eval.Param{{Name: "resource", Type: resourceEntity}, text("path")},
		},
		{
			Name: Namespace + "::text", Result: "string | reference", Call: parts,
			Doc: "Returns the text of parts: strings, secrets, parameters, facts and further " +
				"texts. It is put together where the resource is deployed. A text such as " +
				`f"user:{password}@host" does the same.`,
			Params: []eval.Param{{Name: "parts", Type: "list"}},
		},
	}
}

func file(c *eval.Context, a eval.Args) (types.Value, error) {
	path, err := std.File(c, a.Text(0))
	if err != nil {
		return nil, err
	}
	return reference{kind: fileKind, name: path}, nil
}

func secret(c *eval.Context, a eval.Args) (types.Value, error) {
	if err := std.SecretName(c, a, 0, 2, ""); err != nil {
		return nil, err
	}
	return reference{kind: secretKind, name: a.Text(0), version: a.Text(1)}, nil
}

func parts(_ *eval.Context, a eval.Args) (types.Value, error) {
	items := a.List(0).Items
	for i, p := range items {
		if _, literal := p.(string); !literal && !types.InText(p) {
			return nil, fmt.Errorf("part %d is %s; parts are strings, secrets, parameters and facts",
				i+1, types.Kind(p))
		}
	}
	return types.JoinText(items...), nil
}

func output(c *eval.Context, a eval.Args) (types.Value, error) {
	if err := std.SecretPath(c, a, 1); err != nil {
		return nil, err
	}
	if path, err := resource.ParsePath(a.Text(1)); err != nil {
		return nil, err
	} else if len(path) == 0 {
		return nil, errors.New("a secret output has a path, and this one is empty")
	}
	return reference{kind: secretKind, name: a.Text(1), of: a.Values[0].(types.Object)}, nil
}

func fact(_ *eval.Context, a eval.Args) (types.Value, error) {
	if err := resource.CheckFact(a.Text(1)); err != nil {
		return nil, fmt.Errorf("%w: %s", err, fault.HintOf(err))
	}
	return reference{kind: factKind, name: a.Text(1), of: a.Values[0].(types.Object)}, nil
}

// factNamed returns the reference to a whole fact, by its name.
func factNamed(name string, of types.Object) reference {
	return reference{kind: factKind, name: resource.Path{name}.String(), of: of}
}
