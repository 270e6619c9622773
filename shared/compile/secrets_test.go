package compile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/compile"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// ordered is the model of a service, without the statements of its implementation. Their value goes
// into a resource.
const ordered = `import lsm
import lsm::fsm
import southbound
import southbound::std
entity Vpn extends lsm::ServiceEntity:
    string name
    string token
    dict data
end
implementation page for Vpn:
%s
    self.owned_resources += southbound::std::Null(agent=here, name=self.name, value=value)
end
implement Vpn using parents, page
here = southbound::Agent(name="here")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Vpn", lifecycle=lsm::fsm::simple, service_entity_name="vpn",
)
for one in lsm::all(binding):
    Vpn(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// order compiles the model for an instance.
func order(
	t *testing.T, types *schema.Registry, files, body string, attributes map[string]any,
) (*compile.Compiled, error) {
	t.Helper()
	text := fmt.Sprintf(ordered, "    "+strings.ReplaceAll(body, "\n", "\n    "))
	return mapped(t, types, files, text, lsm.NewServices([]lsm.Instance{
		{ID: "i1", Service: "vpn", State: "up", Attributes: attributes},
	}))
}

// TestSecretsOfOrders holds that no text of an order names a secret by any function of models, unless
// the model lists it.
func TestSecretsOfOrders(t *testing.T) {
	t.Setenv("APP_TOKEN", "app")
	t.Setenv("OTHER_TOKEN", "other")
	types := registry(t)
	const refused = "is computed, and a model for orders names a secret in the call"
	const outside = "is not within"
	secret := func(source string) any { return resource.Secret{Source: source} }
	for name, test := range map[string]struct {
		body, token string
		want        any
		wrong       string
	}{
		"an attribute": {
			body: `value = southbound::secret(self.token)`, token: "file:/etc/shadow",
			wrong: "main.cf:11:13: southbound::secret: the name of the secret, from the attribute " +
				"token of vpn i1, " + refused,
		},
		"by the name of the parameter": {
			body:  `value = southbound::secret(source=self.token)`,
			token: "file:/etc/shadow", wrong: refused,
		},
		"in a text": {
			body: `value = southbound::secret("file:{{ self.token }}")`, token: "/etc/shadow",
			wrong: "from the attribute token of vpn i1",
		},
		"in a text of Python's form": {
			body: `value = southbound::secret(f"env:{self.token}")`, token: "HOME", wrong: refused,
		},
		"added to a text": {
			body:  "value = southbound::secret(\"env:\" + self.token)",
			token: "HOME", wrong: refused,
		},
		"through a variable": {
			body:  "name = self.token\nvalue = southbound::secret(name)",
			token: "env:HOME", wrong: refused,
		},
		"in a dict of arguments": {
			body:  "d = {\"source\": self.token}\nvalue = southbound::secret(**d)",
			token: "env:HOME", wrong: refused,
		},
		"a choice of two": {
			body:  `value = southbound::secret(self.name == "a" ? self.token : "env:APP_TOKEN")`,
			token: "env:HOME", wrong: refused,
		},
		"a reference of std": {
			body:  `value = std::create_environment_reference(self.token)`,
			token: "HOME", wrong: refused,
		},
		"a reference of a reference": {
			body:  `value = std::create_environment_reference(std::create_environment_reference("HOME"))`,
			wrong: refused,
		},
		"a variable of the compile": {
			body: `value = std::get_env(self.token)`, token: "OTHER_TOKEN", wrong: refused,
		},
		"a number of the compile": {
			body: `value = std::get_env_int(self.token)`, token: "OTHER_TOKEN", wrong: refused,
		},
		"a variable in a template": {
			body:  `value = std::template("/page")`,
			token: "OTHER_TOKEN", wrong: refused,
		},
		"a computed list": {
			body:  `value = southbound::secret(self.token, within=[self.token])`,
			token: "file:/etc/shadow", wrong: "within: write the list as a literal",
		},
		"an empty list": {
			body:  `value = southbound::secret(self.token, within=[])`,
			token: "file:/etc/shadow", wrong: outside,
		},
		"a list that allows all": {
			body:  `value = southbound::secret(self.token, within=["env:"])`,
			token: "env:HOME", wrong: "within: item 1, \"env:\", allows every name",
		},
		"outside of a list": {
			body:  `value = southbound::secret(self.token, within=["env:APP_"])`,
			token: "file:/etc/shadow",
			wrong: `the name of the secret, from the attribute token of vpn i1, is not within ['env:APP_']`,
		},
		"out of a folder": {
			body:  `value = southbound::secret(self.token, within=["file:/srv/secrets/"])`,
			token: "file:/srv/secrets/../../etc/shadow", wrong: outside,
		},
		"a variable outside": {
			body:  `value = std::get_env(self.token, within=["APP_"])`,
			token: "OTHER_TOKEN", wrong: outside,
		},
		"a reference outside": {
			body:  `value = std::create_environment_reference(self.token, within=["APP_"])`,
			token: "OTHER_TOKEN", wrong: outside,
		},

		"a literal": {
			body: `value = southbound::secret("file:/etc/token")`, want: secret("file:/etc/token"),
		},
		"a literal in parentheses": {
			body: `value = southbound::secret(("env:X"))`, want: secret("env:X"),
		},
		"within a list": {
			body:  `value = southbound::secret(self.token, within=["ssm:/a", "env:APP_"])`,
			token: "env:APP_TOKEN", want: secret("env:APP_TOKEN"),
		},
		"a literal outside of a list": {
			body:  `value = southbound::secret("env:HOME", within=["env:APP_"])`,
			wrong: outside,
		},
		"a literal of std": {
			body: `value = std::create_environment_reference("X")`, want: secret("env:X"),
		},
		"a reference within a list": {
			body:  `value = std::create_environment_reference(self.token, within=["APP_"])`,
			token: "APP_TOKEN", want: secret("env:APP_TOKEN"),
		},
		"a variable within a list": {
			body:  `value = std::get_env(self.token, within=["APP_"])`,
			token: "APP_TOKEN", want: "app",
		},
		"a literal variable": {
			body: `value = std::get_env("APP_TOKEN")`, want: "app",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := "-- templates/page --\n{{ token | std.get_env }}\n"
			c, err := order(t, types, files, test.body, map[string]any{
				"name": "a", "token": test.token, "data": map[string]any{},
			})
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Fatalf("got %v, want %s", err, test.wrong)
				}
				// a mistake of the model, or of the values of an order
				code := eval.CodeArguments
				if strings.Contains(test.wrong, outside) || strings.Contains(test.body, "template") {
					code = eval.CodePlugin
				}
				if problems, _ := diag.Of(err); len(problems) != 1 || problems[0].Code != code {
					t.Errorf("%+v, want the code %s", problems, code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_, got := deployable(t, types, c)
			value := got["std::Null[here,name=a]"].Attributes["value"]
			if diff := cmp.Diff(test.want, value); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSecretsWithoutOrders holds that a model that is compiled for no orders computes names, and that
// a list holds there, too.
func TestSecretsWithoutOrders(t *testing.T) {
	t.Parallel()
	const text = `import southbound
