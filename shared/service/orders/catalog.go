package orders

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/service/definition"
)

// Offer is a service that can be ordered.
type Offer struct {
	definition.Service
	// Summary counts its instances, if requested.
	Summary *Summary `json:"instance_summary"`
}

// Summary counts the instances of a service that are not deleted.
type Summary struct {
	Total   int            `json:"total"`
	ByState map[string]int `json:"by_state"`
	ByLabel ByLabel        `json:"by_label"`
}

// ByLabel counts instances by the labels of their states.
type ByLabel struct {
	Info    int `json:"info"`
	Success int `json:"success"`
	Warning int `json:"warning"`
	Danger  int `json:"danger"`
	None    int `json:"no_label"`
}

// Catalog returns the services that can be ordered, sorted by name: the default version of each, or
// with versions all of them. With counts, it counts their instances.
func (s *offers) Catalog(
	ctx context.Context, env string, versions, counts bool,
) ([]Offer, error) {
	all, err := s.Definitions.All(ctx, env)
	if err != nil {
		return nil, err
	}
	out := []Offer{}
	for i := range all {
		if versions || all[i].Default {
			out = append(out, offer(env, all[i]))
		}
	}
	slices.SortStableFunc(out, func(a, b Offer) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	if !counts {
		return out, nil
	}
	for i := range out {
		if out[i].Summary, err = s.count(ctx, env, all, out[i].Name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// offer returns a definition in the form of the API, with empty lists instead of nil.
func offer(env string, d definition.Service) Offer {
	d.Environment = env
	fill(&d.Part)
	d.Config, d.OwnedEntities = orEmptyMap(d.Config), orEmpty(d.OwnedEntities)
	d.Lifecycle.Alternatives = orEmpty(d.Lifecycle.Alternatives)
	d.Lifecycle.States = slices.Clone(orEmpty(d.Lifecycle.States))
	for i := range d.Lifecycle.States {
		state := &d.Lifecycle.States[i]
		state.Values, state.Annotations = orEmptyMap(state.Values), orEmptyMap(state.Annotations)
	}
	d.Lifecycle.Transfers = slices.Clone(orEmpty(d.Lifecycle.Transfers))
	for i := range d.Lifecycle.Transfers {
		t := &d.Lifecycle.Transfers[i]
		t.Annotations = orEmptyMap(t.Annotations)
	}
	return Offer{Service: d}
}

// fill replaces nil lists and maps of a part by empty ones.
func fill(p *definition.Part) {
	p.Attributes = slices.Clone(orEmpty(p.Attributes))
	p.Embedded = slices.Clone(orEmpty(p.Embedded))
	p.Relations = slices.Clone(orEmpty(p.Relations))
	p.KeyAttributes, p.Annotations = orEmpty(p.KeyAttributes), orEmptyMap(p.Annotations)
	for i := range p.Attributes {
		p.Attributes[i].Annotations = orEmptyMap(p.Attributes[i].Annotations)
	}
	for i := range p.Relations {
		p.Relations[i].Annotations = orEmptyMap(p.Relations[i].Annotations)
	}
	for i := range p.Embedded {
		p.Embedded[i].RelationAnnotations = orEmptyMap(p.Embedded[i].RelationAnnotations)
		fill(&p.Embedded[i].Part)
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func orEmptyMap[T any](m map[string]T) map[string]T {
	if m == nil {
		return map[string]T{}
	}
	return m
}

// Offer returns a service; a negative version means the default version.
func (s *offers) Offer(
	ctx context.Context, env, name string, version int, counts bool,
) (Offer, error) {
	d, err := s.Definitions.One(ctx, env, name, version)
	if err != nil {
		return Offer{}, err
	}
	out := offer(env, d)
	if counts {
		all, err := s.Definitions.All(ctx, env)
		if err != nil {
			return out, err
		}
		out.Summary, err = s.count(ctx, env, all, name)
		return out, err
	}
	return out, nil
}

// count counts the instances of a service.
func (s *offers) count(
	ctx context.Context, env string, all []definition.Service, name string,
) (*Summary, error) {
	labels := map[int]map[string]string{}
	for i := range all {
		if all[i].Name != name {
			continue
		}
		labels[all[i].Version] = map[string]string{}
		for j := range all[i].Lifecycle.States {
			state := &all[i].Lifecycle.States[j]
			labels[all[i].Version][state.Name] = state.Label
		}
	}
	out := &Summary{ByState: map[string]int{}}
	numbers, err := s.Instances.ByState(ctx, env, name)
	for of, n := range numbers {
		out.add(of.State, labels[of.Version][of.State], n)
	}
	return out, err
}

// add adds instances in a state with a label.
func (s *Summary) add(state, label string, n int) {
	s.Total += n
	s.ByState[state] += n
	switch label {
	case "info":
		s.ByLabel.Info += n
	case "success":
		s.ByLabel.Success += n
	case "warning":
		s.ByLabel.Warning += n
	case "danger":
		s.ByLabel.Danger += n
	default:
		s.ByLabel.None += n
	}
}
