package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"southbound/shared/diag"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
)

// hosting is a model of two services with everything that definitions have.
const hosting = begin + `
typedef port as int matching self > 1023 and self < 65536
typedef low_port as port matching 8000 > self
typedef plan as string matching self == "small" or (self == "large")
typedef label as string matching /[a-z]+/
typedef day as string matching std::validate_type("datetime.date", self) == true
typedef short as string matching std::validate_type("pydantic.constr", self, {"max_length": 3})
typedef odd as int matching self % 2 == 1

entity Customer extends lsm::ServiceEntity:
    """
    Who orders.

    :attr name: what the customer
        is called
    """
    string name
    label[]? tags = null
end

entity Named:
    """ :attr title: A title. """
    string title = "none"
end

entity Site extends lsm::ServiceEntity, Named:
    low_port port = 1500
    plan? plan
    day[] holidays = []
    odd lucky
    float ratio = 0.5
    bool tls = true
    dict extra = {}
    list things = []
    short short
    int _secret = 1
    string address
    lsm::attribute_modifier address__modifier = "r"
    string[] aliases
    lsm::attribute_modifier aliases__modifier = "rw+"
end

entity Database extends lsm::EmbeddedEntity:
    """ A database. """
    string name
    int size
    lsm::attribute_modifier size__modifier = "rw+"
    dict __annotations = {"icon": "db"}
end
entity User extends lsm::EmbeddedEntity:
    string name
end
index Database(name, _site)
index User(name)
Site.databases [1:3] lsm::__rwplus__ Database._site [1]
""" What it stores in. """
Database.users [0:] lsm::__rwplus__, hint User
Database.owner [0:1] lsm::__rw__ User
hint = lsm::RelationAnnotations(annotations={"web_order": 3, "note": "x"})
Site.customer [1] lsm::__service__, lsm::__rw__ Customer
Site.hosts [0:] -- std::Host

implement Customer using parents
customer = lsm::ServiceEntityBindingV2(
    service_entity="Customer", lifecycle=lsm::fsm::simple, service_entity_name="customer",
    service_identity="name", service_identity_display_name="Name",
)
lsm::ServiceEntityBindingV2(
    service_entity="__config__::Site", lifecycle=lsm::fsm::service_with_delete_validate,
    service_entity_name="site", owner=customer, relation_to_owner="customer",
)
`

func services(t testing.TB, text string) ([]definition.Service, error) {
	t.Helper()
	tt, ok := t.(*testing.T)
	if !ok {
		t.Fatal("a test")
	}
	c, _, err := compiled(tt, files{"": text})
	if err != nil {
		t.Fatal(err)
	}
	return catalog.Of(c.Result)
}

