package adopt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/resource"
)

// maxLabel bounds the labels that are made of addresses.
const maxLabel = 160

// name chooses the labels. Equal labels of two objects with the same type and agent get a digest of
// the address.
func (p *planner) name() {
	type place struct{ agent, typ, label string }
	count := map[place]int{}
	for _, a := range p.all {
		a.agent = p.agents[a.object.Provider]
		a.label = labelOf(a.object.Address)
		count[place{a.agent, a.ty.Name, a.label}]++
	}
	for _, a := range p.all {
		if count[place{a.agent, a.ty.Name, a.label}] > 1 {
			a.label += "~" + digest(a.object.Address.String())
		}
		a.id = resource.NewID(a.ty.Name, a.agent, resource.Key{Name: "label", Value: a.label})
	}
}

// labelOf returns a readable name: net-eu/app-0 for module.net["eu"].random_pet.app[0].
func labelOf(a Address) string {
	var parts []string
	one := func(name string, k Key) {
		switch k.Kind {
		case NumberKey:
			name += fmt.Sprintf("-%d", k.Number)
		case TextKey:
			name += "-" + readable(k.Text)
		}
		parts = append(parts, readable(name))
	}
	for _, s := range a.Module {
		one(s.Name, s.Key)
	}
	one(a.Name, a.Key)
	out := strings.Join(parts, "/")
	if len(out) > maxLabel {
		cut := maxLabel
		for !utf8.RuneStart(out[cut]) {
			cut--
		}
		out = out[:cut] + "~" + digest(a.String())
	}
	return out
}

// readable replaces characters that an id would have to escape, or that separate parts of a label.
func readable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.@:+", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(s, "_"))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
