package catalog

import (
	"southbound/shared/lang/types"
	"southbound/shared/service/definition"
)

// obey rejects attributes and relations that customers could set below a read-only relation. It
// applies to strict modifiers only, because otherwise modifiers of embedded entities have no
// effect.
func (e *entity) obey(a *types.Attribute, out *definition.Embedded) {
	if !e.strict || out.Modifier != definition.ReadOnly {
		return
	}
	const text = "%s has the modifier r, so %s, which is below it, has to have it too: its " +
		"modifier is %s"
	for _, below := range out.Attributes {
		if below.Modifier != definition.ReadOnly {
			e.bad(*e.of.Attribute(below.Name).At, below.Name,
				"write lsm::attribute_modifier "+below.Name+modifierSuffix+` = "r"`,
				text, a.Name, below.Name, below.Modifier)
		}
	}
	for _, below := range out.Embedded {
		if below.Modifier != definition.ReadOnly {
			e.bad(*e.of.Attribute(below.Name).At, below.Name,
				"write lsm::__r__ in the place of --", text, a.Name, below.Name, below.Modifier)
		}
	}
	for _, below := range out.Relations {
		if below.Modifier != definition.ReadOnly {
			e.bad(*e.of.Attribute(below.Name).At, below.Name,
				"write lsm::__r__ in the place of --", text, a.Name, below.Name, below.Modifier)
		}
	}
}