import southbound::std
here = southbound::Agent(name="here")
name = "env:APP_TOKEN"
southbound::std::Null(agent=here, name="a", value=southbound::secret(name%s))
`
	if _, err := compiled(t, fmt.Sprintf(text, "")); err != nil {
		t.Error(err)
	}
	_, err := compiled(t, fmt.Sprintf(text, `, within=["env:SHOP_"]`))
	if err == nil || !strings.Contains(err.Error(), "is not within ['env:SHOP_']") {
		t.Error(err)
	}
}

// TestSecretOfAMapping holds that a mapping names no secret in a model for orders, and returns one
// that the model names.
func TestSecretOfAMapping(t *testing.T) {
	t.Parallel()
	types := registry(t)
	mapping := func(content entity.Func) entity.Mapping {
		m := pageMappings()[0]
		m.Names, m.Funcs = []string{"path"}, map[string]entity.Func{"content": content}
		return m
	}
	named := mapping(func(_ *entity.Context, e entity.Entity) (any, error) {
		text, err := e.Attribute("text")
		source, _ := text.(string)
		return resource.Secret{Source: source}, err
	})
	passed := mapping(func(_ *entity.Context, e entity.Entity) (any, error) {
		return e.Attribute("owner")
	})
	page := oneHost + `shop::Page(host=host, path="/a", text="file:/etc/shadow", owner=%s)` + "\n"
	none, secret := fmt.Sprintf(page, "null"), fmt.Sprintf(page, `southbound::secret("env:X")`)
	_, err := mapped(t, types, shop, none, lsm.NewServices(nil), named)
	if err == nil || !strings.Contains(err.Error(), "the mapping names a secret") {
		t.Error(err)
	}
	if _, err := mapped(t, types, shop, none, nil, named); err != nil {
		t.Error(err)
	}
	c, err := mapped(t, types, shop, secret, lsm.NewServices(nil), passed)
	if err != nil {
		t.Fatal(err)
	}
	_, got := deployable(t, types, c)
	want := any(resource.Secret{Source: "env:X"})
	if v := got["fs::File[web1,path=/a]"].Attributes["content"]; v != want {
		t.Errorf("%v", v)
	}
}

// TestDataOfOrders holds that data of an order stays data, whatever it looks like and wherever it is
// used.
func TestDataOfOrders(t *testing.T) {
	t.Parallel()
	types := registry(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := map[string]any{"one": formed(r, 0), "two": formed(r, 0)}
		c, err := order(t, types, "", `value = {
    "all": self.data, "one": self.data["one"], "list": [self.data["two"], 1],
    "secret": self.data["one"],
}
southbound::Agent(name="other", options={"address": self.data["one"], "secret": self.data["two"]})
self.owned_resources += southbound::std::Null(agent=here, name="spread", value=self.data["two"])`,
			map[string]any{"name": "a", "token": "x", "data": data})
		if err != nil {
			t.Fatal(seed, err)
		}
		m, got := deployable(t, types, c)
		for i := range m.Resources {
			for name, v := range m.Resources[i].Attributes {
				if refs := resource.References(v); len(refs) > 0 {
					t.Fatalf("seed %d: %s of %s refers to %v", seed, name, m.Resources[i].ID, refs)
				}
			}
		}
		for _, a := range m.Agents {
			if refs := resource.References(a.Options); len(refs) > 0 {
				t.Fatalf("seed %d: agent %s refers to %v", seed, a.Name, refs)
			}
		}
		value, _ := got["std::Null[here,name=a]"].Attributes["value"].(map[string]any)
		if diff := cmp.Diff(any(data), value["all"]); diff != "" {
			t.Fatalf("seed %d: the data changed: %s", seed, diff)
		}
		spread := got["std::Null[here,name=spread]"].Attributes["value"]
		if diff := cmp.Diff(data["two"], spread); diff != "" {
			t.Fatalf("seed %d: the data changed: %s", seed, diff)
		}
	}
}

// formed returns data that looks like a form of documents, or is near to one.
func formed(r *rand.Rand, depth int) any {
	text := func() any {
		return []any{"file:/etc/shadow", "env:HOME", "name", "std::Null[here,name=a]", "../x", ""}[r.IntN(6)]
	}
	value := func() any {
		if depth < 4 && r.IntN(2) == 0 {
			return formed(r, depth+1)
		}
		return text()
	}
	switch r.IntN(11) {
	case 8:
		inner := value()
		if _, list := inner.([]any); list { // a list in a list is one list in models
			inner = text()
		}
		return map[string]any{"text": []any{"x", inner}}
	case 9:
		return map[string]any{"file": value(), "with": map[string]any{"a": value()}}
	case 0:
		return map[string]any{"secret": value()}
	case 1:
		return map[string]any{"secret": value(), "version": value()}
	case 2:
		return map[string]any{"file": value()}
	case 3:
		return map[string]any{"parameter": value()}
	case 4:
		return map[string]any{"fact": value(), "of": value()}
	case 5:
		return map[string]any{"value": value()}
	case 6:
		return map[string]any{"references": text(), "secret": value()}
	case 7:
		return []any{map[string]any{"x": value()}, text()}
	}
	return text()
}
