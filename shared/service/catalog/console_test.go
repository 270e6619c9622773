package catalog_test

import (
	"testing"

	"southbound/shared/service/definition"
)

// TestForms offers a service whose annotations are for forms: a unit, values with labels, and tabs.
func TestForms(t *testing.T) {
	t.Parallel()
	s := offered(t, begin+`
entity Disk extends lsm::ServiceEntity:
    int size
    dict size__annotations = {"web_presentation": "unit", "web_unit": "GB", "web_tab": "main"}
    string speed
    dict speed__annotations = {"web_suggested_values": {
        "type": "literal", "values": ["slow", {"label": "10 Gbps", "value": "10000"}]}}
    dict __annotations = {"web_tabs": [{"key": "main", "label": "Main", "default": true}]}
end
implement Disk using parents
`+binding("Disk"))
	for name, want := range map[string]string{"size": "web_unit", "speed": "web_suggested_values"} {
		var a *definition.Attribute
		if a = s.Attribute(name); a == nil || a.Annotations[want] == nil {
			t.Errorf("%s has no annotation %s: %+v", name, want, a)
		}
	}
	if s.Annotations["web_tabs"] == nil {
		t.Errorf("the service has the annotations %v", s.Annotations)
	}
}
