package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/service/definition"
)

// The annotations for the console, and their members and values. Other names belong to other
// clients and are not checked.
const (
	webPresentation = "web_presentation" // shows the attribute in the documentation tab
	webTitle        = "web_title"        // the title of its card there
	webIcon         = "web_icon"         // the icon of its card there
	webSuggested    = "web_suggested_values"

	documentation = "documentation"
	unit          = "unit" // a number with the unit that web_unit names
	literalValues = "literal"
	ofParameter   = "parameters"
	kindMember    = "type"
	valuesMember  = "values"
	nameMember    = "parameter_name"
)

const suggestedHint = `write {"type": "literal", "values": ["a", "b"]} or ` +
	`{"type": "parameters", "parameter_name": "name"}`

// presented checks the annotations of an attribute for the console.
func (e *entity) presented(a *types.Attribute, of *definition.Attribute) {
	at, name := a.At, a.Name+annotationsSuffix
	if own := e.of.Attribute(name); own != nil {
		at = own.At
	}
	e.suggested(*at, name, of.Annotations)
	e.titles(*at, name, of.Annotations)
	if shown, has := of.Annotations[webPresentation]; has && shown == documentation {
		e.documents(*at, name, of)
	}
}

// documents checks an attribute of the documentation tab.
func (e *entity) documents(at diag.Pos, name string, of *definition.Attribute) {
	wrong := func(hint, format string, args ...any) {
		e.bad(at, name, hint, "%s is %s: "+format,
			append([]any{webPresentation, documentation}, args...)...)
	}
	if of.Modifier != definition.ReadOnly {
		wrong(fmt.Sprintf(`write lsm::attribute_modifier %s__modifier = "r"`, of.Name),
			"the model writes documentation, and %s has the modifier %s", of.Name, of.Modifier)
	}
	if of.Type != "string" && of.Type != "string?" {
		wrong("make it a string", "documentation is text, and %s has the type %s", of.Name, of.Type)
	}
	if len(e.within) > 0 {
		wrong("move the attribute to the service",
			"documentation is shown of a service, and %s is embedded in one", e.of.FullName())
	}
}

// titles checks the annotations for the documentation tab.
func (c *collector) titles(at diag.Pos, name string, all map[string]any) {
	shown, has := all[webPresentation]
	if has && shown != documentation && shown != unit {
		c.bad(at, name, fmt.Sprintf("write %q: %q", webPresentation, documentation),
			"%s is %s, and the console knows only %s and %s", webPresentation, written(shown),
			documentation, unit)
	}
	for _, one := range []string{webTitle, webIcon} {
		v, is := all[one]
		if !is {
			continue
		}
		text, isText := v.(string)
		switch {
		case !isText || text == "":
			c.bad(at, name, "write a text", "%s is %s, and not a text", one, written(v))
		case one == webIcon && !icon(text):
			c.bad(at, name, `write the name of an icon of Font Awesome, such as "FaInfo"`,
				"%s is %q, which is no name of an icon", one, text)
		case !has:
			c.bad(at, name, fmt.Sprintf("add %q: %q, or leave it out", webPresentation, documentation),
				"%s has no effect without %s", one, webPresentation)
		}
	}
}

// icon reports whether a text is the name of an icon in the console.
func icon(text string) bool {
	ok, _ := regexp.MatchString(`^Fa[A-Z0-9][A-Za-z0-9]*$`, text) // the pattern is valid
	return ok
}

// suggested checks the values that forms suggest.
func (c *collector) suggested(at diag.Pos, name string, all map[string]any) {
	v, has := all[webSuggested]
	if !has {
		return
	}
	d, isDict := v.(map[string]any)
	if !isDict {
		c.bad(at, name, suggestedHint, "%s is %s, and not a dict", webSuggested, written(v))
		return
	}
	var member string
	switch d[kindMember] {
	case literalValues:
		member = valuesMember
		c.literals(at, name, d)
	case ofParameter:
		member = nameMember
		if text, isText := d[nameMember].(string); !isText || text == "" {
			c.bad(at, name, suggestedHint, "%s needs %s, the name of a parameter", webSuggested,
				nameMember)
		}
	case nil:
		c.bad(at, name, suggestedHint, "%s has no %s", webSuggested, kindMember)
		return
	default:
		c.bad(at, name, suggestedHint, "the %s of %s is %s, and has to be %s or %s", kindMember,
			webSuggested, written(d[kindMember]), literalValues, ofParameter)
		return
	}
	for _, k := range slices.Sorted(maps.Keys(d)) {
		if k != kindMember && k != member {
			c.bad(at, name, eval.DidYouMean(k, []string{kindMember, member}),
				"%s of the type %s has no member %s", webSuggested, d[kindMember], k)
		}
	}
}

// literals checks a list of suggested values.
func (c *collector) literals(at diag.Pos, name string, d map[string]any) {
	list, isList := d[valuesMember].([]any)
	if !isList || len(list) == 0 {
		c.bad(at, name, suggestedHint, "%s needs %s, a list of strings", webSuggested, valuesMember)
		return
	}
	for i, item := range list {
		if d, isDict := item.(map[string]any); isDict && d["label"] != nil && d["value"] != nil {
			continue // shows the label, and sends the value
		}
		if _, isText := item.(string); !isText {
			c.bad(at, name, suggestedHint, "value %d of %s is %s, and not a string", i+1, webSuggested,
				written(item))
		}
	}
}

// written returns a value for a message.
func written(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a dict"
	}
	return fmt.Sprint(v)
}
