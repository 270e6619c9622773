package source

import (
	"errors"
	"io/fs"
	"math/big"
	"path"
	"path/filepath"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// value reads a value. A map with exactly the members of one of the forms (a reference, a literal)
// is converted to the value of the form.
func (t *taker) value(n *node) any {
	if n.kind == object && len(n.items) <= 2 && len(n.items) > 0 {
		if v, ok := t.form(n); ok {
			return v
		}
	}
	return build(n, t.value)
}

// literal reads a value without interpreting maps as forms.
func literal(n *node) any { return build(n, literal) }

// build returns the value of a node; each reads its items.
func build(n *node, each func(*node) any) any {
	switch n.kind {
	case list:
		out := make([]any, len(n.items))
		for i := range n.items {
			out[i] = each(&n.items[i])
		}
		return out
	case object:
		out := make(map[string]any, len(n.items))
		for i := range n.items {
			out[n.items[i].key] = each(&n.items[i])
		}
		return out
	}
	return n.value
}

// form reads one of the forms. It returns false for any other map.
func (t *taker) form(n *node) (any, bool) {
	one, two := &n.items[0], (*node)(nil)
	if len(n.items) == 2 {
		two = &n.items[1]
		if one.key == "version" || one.key == "of" || one.key == "with" {
			one, two = two, one
		}
	}
	switch {
	case two == nil && one.key == "file":
		return t.fileAt(one), true
	case one.key == "file" && two != nil && two.key == "with":
		return t.filled(one, two), true
	case two == nil && one.key == "parameter":
		return resource.Parameter{Name: t.formText(one)}, true
	case two == nil && one.key == "text" && one.kind == list:
		return t.parts(one), true
	case two == nil && one.key == "value":
		return literal(one), true
	case one.key == "secret" && (two == nil || two.key == "version"):
		return t.secret(one, two), true
	case one.key == "fact" && two != nil && two.key == "of":
		of, _ := t.id(two, "of")
		return resource.Fact{Name: t.factPath(one), Of: of}, true
	}
	return nil, false
}

// parts reads a text of parts.
func (t *taker) parts(n *node) any {
	parts := make([]any, 0, len(n.items))
	for i := range n.items {
		if p, ok := t.onePart(&n.items[i]); ok {
			parts = append(parts, p)
		}
	}
	return t.joined(n, parts)
}

// onePart reads one part of a text. It reports any other value.
func (t *taker) onePart(n *node) (any, bool) {
	switch p := t.value(n).(type) {
	case string, resource.Secret, resource.Parameter, resource.Fact, resource.Text:
		return p, true
	default:
		t.notPart(n, p)
		return nil, false
	}
}

// joined returns the text of parts.
func (t *taker) joined(n *node, parts []any) any {
	text, err := resource.NewText(parts...)
	if err != nil {
		t.add(n.at, fault.HintOf(err), "%v", err)
		return ""
	}
	return text
}

// notPart reports a value that cannot stand inside a text.
func (t *taker) notPart(n *node, v any) {
	hint := "write texts, and the forms of secrets, parameters and facts"
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		hint = "put it in quotes"
	}
	if !n.bad {
		t.add(n.at, hint, "a part of a text is a text or a reference to one")
	}
}

// names reports whether a value that must be data names a secret. It reports the secret, as names of
// a document are stored and shown.
func (t *taker) names(n *node, what string) bool {
	secret := secretIn(n)
	if secret != nil && !n.bad {
		t.add(secret.at, "write the text itself", "%s is stored and shown, so it takes no secret",
			what)
	}
	return secret != nil
}

// secretIn returns the first form of a secret in a value; nil if there is none.
func secretIn(n *node) *node {
	if n.kind == object && n.get("secret") != nil && (len(n.items) == 1 || len(n.items) == 2 &&
		n.get("version") != nil) {
		return n
	}
	for i := range n.items {
		if s := secretIn(&n.items[i]); s != nil {
			return s
		}
	}
	return nil
}

const formHint = "{value: ...} holds a map that only looks like a reference"

// formText reads a member of a form that must be text.
func (t *taker) formText(n *node) string {
	s, ok := n.value.(string)
	if (!ok || s == "") && !n.bad {
		t.add(n.at, formHint, "%s refers to something and needs its name", n.key)
	}
	return s
}

// factPath reads the name of a fact, with the path into it.
func (t *taker) factPath(n *node) string {
	name := t.formText(n)
	if err := resource.CheckFact(name); name != "" && err != nil {
		t.add(n.at, fault.HintOf(err), "%v", err)
	}
	return name
}

func (t *taker) secret(n, version *node) any {
	s := resource.Secret{Source: t.formText(n)}
	// the text may be the secret itself, so it is not shown
	if hint := resource.CheckSecret(s.Source); s.Source != "" && hint != "" {
		t.add(n.at, hint, "this is not a source of a secret")
	} else {
		s.Source = t.secretAt(n, s.Source)
	}
	o, output := s.Output()
	t.relative = t.relative || output && resource.Relative(string(o.Of))
	if version == nil {
		return s
	}
	if output {
		t.add(version.at, "leave the version out", "a secret output has its present value, in no "+
			"version that a document can name")
		return s
	}
	if _, ok := version.value.(int64); ok {
		s.Version, _ = resource.KeyText(version.value)
		return s
	}
	v, ok := version.value.(string)
	if (!ok || v == "") && !version.bad {
		t.add(version.at, "write the version as the store of the secret names it, or leave it out",
			"the version of a secret is text or a whole number")
	}
	s.Version = v
	return s
}

// secretAt returns the source of a secret, with a path of a file that is relative to the document.
func (t *taker) secretAt(n *node, source string) string {
	if resource.SecretAt("/", source) == source {
		return source
	}
	if t.loader.tree.elsewhere {
		t.add(n.at, "write the whole path on the machine of the process that runs the handlers",
			"the path of a secret is relative to the document, which is not where secrets are read")
		return source
	}
	dir, err := t.loader.tree.absolute()
	dir = filepath.Join(dir, filepath.FromSlash(path.Dir(t.doc.path)))
	switch {
	case err != nil:
		t.add(n.at, "write the whole path", "the directory of the document is unknown: %v", err)
	case strings.HasPrefix(source, "sops:") && strings.Contains(dir, "#"):
		t.add(n.at, "rename the directory", "the directory %s has a # in its name, which ends the "+
			"path of a file of sops", dir)
	}
	return resource.SecretAt(dir, source)
}

// fileAt reads a reference to a file, relative to the document.
func (t *taker) fileAt(n *node) any {
	name := t.formText(n)
	if name == "" {
		return resource.File{}
	}
	p := path.Join(path.Dir(t.doc.path), name)
	if path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(p)) {
		t.add(n.at, "the path is relative to the document, and stays in the directory that is "+
			"exported", "the file %s is outside of %s", short(name), t.loader.tree.dir)
		return resource.File{}
	}
	if t.loader.note {
		t.uses = append(t.uses, p)
	}
	f := t.loader.files.get(p)
	switch {
	case errors.Is(f.err, errOutside):
		t.add(n.at, "a link must be relative and stay in the directory that is exported",
			"the file %s is outside of %s", short(name), t.loader.tree.dir)
	case errors.Is(f.err, fs.ErrNotExist):
		t.add(n.at, "the path is relative to the document", "the file %s does not exist",
			short(name))
	case f.err != nil:
		t.add(n.at, "it must be a regular file that can be read", "the file %s cannot be read: %v",
			short(name), f.err)
	}
	return resource.File{Hash: f.hash, Size: f.size}
}