// shown returns what a value is as JSON, in one line.
func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestCatalog holds each part of a definition.
func TestCatalog(t *testing.T) {
	t.Parallel()
	all, err := services(t, hosting)
	if err != nil {
		t.Fatal(err)
	}
	customer, site := all[0], all[1]
	if got := shown([]any{
		customer.Name, customer.Description, customer.Version, customer.Default, customer.Strict,
		customer.Identity, customer.IdentityDisplayName, customer.Owner, customer.OwnedEntities,
		customer.Lifecycle.Name, site.Owner, site.RelationToOwner, site.Lifecycle.Name,
	}); got != `["customer","Who orders.",0,true,true,"name","Name",null,["site"],"simple",`+
		`"customer","customer","service_with_delete_validate"]` {
		t.Error(got)
	}
	var got []string
	for _, a := range append(customer.Attributes, site.Attributes...) {
		b := shown([]any{
			a.Name, a.Type, a.Modifier, a.Description, a.DefaultSet, a.Default, a.ValidationType,
			a.ValidationParam,
		})
		got = append(got, b)
	}
	want := []string{
		`["name","string","rw","what the customer is called",false,null,null,null]`,
		`["tags","string[]?","rw",null,true,null,"pydantic.constr[]?",{"regex":"[a-z]+"}]`,
		`["title","string","rw","A title.",true,"none",null,null]`,
		`["port","int","rw",null,true,1500,"pydantic.conint",{"gt":1023,"lt":8000}]`,
		`["plan","string?","rw",null,false,null,"enum?",{"names":{"large":"large","small":"small"},` +
			`"value":"__config__::plan","values":["small","large"]}]`,
		`["holidays","string[]","rw",null,true,[],"datetime.date[]",{}]`,
		`["lucky","int","rw",null,false,null,null,null]`,
		`["ratio","float","rw",null,true,0.5,null,null]`,
		`["tls","bool","rw",null,true,true,null,null]`,
		`["extra","dict","rw",null,true,{},null,null]`,
		`["things","list","rw",null,true,[],null,null]`,
		`["short","string","rw",null,false,null,"pydantic.constr",{"max_length":3}]`,
		`["address","string","r",null,false,null,null,null]`,
		`["aliases","string[]","rw+",null,false,null,null,null]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	relations(t, &site)
}

// relations holds what relations have become.
func relations(t *testing.T, site *definition.Service) {
	t.Helper()
	var got []string
	var walk func(at string, all []definition.Embedded)
	walk = func(at string, all []definition.Embedded) {
		for _, e := range all {
			got = append(got, at+shown([]any{
				e.Name, e.Entity, e.Modifier, e.Lower, e.Upper, e.KeyAttributes, e.Description,
				e.Annotations, e.RelationAnnotations,
			}))
			walk(at+e.Name+" ", e.Embedded)
		}
	}
	walk("", site.Embedded)
	want := []string{
		`["databases","__config__::Database","rw+",1,3,["name"],"What it stores in.",{"icon":"db"},{}]`,
		`databases ["users","__config__::User","rw+",0,null,["name"],null,{},{"note":"x","web_order":3}]`,
		`databases ["owner","__config__::User","rw",0,1,["name"],null,{},{}]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(`[{"name":"customer","description":null,"modifier":"rw","lower_limit":1,`+
		`"upper_limit":1,"entity_type":"customer","attribute_annotations":{}}]`,
		shown(site.Relations)); d != "" {
		t.Error(d)
	}
}

// TestSchema holds orders against the JSON Schema of a service.
func TestSchema(t *testing.T) {
	t.Parallel()
	all, err := services(t, hosting)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(shown(all[1].Schema())))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource("site.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("site.json")
	if err != nil {
		t.Fatal(err)
	}
	const good = `{"lucky": 3, "short": "abc", "aliases": [], "customer": "1",
 "databases": [{"name": "d", "size": 4, "users": [], "owner": null}]}`
	for _, test := range []struct{ name, from, to, want string }{
		{"as it is", "", "", ""},
		{"all said", `"lucky": 3`, `"lucky": 3, "plan": "small", "port": 7999, "tls": false,
 "extra": {"a": [1]}, "things": [1, "x"], "holidays": ["2026-01-01"], "ratio": 2`, ""},
		{"null where it may be", `"lucky": 3`, `"lucky": 3, "plan": null`, ""},
		{"a member of a choice", `"lucky": 3`, `"lucky": 3, "plan": "huge"`, "plan"},
		{"out of range", `"lucky": 3`, `"lucky": 3, "port": 8000`, "port"},
		{"missing", `"lucky": 3, `, ``, "lucky"},
		{"a wrong type", `"lucky": 3`, `"lucky": "3"`, "lucky"},
		{"unknown", `"lucky": 3`, `"lucky": 3, "unlucky": 4`, "unlucky"},
		{"of the model alone", `"lucky": 3`, `"lucky": 3, "address": "x"`, "address"},
		{"hidden", `"lucky": 3`, `"lucky": 3, "_secret": 2`, "_secret"},
		{"too long", `"abc"`, `"abcd"`, "short"},
		{"no member", `[{"name": "d", "size": 4, "users": [], "owner": null}]`, `[]`, "databases"},
		{"below", `"size": 4`, `"size": "4"`, "size"},
		{"not a list", `"users": []`, `"users": {}`, "users"},
		{"no relation", `, "customer": "1"`, ``, "customer"},
	} {
		order, err := jsonschema.UnmarshalJSON(
			strings.NewReader(strings.Replace(good, test.from, test.to, 1)))
		if err != nil {
			t.Fatal(test.name, err)
		}
		err = s.Validate(order)
		if (err == nil) != (test.want == "") ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestVersions holds the versions of a service, and that definitions are told apart by what they
// say.
func TestVersions(t *testing.T) {
	t.Parallel()
	all, err := services(t, begin+`
entity One extends lsm::ServiceEntity:
    string a
end
entity Two extends One:
    int b = 1
end
lsm::ServiceBinding(service_entity_name="s", default_version=1, versions=[
    lsm::ServiceBindingVersion(service_entity="Two", lifecycle=lsm::fsm::simple, version=2),
    lsm::ServiceBindingVersion(service_entity="One", lifecycle=lsm::fsm::simple, version=0),
    lsm::ServiceBindingVersion(service_entity="One", lifecycle=lsm::fsm::simple, version=1),
])
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	digests := map[string]int{}
	for _, s := range all {
		d, err := s.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[d]++
		got = append(got, shown([]any{s.Name, s.Version, s.Default, s.Entity, s.Strict}))
	}
	want := []string{
		`["s",0,false,"__config__::One",true]`, `["s",1,true,"__config__::One",true]`,
		`["s",2,false,"__config__::Two",true]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(digests) != 2 {
		t.Errorf("the digests are %v", digests)
	}
}

// TestWrong holds what is refused, with its place: that of the mark ! in the model.
func TestWrong(t *testing.T) {
	t.Parallel()
	port := func(more string) string {
		return `
entity S extends lsm::ServiceEntity:
end
entity P extends lsm::EmbeddedEntity:
    string name
end
` + more + strict("S")
	}
	for _, test := range []struct{ name, text, want string }{
		{"a modifier of another type", `
entity S extends lsm::ServiceEntity:
    string a
    string !a__modifier = "r"
end` + binding("S"), "it has the type string, and not lsm::attribute_modifier"},
		{"a modifier without a value", `
entity S extends lsm::ServiceEntity:
    string a
    lsm::attribute_modifier !a__modifier
end` + binding("S"), "it has no value"},
		{"a modifier of nothing", `
entity S extends lsm::ServiceEntity:
    string name
    lsm::attribute_modifier !nmae__modifier = "r"
end` + binding("S"), "S has no attribute nmae, which nmae__modifier is about"},
		{"annotations of nothing", `
entity S extends lsm::ServiceEntity:
    dict !a__annotations = {}
end` + binding("S"), "S has no attribute a, which a__annotations is about"},
		{"annotations that are not a dict", `
entity S extends lsm::ServiceEntity:
    string a
    string !a__annotations = "x"
end` + binding("S"), "it has the type string, and not dict"},
		{"annotations without a value", `
entity S extends lsm::ServiceEntity:
    string a
    dict !a__annotations
end` + binding("S"), "it has no value"},
		{"an annotation that is not a string", `
entity S extends lsm::ServiceEntity:
    string a
    dict !a__annotations = {"n": 1}
end` + binding("S"), "the annotation n of a is an int, and not a string"},
		{"null in an annotation", `
entity S extends lsm::ServiceEntity:
    dict !__annotations = {"n": [null]}
end` + binding("S"), "the annotation n of S is or holds a list"},
		{"a relation's annotation", port(`x = lsm::RelationAnnotations(!annotations={"n": true})
S.ps [0:] x P._s [1]
index P(name)
`), "the annotation n of ps is a bool, and not a string"},
		{"something else at a relation", port(`S.!ps [0:] "x" P._s [1]
index P(name)
`), "one of its annotations is a string"},
		{"two modifiers", port(`S.!ps [0:] lsm::__r__, lsm::__rw__ P._s [1]
index P(name)
`), "it has two modifiers, r and rw"},
		{"a way back that is seen", port(`S.ps [0:] -- P.!s [1]
index P(name)
`), "so its name must begin with _"},
		{"a way back to several", port(`S.ps [0:] -- P.!_s [0:]
index P(name)
`), "to several that have it"},
		{"embedded in itself", port(`S.ps [0:1] -- P._s [1]
P.!inner [0:1] -- P._outer [1]
`), "it embeds P in itself"},
		{"no key", port(`S.!ps [0:] -- P._s [1]
`), "it can have several members, and no attribute identifies them"},
		{"keys without an index", strings.Replace(port(`S.ps [0:] -- P._s [1]
`), "    string name\n", "    string name\n    string[]? !__lsm_key_attributes = [\"name\"]\n", 1),
			"P has no index over its key attributes name"},
		{"a key that changes", strings.Replace(port(`S.!ps [0:] -- P._s [1]
index P(name)
`), "    string name\n",
			"    string name\n    lsm::attribute_modifier name__modifier = \"rw+\"\n", 1),
			"name identifies members of ps, and its modifier is rw+"},
		{"read-only over what is not", strings.Replace(port(`S.ps [0:1] lsm::__r__ P._s [1]
`), "string name", "string !name", 1), "ps has the modifier r, so name, which is below it"},
		{"a relation's modifier as an attribute", strings.Replace(port(`S.ps [0:1] -- P._s [1]
`), "entity S extends lsm::ServiceEntity:\n",
			"entity S extends lsm::ServiceEntity:\n    lsm::attribute_modifier !ps__modifier = "+
				"\"r\"\n", 1),
			"ps is a relation, which has its modifier where it is defined"},
		{"a service that nobody offers", port(`entity T extends lsm::ServiceEntity:
end
S.!t [1] lsm::__service__ T
`), "it leads to T, which no binding offers"},
		{"not a service", port(`S.!t [1] lsm::__service__ std::OS
`), "it has lsm::__service__, and leads to std::OS, which is not a service"},
		{"no such entity", `lsm::ServiceEntityBinding(
    !service_entity="Sight", lifecycle=lsm::fsm::simple, service_entity_name="it")`,
			"there is no entity Sight"},
		{"an entity that is not a service", `entity S:
end
lsm::ServiceEntityBinding(
    !service_entity="S", lifecycle=lsm::fsm::simple, service_entity_name="it")`,
			"S is not a service"},
		{"a name that cannot be one", `entity S extends lsm::ServiceEntity:
end
lsm::ServiceEntityBinding(
    service_entity="S", lifecycle=lsm::fsm::simple, !service_entity_name="a/b")`,
			`"a/b" cannot be the name of a service`},
		{"a name twice", `entity S extends lsm::ServiceEntity:
end` + binding("S") + `lsm::ServiceEntityBindingV2(
    service_entity="S", lifecycle=lsm::fsm::simple, !service_entity_name="it")`,
			"there are two services it"},
		{"an identity that is not there", identified("string nam", "!"),
			"the identity of it is name, which is not one of its attributes"},
		{"an identity that may be null", identified("string? name = null", "!"),
			"which has the type string?"},
		{"an identity that changes",
			identified("string name\n lsm::attribute_modifier name__modifier = \"rw+\"", "!"),
			"which has the modifier rw+"},
		{"no default version", `entity S extends lsm::ServiceEntity:
end
lsm::ServiceBinding(service_entity_name="it", !default_version=3, versions=
    lsm::ServiceBindingVersion(service_entity="S", lifecycle=lsm::fsm::simple, version=2))`,
			"it has no version 3, which is its default_version"},
		{"half an owner", `entity S extends lsm::ServiceEntity:
end
lsm::ServiceEntityBinding(service_entity="S", lifecycle=lsm::fsm::simple, service_entity_name="it",
    !relation_to_owner="x")`, "it has one of owner and relation_to_owner"},
		{"documentation of customers", annotated("string", `{"web_presentation": "documentation"}`),
			"web_presentation is documentation: the model writes documentation, and a has the modifier rw"},
		{"documentation that is a number", read("int", `{"web_presentation": "documentation"}`),
			"documentation is text, and a has the type int"},
		{"documentation of a part", `
entity S extends lsm::ServiceEntity:
end
entity P extends lsm::EmbeddedEntity:
    string a = ""
    lsm::attribute_modifier a__modifier = "r"
    dict !a__annotations = {"web_presentation": "documentation"}
end
S.part [1] lsm::__r__ P._s [1]` + binding("S"),
			"documentation is shown of a service, and P is embedded in one"},
		{"documentation of a relation", `
entity S extends lsm::ServiceEntity:
end
entity P extends lsm::EmbeddedEntity:
    string a = ""
end
shown = lsm::RelationAnnotations(!annotations={"web_presentation": "documentation"})
S.part [1] shown P._s [1]` + binding("S"),
			"documentation is text, and part is a relation"},
		{"an unknown presentation", read("string", `{"web_presentation": "docs"}`),
			`web_presentation is "docs", and the console knows only documentation`},
		{"a title that is a number", read("string",
			`{"web_presentation": "documentation", "web_title": 1}`),
			"web_title is 1, and not a text"},
		{"a title for nothing", read("string", `{"web_title": "T"}`),
			"web_title has no effect without web_presentation"},
		{"an icon with its prefix", read("string",
			`{"web_presentation": "documentation", "web_icon": "fa-info"}`),
			`web_icon is "fa-info", which is no name of an icon`},
		{"suggested text", annotated("string", `{"web_suggested_values": "literal"}`),
			`web_suggested_values is "literal", and not a dict`},
		{"suggested without a type", annotated("string", `{"web_suggested_values": {"values": ["q"]}}`),
			"web_suggested_values has no type"},
		{"suggested with another type", annotated("string",
			`{"web_suggested_values": {"type": "plugin", "values": ["q"]}}`),
			`the type of web_suggested_values is "plugin", and has to be literal or parameters`},
		{"a wrong member", annotated("string",
			`{"web_suggested_values": {"type": "literal", "valuez": ["q"]}}`),
			"web_suggested_values needs values, a list of strings"},
		{"an unknown member", annotated("string",
			`{"web_suggested_values": {"type": "literal", "values": ["q"], "valuez": ["q"]}}`),
			"web_suggested_values of the type literal has no member valuez"},
		{"values that are no list", annotated("string",
			`{"web_suggested_values": {"type": "literal", "values": "q"}}`),
			"web_suggested_values needs values, a list of strings"},
		{"no values", annotated("string", `{"web_suggested_values": {"type": "literal", "values": []}}`),
			"web_suggested_values needs values, a list of strings"},
		{"a number as a value", annotated("string",
			`{"web_suggested_values": {"type": "literal", "values": ["q", 2]}}`),
			"value 2 of web_suggested_values is 2, and not a string"},
		{"a parameter without a name", annotated("string",
			`{"web_suggested_values": {"type": "parameters"}}`),
			"web_suggested_values needs parameter_name"},
		{"a parameter with an empty name", annotated("string",
			`{"web_suggested_values": {"type": "parameters", "parameter_name": ""}}`),
			"web_suggested_values needs parameter_name"},
		{"a parameter with values", annotated("string",
			`{"web_suggested_values": {"type": "parameters", "parameter_name": "p", "values": ["q"]}}`),
			"web_suggested_values of the type parameters has no member values"},
		{"suggested values of a relation", `
entity S extends lsm::ServiceEntity:
end
entity P extends lsm::EmbeddedEntity:
    string a = ""
end
shown = lsm::RelationAnnotations(!annotations={"web_suggested_values": "x"})
S.part [1] shown P._s [1]` + binding("S"),
			"web_suggested_values is"},
		{"a lifecycle without a way out", machine(`lsm::StateTransfer(
        source=start, target=up, auto=true)`, "", "!"),
			"there is no way out of the state up"},
		{"two automatic transfers", machine(`lsm::StateTransfer(source=start, target=up, auto=true),
   !lsm::StateTransfer(source=start, target=gone, auto=true)`, "", ""),
			"start has two transfers with auto"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			refused(t, test.text, test.want)
		})
	}
}

// annotated returns the model of a service with an annotated attribute, which customers set.
func annotated(kind, annotations string) string {
	return "entity S extends lsm::ServiceEntity:\n    " + kind + " a\n    dict !a__annotations = " +
		annotations + "\nend\n" + binding("S")
}

// read is annotated for an attribute that the model sets.
func read(kind, annotations string) string {
	return strings.Replace(annotated(kind, annotations), " a\n",
		" a\n    lsm::attribute_modifier a__modifier = \"r\"\n", 1)
}

func strict(entity string) string {
	return strings.Replace(binding(entity), "Binding(", "BindingV2(", 1)
}

func identified(attribute, mark string) string {
	return "entity S extends lsm::ServiceEntity:\n " + attribute + `
end
lsm::ServiceEntityBinding(service_entity="S", lifecycle=lsm::fsm::simple, service_entity_name="it",
    ` + mark + `service_identity="name")`
}

func machine(transfers, first, up string) string {
	return `entity S extends lsm::ServiceEntity:
end
start = ` + first + `lsm::State(name="start")
up = ` + up + `lsm::State(name="up")
gone = lsm::State(name="gone", deleted=true)
m = lsm::LifecycleStateMachine(name="m", initial_state=start, transfers=[` + transfers + `])
lsm::ServiceEntityBinding(service_entity="S", lifecycle=m, service_entity_name="it")`
}

// refused holds that a model has a problem at the line of the mark.
func refused(t *testing.T, text, want string) {
	t.Helper()
	text = begin + text
	line := 1 + strings.Count(text[:strings.Index(text, "!")], "\n")
	_, err := services(t, strings.Replace(text, "!", "", 1))
	var problems diag.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("it is not refused: %v", err)
	}
	var said []string
	for _, p := range problems {
		if strings.Contains(p.Message, want) && p.Pos.Line == line &&
			p.Code == catalog.CodeService {
			return
		}
		said = append(said, fmt.Sprintf("line %d: %s", p.Pos.Line, p.Message))
	}
	t.Errorf("it says %q, and not line %d: %s", said, line, want)
}
