package catalog_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/handlers/fs"
	"southbound/handlers/std"
	"southbound/shared/compile"
	"southbound/shared/lang/lsm"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
)

// files is a model, by the names of its files; "" is main.cf.
type files map[string]string

// compiled compiles a model that knows instances.
func compiled(
	t *testing.T, in files, all ...lsm.Instance,
) (*compile.Compiled, *lsm.Services, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range in {
		if name == "" {
			name = "main.cf"
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var known []schema.Type
	for _, d := range []provider.Definition{fs.File(), std.Null()} {
		known = append(known, d.Type)
	}
	r, err := schema.NewRegistry(known...)
	if err != nil {
		t.Fatal(err)
	}
	s := lsm.NewServices(all)
	c, err := compile.Model(context.Background(), compile.Options{Path: dir, Types: r, Services: s})
	return c, s, err
}

// offered returns the only service of a model.
func offered(t *testing.T, text string) definition.Service {
	t.Helper()
	c, _, err := compiled(t, files{"": text})
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Of(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("there are %d services", len(all))
	}
	return all[0]
}

const begin = "import lsm\nimport lsm::fsm\n"

// binding offers an entity of main.cf.
func binding(entity string) string {
	return "\nlsm::ServiceEntityBinding(service_entity=\"__config__::" + entity +
		"\", lifecycle=lsm::fsm::simple, service_entity_name=\"it\")\n"
}

// asService offers an entity that is not a service itself.
const asService = "\nentity Offered extends Interface, lsm::ServiceEntity:\nend\n"

// TestAttributeDescription holds the example under "Attribute description".
func TestAttributeDescription(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Interface:
    """ A network interface

        :attr interface_name: The name of the interface
    """
    string interface_name 
end
`+asService+binding("Offered"))
	a := s.Attributes[0]
	if a.Name != "interface_name" || a.Description == nil ||
		*a.Description != "The name of the interface" {
		t.Errorf("%+v", a)
	}
}

// TestAttributeModifier holds the example under "Attribute modifier", and the other values.
func TestAttributeModifier(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Interface :
    string interface_name 
    lsm::attribute_modifier interface_name__modifier="rw+"
end
`+asService+binding("Offered"))
	if len(s.Attributes) != 1 || s.Attributes[0].Modifier != "rw+" {
		t.Errorf("%+v", s.Attributes)
	}
	s = offered(t, begin+`
entity Interface extends lsm::ServiceEntity:
    string a
    lsm::attribute_modifier a__modifier = "r"
    string b
    lsm::attribute_modifier b__modifier = "rw"
    string c
end
`+binding("Interface"))
	got := map[string]definition.Modifier{}
	for _, a := range s.Attributes {
		got[a.Name] = a.Modifier
	}
	if d := cmp.Diff(map[string]definition.Modifier{"a": "r", "b": "rw", "c": "rw"}, got); d != "" {
		t.Error(d)
	}
}

// TestAnnotationsOnEntities holds the example under "Annotations on entities". A line break is
// missing there, which changes nothing.
func TestAnnotationsOnEntities(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Interface extends lsm::ServiceEntity:
    string interface_name dict __annotations = {"annotation": "value"}
end
`+binding("Interface"))
	if d := cmp.Diff(map[string]any{"annotation": "value"}, s.Annotations); d != "" {
		t.Error(d)
	}
	s = offered(t, begin+`
entity Router extends lsm::ServiceEntity:
    dict __annotations = {"s": "x", "f": 1.5, "i": 3, "b": true, "l": ["a", 1], "d": {"k": ["v"]}}
end
`+binding("Router"))
	want := map[string]any{
		"s": "x", "f": 1.5, "i": int64(3), "b": true, "l": []any{"a", int64(1)},
		"d": map[string]any{"k": []any{"v"}},
	}
	if d := cmp.Diff(want, s.Annotations); d != "" {
		t.Error(d)
	}
}

// TestAnnotationsOnSimpleAttributes holds the example under "Annotations on simple attributes". A
// line break is in the wrong place there, which changes nothing.
func TestAnnotationsOnSimpleAttributes(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Interface extends lsm::ServiceEntity:
    string interface_name dict 
    interface_name__annotations = {"annotation": "value"}
end
`+binding("Interface"))
	if len(s.Attributes) != 1 {
		t.Fatalf("%+v", s.Attributes)
	}
	if d := cmp.Diff(map[string]any{"annotation": "value"}, s.Attributes[0].Annotations); d != "" {
		t.Error(d)
	}
}

