package std

import (
	"fmt"
	"slices"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// Within returns the parameter of a plugin that lists the allowed names of secrets, for names that
// are computed.
func Within() eval.Param {
	return eval.Param{Name: "within", Type: "string[]?", Default: types.Null{}, ByName: true}
}

// SecretName checks an argument that names a secret, and the argument within that lists allowed
// names. If the plugin implies the scheme of the source, scheme is the scheme ("env:"), else "".
//
// If within is set, it must be a literal list, and SecretName rejects names outside of the list.
// Without within, a model that is compiled for orders must pass the name as a literal. Any other
// text may come from an order, and could name any secret of the machine.
func SecretName(c *eval.Context, a eval.Args, name, within int, scheme string) error {
	if a.Null(within) {
		if !of(c).Ordered || a.Literal(name) {
			return nil
		}
		return notWritten(c, a, name, scheme)
	}
	if !a.Literal(within) {
		return &eval.PluginError{
			Code:    eval.CodeArguments,
			Message: "within: write the list as a literal, since an order must not decide which names are permitted",
			Hint:    `write the list in the call: ` + example(scheme),
		}
	}
	text, ok := a.Values[name].(string)
	if !ok {
		return &eval.PluginError{
			Message: "the name is known only when resources are deployed, so it cannot be within " +
				"a list",
			Hint: "give a text as the name",
		}
	}
	return allowed(c, a.List(within), scheme, text)
}

// SecretPath checks an argument that selects one of the secrets of a resource. In a model that is
// compiled for orders, it must be a literal, as a name in SecretName.
func SecretPath(c *eval.Context, a eval.Args, path int) error {
	if !of(c).Ordered || a.Literal(path) {
		return nil
	}
	return &eval.PluginError{
		Code: eval.CodeArguments,
		Message: "the path of the secret output is computed, and a model for orders names an " +
			"output in the call",
		Hint: "write the path itself",
	}
}

func notWritten(c *eval.Context, a eval.Args, name int, scheme string) error {
	text, _ := a.Values[name].(string)
	return &eval.PluginError{
		Code: eval.CodeArguments,
		Message: "the name of the secret" + held(c, text) + " is computed, and a model for orders " +
			"names a secret in the call, or in a list within",
		Hint: "write the name itself, or list the names that an order may choose: " +
			example(scheme),
	}
}

// held names the attribute of an order that has a text or a part of it, for messages.
func held(c *eval.Context, text string) string {
	if find := of(c).Holder; find != nil && text != "" {
		if attribute := find(text); attribute != "" {
			return ", from " + attribute + ","
		}
	}
	return ""
}

func example(scheme string) string {
	if scheme == "" {
		return `within=["env:APP_", "file:/srv/secrets/"]`
	}
	return `within=["APP_"]`
}

// allowed returns an error if a name is not within a list.
func allowed(c *eval.Context, within *types.List, scheme, name string) error {
	var items []string
	for i, item := range within.Items {
		text, _ := item.(string) // the type of the parameter ensures a string
		if reason := resource.CheckCover(scheme + text); reason != "" {
			return &eval.PluginError{
				Code:    eval.CodeArguments,
				Message: fmt.Sprintf("within: item %d, %q, %s", i+1, text, reason),
				Hint:    "write items as in " + example(scheme),
			}
		}
		items = append(items, text)
	}
	if slices.ContainsFunc(items, func(item string) bool {
		return resource.Covers(scheme+item, scheme+name)
	}) {
		return nil
	}
	return &eval.PluginError{ // the name is omitted, because it may be the secret by mistake
		Message: fmt.Sprintf("the name of the secret%s is not within %s", held(c, name),
			types.Repr(within)),
		Hint: "give the name of a secret within that list, or extend the list in the model; a path " +
			"of a file is absolute and has no . or .. in it",
	}
}
