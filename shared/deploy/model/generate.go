package model

import (
	"fmt"
	"maps"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxGenerated bounds the depth of a chain of resources that generate each other.
const maxGenerated = 8

// generate adds the resources that other resources generate. A resource that is in the model
// already, written or generated, stays as it is.
func (v *validator) generate() {
	from := 0
	for depth := 0; from < len(v.m.Resources); depth++ {
		end := len(v.m.Resources)
		for i := from; i < end; i++ {
			if !v.wrong[i] {
				v.generateFrom(i, depth)
			}
		}
		from = end
	}
}

func (v *validator) generateFrom(i, depth int) {
	r := v.m.Resources[i]
	g, ok := provider.As[provider.Generator](v.c.handlers[r.Type])
	if _, own := CodeOf(&r); !ok || own {
		return
	}
	bad := func(format string, args ...any) {
		v.problems.Add(
			diag.Problem{
				Pos:      v.m.At(i, ""),
				Resource: string(r.ID),
				Message:  fmt.Sprintf(format, args...),
			},
		)
	}
	list, err := g.Generate(
		provider.Resource{
			ID:         r.ID,
			Type:       r.Type,
			Agent:      r.Agent,
			Attributes: maps.Clone(r.Attributes),
			Purged:     r.Purged,
		},
	)
	if err != nil {
		bad("its generated resources cannot be determined: %v", err)
		return
	}
	for _, one := range list {
		typ, ok := v.c.types.Type(one.Type)
		if !ok {
			bad("a %s follows from it, and there is no such type", one.Type)
			continue
		}
		attrs, problems := CheckAttributes(typ, one.Attributes, one.Purged || r.Purged)
		if id, named := FoundID(typ, r.Agent, attrs); named {
			if _, there := v.byID[id]; there {
				continue
			}
			if depth == maxGenerated {
				bad("resources follow from each other without end")
				return
			}
			v.byID[id] = len(v.m.Resources)
			made := resource.Resource{
				ID:         id,
				Type:       one.Type,
				Agent:      r.Agent,
				Attributes: attrs,
				Set:        r.Set,
				Requires:   []resource.ID{r.ID},
				Flags:      r.Flags,
			}
			made.Purged = one.Purged || r.Purged
			v.place(i)
			v.m.Resources = append(v.m.Resources, made)
		}
		for _, p := range problems {
			bad("a %s that follows from it is wrong: %s: %s", one.Type, p.Attribute, p.Message)
		}
	}
}

// place gives the next resource to be added to the model the place of resource i.
func (v *validator) place(i int) {
	where, n := v.m.Where, len(v.m.Resources)
	if where == nil {
		return
	}
	v.m.Where = func(k int, attribute string) diag.Pos {
		if k == n {
			return where(i, "")
		}
		return where(k, attribute)
	}
}