// TestAnnotationsOnRelationalAttributes holds the example under "Annotations on relational
// attributes".
func TestAnnotationsOnRelationalAttributes(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Router extends lsm::ServiceEntity:
    string name
end

entity Port extends lsm::EmbeddedEntity:
    number id
end

__annotations__ = lsm::RelationAnnotations(
    annotations={"annotation": "value"}
) 
Router.ports [0:] __annotations__ Port._router [1]
`+binding("Router"))
	if len(s.Embedded) != 1 || len(s.Embedded[0].Relations) != 0 {
		t.Fatalf("%+v", s.Embedded)
	}
	p := s.Embedded[0]
	if d := cmp.Diff(map[string]any{"annotation": "value"}, p.RelationAnnotations); d != "" {
		t.Error(d)
	}
	if p.Name != "ports" || p.Entity != "__config__::Port" || p.Lower != 0 || p.Upper != nil ||
		p.Attributes[0].Name != "id" || p.Attributes[0].Type != "number" {
		t.Errorf("%+v", p)
	}
}

// TestDocumentationTabs holds the examples under "Documentation tabs": the entity, and the call
// that makes the documentation, in a module that brings the template.
func TestDocumentationTabs(t *testing.T) {
	t.Parallel()
	c, services, err := compiled(t, files{
		"":                     "import labs\n",
		"project.yml":          "name: p\nmodulepath: libs\n",
		"libs/labs/module.yml": "name: labs\nversion: 1.0.0\nlicense: Apache 2.0\n",
		"libs/labs/templates/documentation.md.j2": "# {{ instance.name }}\n```mermaid\nflowchart " +
			"LR\n```\n",
		"libs/labs/model/_init.cf": `import lsm
import lsm::fsm

entity Service extends lsm::ServiceBase:
    string documentation = "# Lab documentation"
    lsm::attribute_modifier documentation__modifier = "r"
    dict documentation__annotations = {
        "web_presentation": "documentation",
        "web_title": "Lab overview",
        "web_icon": "FaInfo",
    }
    string name
end
implement Service using parents
binding = lsm::ServiceEntityBinding(
    service_entity="labs::Service", lifecycle=lsm::fsm::simple, service_entity_name="lab",
)
for one in lsm::all(binding):
    instance = Service(
        instance_id=one["id"], entity_binding=binding, name=one["attributes"]["name"],
    )
instance.documentation = lsm::update_read_only_attribute(
    instance,
    "documentation",
    value=std::template(
        "./documentation.md.j2",
        instance=instance,
    ),
)
end
`,
	}, lsm.Instance{ID: "1", Service: "lab", Attributes: map[string]any{"name": "Delft"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Of(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	a := all[0].Attribute("documentation")
	if a.Modifier != "r" || a.Default != "# Lab documentation" || !a.DefaultSet {
		t.Errorf("%+v", a)
	}
	want := map[string]any{
		"web_presentation": "documentation", "web_title": "Lab overview", "web_icon": "FaInfo",
	}
	if d := cmp.Diff(want, a.Annotations); d != "" {
		t.Error(d)
	}
	told := []lsm.Update{{
		Instance: "1", Path: "documentation", Value: "# Delft\n```mermaid\nflowchart LR\n```",
	}}
	if d := cmp.Diff(told, services.Updates); d != "" {
		t.Error(d)
	}
}

// TestDocumentationText holds the documentation that is shown under "Documentation tabs", with its
// diagram: as a template it is stored as it stands there.
func TestDocumentationText(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "documentation.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, services, err := compiled(t, files{
		"templates/documentation.md.j2": string(text),
		"": begin + `
entity Service extends lsm::ServiceBase:
    string documentation = "# Lab documentation"
    lsm::attribute_modifier documentation__modifier = "r"
end
implement Service using parents
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Service", lifecycle=lsm::fsm::simple, service_entity_name="lab",
)
for one in lsm::all(binding):
    instance = Service(instance_id=one["id"], entity_binding=binding)
    lsm::update_read_only_attribute(
        instance, "documentation", value=std::template("/documentation.md.j2", instance=instance),
    )
end
`,
	}, lsm.Instance{ID: "1", Service: "lab", Attributes: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	told := []lsm.Update{{
		Instance: "1", Path: "documentation", Value: strings.TrimSuffix(string(text), "\n"),
	}}
	if d := cmp.Diff(told, services.Updates); d != "" {
		t.Error(d)
	}
}

// TestSuggestedValues holds the entities under "Suggested values". The one with a parameter has no
// end there, and the type of the other one is not shown: both are added here.
func TestSuggestedValues(t *testing.T) {
	t.Parallel()
	c, _, err := compiled(t, files{
		"": begin + `
typedef connection_type as string matching self in ["POINT_TO_POINT", "MULTIPOINT"]
typedef cron_type as string matching /^[^;]+$/

entity Connection extends lsm::ServiceBase:
    connection_type kind
end
entity Service extends lsm::ServiceBase:
    cron_type? restart_on_calendar = null
    lsm::attribute_modifier restart_on_calendar__modifier = "rw+"

    dict restart_on_calendar__annotations = {
      "web_suggested_values": {
        "type": "literal",
        "values": ["*-*-* 00:00:00", "Sun *-*-* 00:00:00", "*-*-01 00:00:00"],
      },
    }
end
` + strings.Replace(`
entity Service extends lsm::ServiceBase:
    string topology_file
    lsm::attribute_modifier topology_file__modifier = "rw+"
    dict topology_file__annotations = {
        "web_suggested_values": {
            "type": "parameters",
            "parameter_name": "topology_files",
        },
    }
`, "entity Service", "entity Topology", 1) + `
end
` + binding("Connection") + strings.Replace(binding("Service"), `"it"`, `"restart"`, 1) +
			strings.Replace(binding("Topology"), `"it"`, `"topology"`, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := catalog.Of(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	kind, restart, topology := all[0].Attributes[0], all[1].Attributes[0], all[2].Attributes[0]
	values := []any{"POINT_TO_POINT", "MULTIPOINT"}
	if kind.Type != "string" || *kind.ValidationType != "enum" {
		t.Errorf("%+v", kind)
	}
	if d := cmp.Diff(values, kind.ValidationParam["values"]); d != "" {
		t.Error(d)
	}
	literal := map[string]any{"web_suggested_values": map[string]any{
		"type":   "literal",
		"values": []any{"*-*-* 00:00:00", "Sun *-*-* 00:00:00", "*-*-01 00:00:00"},
	}}
	if d := cmp.Diff(literal, restart.Annotations); d != "" {
		t.Error(d)
	}
	if restart.Type != "string?" || *restart.ValidationType != "pydantic.constr?" {
		t.Errorf("%+v", restart)
	}
	parameters := map[string]any{"web_suggested_values": map[string]any{
		"type": "parameters", "parameter_name": "topology_files",
	}}
	if d := cmp.Diff(parameters, topology.Annotations); d != "" {
		t.Error(d)
	}
}

// TestSuggestedValuesFromTheModel holds the call under "Suggested values" that stores them, with a
// variable in the place of the plugin. The script suggest.txtar of shared/cli has the call with the
// plugin, and package api what is answered then.
func TestSuggestedValuesFromTheModel(t *testing.T) {
	t.Parallel()
	_, services, err := compiled(t, files{"": `import lsm

# Set the suggested values for the topology files
lsm::set_suggested_values(
    "topology_files",
    all_matching_files,
)
all_matching_files = ["source://labs/docker-compose.iso-dev.yml"]
`})
	if err != nil {
		t.Fatal(err)
	}
	told := []lsm.Suggestion{{
		Parameter: "topology_files", Values: []any{"source://labs/docker-compose.iso-dev.yml"},
	}}
	if d := cmp.Diff(told, services.Suggestions); d != "" {
		t.Error(d)
	}
}
