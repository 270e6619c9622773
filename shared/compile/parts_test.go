package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/internal/source"
	"southbound/shared/resource"
)

// partsModel is a model with an agent and a resource; %s is the value of another resource.
const partsModel = `import southbound
import southbound::std
here = southbound::Agent(name="here")
other = southbound::std::Null(agent=here, name="other")
pw = southbound::secret("env:PW")
db = southbound::parameter("db")
ip = southbound::fact(other, "ip")
who = "app"
entity Page:
    string text
end
implement Page using std::none
page = Page(text=f"x{db}")
`

// TestTextsOfParts holds that texts of a model with secrets, parameters and facts become texts of
// parts, however they are made and however deep they are.
func TestTextsOfParts(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pw, db := resource.Secret{Source: "env:PW"}, resource.Parameter{Name: "db"}
	ip := resource.Fact{Name: "ip", Of: "std::Null[here,name=other]"}
	parts := func(parts ...any) any { return resource.Text{Parts: parts} }
	for _, c := range []struct {
		why, value, template string
		want                 any
		wrong                string
	}{
		{why: "an f-string", value: `f"{who}:{pw}@{ip}/{db}"`, want: parts("app:", pw, "@", ip, "/", db)},
		{why: "interpolation", value: `"{{ who }}:{{ pw }}"`, want: parts("app:", pw)},
		{why: "a plugin", value: `southbound::text([who, ":", pw])`, want: parts("app:", pw)},
		{why: "a text of literals is a string", value: `southbound::text([who, ":"])`, want: "app:"},
		{why: "a text in a text", value: `f"<{southbound::text(["a", pw])}>"`, want: parts("<a", pw, ">"),
			wrong: "syntax"},
		{why: "references of std",
			value: `southbound::text([std::create_environment_reference("PW"), "!"])`,
			want:  parts(pw, "!")},
		{why: "in lists and dicts", value: `{"a": [f"x{pw}"]}`,
			want: map[string]any{"a": []any{parts("x", pw)}}},
		{why: "through an attribute", value: `page.text`, want: parts("x", db)},
		{why: "a template", value: `std::template("/page")`, want: parts("user app\npw ", pw, "\n"),
			template: "user {{ who }}\npw {{ pw }}\n"},
		{why: "a template with values", value: `std::template("/page", secret=pw)`,
			want: parts("a", pw, "b"), template: "a{{ secret }}b"},
		{why: "a macro, a block and a text in a template", value: `std::template("/page")`,
			template: "{% macro line(k, v) %}{{ k }}={{ v }}\n{% endmacro %}" +
				"{% set all %}{{ line('pw', pw) }}{% endset %}{{ all }}{{ 'x' ~ db }}",
			want: parts("pw=", pw, "\nx", db)},
		{why: "defaults and tests of a template", value: `std::template("/page")`,
			template: "{% if pw is defined %}{{ pw | default('x') }}{% endif %}", want: parts(pw)},
		{why: "a format", value: `f"{pw:>20}"`, wrong: "cannot be formatted"},
		{why: "a number as a part", value: `southbound::text([7])`, wrong: "part 1 is an int"},
		{why: "a file as a part", value: `southbound::text([southbound::file("/page")])`,
			wrong: "part 1 is a reference"},
		{why: "a filter", value: `std::template("/page")`, template: "{{ pw | upper }}",
			wrong: "its value is known only when resources are deployed"},
		{why: "a condition", value: `std::template("/page")`, template: "{% if pw %}a{% endif %}",
			wrong: "its value is known only when resources are deployed"},
		{why: "a comparison", value: `std::template("/page")`, template: "{{ pw == 'a' }}",
			wrong: "its value is known only when resources are deployed"},
		{why: "a filter of a block", value: `std::template("/page")`,
			template: "{% filter upper %}{{ pw }}{% endfilter %}",
			wrong:    "its value is known only when resources are deployed"},
		{why: "escaping", value: `std::template("/page")`,
			template: "{% autoescape true %}{{ pw }}{% endautoescape %}", wrong: "cannot be escaped"},
	} {
		files := "-- templates/page --\n" + c.template + "\n-- files/page --\nx\n"
		compiled, err := mapped(t, types, files, partsModel+
			"southbound::std::Null(agent=here, name=\"n\", value="+c.value+")\n", nil)
		switch {
		case c.wrong == "syntax" && err != nil:
			continue // an f-string takes names only
		case c.wrong != "":
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %v", c.why, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		_, got := deployable(t, types, compiled)
		value := got["std::Null[here,name=n]"].Attributes["value"]
		if diff := cmp.Diff(c.want, value); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}

// TestFactsInTexts holds that facts of resources of Python become parts of texts too, and that a
// template that needs the value of one leaves the resource undefined. No code of Python makes a resource
// of the entity here, so the part stays unknown.
func TestFactsInTexts(t *testing.T) {
	t.Parallel()
	types := registry(t)
	pw, ip := resource.Secret{Source: "env:PW"}, resource.Unknown("the fact ip is not known yet")
	parts := func(parts ...any) any { return resource.Text{Parts: parts} }
	for _, c := range []struct {
		why, value, template string
		want                 any // nil: a value that is never known
	}{
		{why: "an f-string", value: `f"http://{later}:{pw}/"`, want: parts("http://", ip, ":", pw, "/")},
		{why: "a text of a text", value: `"<{{ address }}>"`, want: parts("<to ", ip, ">")},
		{why: "a template", value: `std::template("/page")`, template: "ip {{ later }} {{ pw }}\n",
			want: parts("ip ", ip, " ", pw, "\n")},
		{why: "a text in a template", value: `std::template("/page")`, template: "{{ address }}",
			want: parts("to ", ip)},
		{why: "a value of a template", value: `std::template("/page", to=later)`, template: "a{{ to }}b",
			want: parts("a", ip, "b")},
		{why: "an attribute of an instance", value: `std::template("/page")`, template: "{{ seen.text }}!",
			want: parts(ip, "!")},
		{why: "a macro, a block and a loop", value: `std::template("/page")`,
			template: "{% macro line(v) %}{{ v }};{% endmacro %}{% set all %}{{ line(later) }}{% endset %}" +
				"{% for x in [all, 'b'] %}{{ x ~ '\n' }}{% endfor %}",
			want: parts(ip, ";\nb\n")},
		{why: "a default", value: `std::template("/page")`, want: parts(ip),
			template: "{% if later is defined %}{{ later | default('x') }}{% endif %}"},
		{why: "a condition", value: `std::template("/page")`, template: "{% if later %}a{% endif %}"},
		{why: "a filter", value: `std::template("/page")`, template: "{{ later | upper }}"},
		{why: "a comparison", value: `std::template("/page")`, template: "{{ later == 'a' }}"},
		{why: "a test", value: `std::template("/page")`, template: "{{ later is mapping }}"},
		{why: "a plugin", value: `std::template("/page")`, template: "{{ later | std.capitalize }}"},
		{why: "a filter of a block", value: `std::template("/page")`,
			template: "{% filter upper %}{{ later }}{% endfilter %}"},
		{why: "escaping", value: `std::template("/page")`,
			template: "{% autoescape true %}{{ later }}{% endautoescape %}"},
		{why: "a computed fact", value: `std::template("/page", to=std::capitalize(later))`,
			template: "no use of it"},
		{why: "an unknown template", value: `std::template(later)`},
	} {
		compiled, err := mapped(t, types, "-- templates/page --\n"+c.template+"\n", partsModel+`
entity Host extends std::Resource:
    string name
end
implement Host using std::none
later = std::getfact(Host(name="h"), "ip")
address = "to {{ later }}"
seen = Page(text=later)
southbound::std::Null(agent=here, name="n", value=`+c.value+")\n", nil)
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		_, got := deployable(t, types, compiled)
		value := got["std::Null[here,name=n]"].Attributes["value"]
		if p, is := value.(resource.Parameter); is && c.want == nil {
			if _, unknown := p.Unknown(); unknown {
				continue
			}
		}
		if diff := cmp.Diff(c.want, value); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}

// TestNamesTakeNoSecrets holds that names, which are stored and shown, are refused with a secret.
func TestNamesTakeNoSecrets(t *testing.T) {
	t.Parallel()
	types := registry(t)
	for _, text := range []string{
		`southbound::std::Null(agent=here, name=f"x{pw}")`,
		`southbound::Agent(name=f"x{pw}")`,
	} {
		compiled, err := mapped(t, types, "", partsModel+text+"\n", nil)
		if err == nil {
			_, err = compiled.Deployable(t.Context(), source.Options{Types: types})
		}
		if err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
