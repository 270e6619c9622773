package std

import (
	"fmt"
	"slices"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// Within is the parameter of a plugin that lists the names of secrets a computed name may have.
func Within() eval.Param {
	return eval.Param{Name: "within", Type: "string[]?", Default: types.Null{}, ByName: true}
}

// SecretName checks the name of a secret, which is an argument of a call, and the list within, which
// is another one. scheme is the part of a source before the name if the plugin implies one ("env:"),
// else "".
//
// A name outside of within is refused. If the model is compiled for orders, a name without within
// must be a literal of the call: any other text can come from an order, and would name any secret of
// the machine.
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
			Message: "within: the list is computed, and an order must not decide what it may name",
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

// held returns the attribute of an order that holds a text, for a message.
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

// allowed returns why a name is not within a list; nil if it is.
func allowed(c *eval.Context, within *types.List, scheme, name string) error {
	var items []string
	for i, item := range within.Items {
		text, _ := item.(string) // the type of the parameter says so
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
	return &eval.PluginError{ // the name may be the secret itself by mistake, so it is not shown
		Message: fmt.Sprintf("the name of the secret%s is not within %s", held(c, name),
			types.Repr(within)),
		Hint: "give the name of a secret within that list, or extend the list in the model; a path " +
			"of a file is absolute and has no . or .. in it",
	}
}
