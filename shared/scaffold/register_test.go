package scaffold

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestRegistered pins that a handler is added to a list in any form, that of Southbound itself
// included.
func TestRegistered(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("../../handlers/handlers.go")
	if err != nil {
		t.Fatal(err)
	}
	const head = "package handlers\n\nimport \"southbound/shared/provider\"\n\n" +
		"func All() []provider.Definition {\n\treturn []provider.Definition{"
	for why, text := range map[string]string{
		"Southbound's own, an element a line": string(own),
		"empty":                               head + "}\n}\n",
		"empty, over lines":                   head + "\n\t}\n}\n",
		"on one line":                         head + "a.B()}\n}\n",
		"on one line, with a comma":           head + "a.B(),}\n}\n",
		"a comment behind the last":           head + "\n\t\ta.B(), // so, and so\n\t}\n}\n",
	} {
		out, err := registered([]byte(text), "southbound/handlers/rabbit", names{Func: "Queue"})
		if err != nil {
			t.Errorf("%s: %v", why, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", out, 0); err != nil ||
			strings.Count(string(out), "rabbit.Queue()") != 1 {
			t.Errorf("%s: %v\n%s", why, err, out)
		}
	}
}

// TestRegisteredBesideItsNames pins that a package whose name the file has for something else gets
// another there.
func TestRegisteredBesideItsNames(t *testing.T) {
	t.Parallel()
	const text = "package handlers\n\nimport \"southbound/shared/provider\"\n\nvar one, two int\n\n" +
		"type kind int\n\nfunc own() []provider.Definition {\n" +
		"\treturn []provider.Definition{}\n}\n"
	for _, name := range []string{"own", "two", "kind", "provider"} {
		out, err := registered([]byte(text), "acme/handlers/"+name, names{Func: "Thing"})
		if want := "{" + name + "types.Thing()}"; err != nil ||
			!strings.Contains(string(out), want) {
			t.Errorf("%s: %v: there is no %s in\n%s", name, err, want, out)
		}
	}
}

// TestDescribed pins the article of a type's skeleton.
func TestDescribed(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{"shop::Item": "An item", "net::Vlan": "A vlan"} {
		if got := namesOf(typ).Described(); got != want {
			t.Errorf("%s is %q, want %q", typ, got, want)
		}
	}
}
