package form

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Annotations that forms read.
const (
	webSuggested    = "web_suggested_values"
	webPresentation = "web_presentation"
	webUnit         = "web_unit"
	webTabs         = "web_tabs"
	webTab          = "web_tab"
	web             = "web_" // the beginning of annotations for consoles
)

// Option is a value that a control offers.
type Option struct {
	Value, Label string
	Selected     bool
}

// Pair is an annotation.
type Pair struct{ Name, Value string }

// pairs returns annotations for people; those for consoles are left out.
func pairs(all map[string]any) []Pair {
	var out []Pair
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(k, web) {
			out = append(out, Pair{k, Shown(all[k])})
		}
	}
	return out
}

// Sources are the values that forms suggest, by name. The caller fetches those that Needs returns.
type Sources struct {
	Parameters map[string][]Option
	// Instances are instances of services. More tells of which there are others besides.
	Instances map[string][]Option
	More      map[string]bool
	Long      map[string]bool // parameters that have more values than Parameters lists
	Instance  string          // the id of the instance; "" while it is not known
	Identity  string          // the value of the identity; "" while it is not known
	// Found are the values that a search has found, by the name of its control: those of other
	// controls stay.
	Found map[string][]Option
	// Links are the instances that References returns, by id.
	Links map[string]Link
	// URL, if not nil, returns the URL at which the instances of a service, or else the values of a
	// parameter, are searched.
	URL func(service, parameter string) string
}

// Link is an instance for people: its identity, its page, and its id with what is cut from the name.
type Link struct{ Name, URL, Title string }

// References returns the ids in relations of the instance to change.
func (f *Form) References() []string {
	if f.Base == nil {
		return nil
	}
	return inventory.References(f.Service, f.Base)
}

// Needs returns the names of the parameters and of the services whose values the form suggests.
func (f *Form) Needs(from Sources) (parameters, services []string) {
	needs(f, &f.Service.Part, &from, &parameters, &services)
	slices.Sort(parameters)
	slices.Sort(services)
	return slices.Compact(parameters), slices.Compact(services)
}

func needs(f *Form, p *definition.Part, from *Sources, parameters, services *[]string) {
	for i := range p.Attributes {
		if s := f.suggested(p.Attributes[i].Annotations, from); s.parameter != "" {
			*parameters = append(*parameters, s.parameter)
		}
	}
	for i := range p.Relations {
		if p.Relations[i].Modifier != definition.ReadOnly {
			*services = append(*services, p.Relations[i].Service)
		}
	}
	for i := range p.Embedded {
		if p.Embedded[i].Modifier != definition.ReadOnly {
			needs(f, &p.Embedded[i].Part, from, parameters, services)
		}
	}
}

// suggestion is the content of an annotation with suggested values.
type suggestion struct {
	options   []Option
	parameter string
	long      bool   // the parameter has more values
	note      string // why nothing is suggested
}

// suggested reads the annotation with suggested values.
func (f *Form) suggested(annotations map[string]any, from *Sources) suggestion {
	v, has := annotations[webSuggested]
	if !has {
		return suggestion{}
	}
	d, _ := v.(map[string]any)
	switch d["type"] {
	case "literal":
		options := Options(d["values"])
		if len(options) == 0 {
			return suggestion{note: webSuggested + " has no values"}
		}
		return suggestion{options: options}
	case "parameters":
		name, _ := d["parameter_name"].(string)
		if name == "" {
			return suggestion{note: webSuggested + " names no parameter"}
		}
		return f.parameter(name, from)
	case nil:
		return suggestion{note: webSuggested + " has no type"}
	}
	return suggestion{note: fmt.Sprintf("%s has the type %s, which the console does not know",
		webSuggested, Shown(d["type"]))}
}

// parameter fills in the variables of a name, and returns the values of the parameter.
func (f *Form) parameter(name string, from *Sources) suggestion {
	for variable, value := range map[string]string{
		"entity_type": f.Service.Name, "identifying_attribute": from.Identity,
		"instance_id": from.Instance,
	} {
		text := "${" + variable + "}"
		if strings.Contains(name, text) && value == "" {
			return suggestion{note: fmt.Sprintf("values are suggested as soon as %s is known",
				strings.ReplaceAll(variable, "_", " "))}
		}
		name = strings.ReplaceAll(name, text, value)
	}
	out := suggestion{parameter: name, long: from.Long[name]}
	options, has := from.Parameters[name]
	if out.options = options; !has {
		out.note = "the parameter " + name + " does not exist, so nothing is suggested"
	}
	return out
}

// Options reads suggested values: texts and numbers, or objects with a label and a value.
func Options(v any) []Option {
	list, _ := v.([]any)
	var out []Option
	for _, one := range list {
		label, value := one, one
		if m, is := one.(map[string]any); is {
			label, value = m["label"], m["value"]
		}
		switch value.(type) {
		case nil, []any, map[string]any:
			continue
		}
		if label == nil {
			label = value
		}
		out = append(out, Option{Value: Shown(value), Label: Shown(label)})
	}
	return out
}

// unit returns the unit of an attribute, or a note about a wrong annotation.
func unit(a *definition.Attribute) (text, note string) {
	if a.Annotations[webPresentation] != "unit" {
		return "", ""
	}
	text, _ = a.Annotations[webUnit].(string)
	switch {
	case text == "":
		return "", webUnit + " names no unit"
	case shapeOf(a) != shapeNumber:
		return "", webPresentation + " is unit, and the value is no number"
	}
	return text, ""
}

// tab is an entry of the annotation with tabs.
type tab struct {
	key, label string
	order      float64
	standard   bool // for values without a tab
}

// tabs reads the annotation with tabs; a note says what is wrong with it.
func (f *Form) tabs() (out []tab, note string) {
	v, has := f.Service.Annotations[webTabs]
	if !has {
		return nil, ""
	}
	list, _ := v.([]any)
	seen, standard := map[string]bool{}, 0
	for i, one := range list {
		m, _ := one.(map[string]any)
		key, _ := m["key"].(string)
		label, _ := m["label"].(string)
		if key == "" || label == "" || seen[key] {
			return nil, fmt.Sprintf("entry %d of %s needs a key and a label, and no key twice", i+1,
				webTabs)
		}
		seen[key] = true
		t := tab{key: key, label: label}
		t.standard, _ = m["default"].(bool)
		if t.standard {
			standard++
		}
		if n, is := numberText(m["order"]); is {
			_, _ = fmt.Sscan(n, &t.order)
		}
		out = append(out, t)
	}
	switch {
	case len(out) == 0:
		return nil, webTabs + " is no list of tabs"
	case standard != 1:
		return nil, fmt.Sprintf("%s has %d default tabs, and needs one", webTabs, standard)
	}
	for _, one := range f.fields(&f.Service.Part, "", f.Base, f.root()) {
		if v, has := one.annotations()[webTab]; has {
			if key, _ := v.(string); !seen[key] {
				return nil, fmt.Sprintf("%s of %s is %s, and there is no such tab", webTab, one.name,
					Shown(v))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b tab) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.key, b.key))
	})
	return out, ""
}

// annotations returns the annotations of a value.
func (f *field) annotations() map[string]any {
	switch {
	case f.attribute != nil:
		return f.attribute.Annotations
	case f.embedded != nil:
		return f.embedded.RelationAnnotations
	}
	return f.relation.Annotations
}

// description returns the description of a value.
func (f *field) description() string {
	var out *string
	switch {
	case f.attribute != nil:
		out = f.attribute.Description
	case f.embedded != nil:
		out = f.embedded.Description
	default:
		out = f.relation.Description
	}
	if out == nil {
		return ""
	}
	return *out
}
