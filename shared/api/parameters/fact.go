package parameters

import (
	"encoding/json"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Fact is a fact in the form of the API and of the option --json.
type Fact struct {
	Name    string          `json:"name"`
	Of      resource.ID     `json:"of" doc:"the resource that has reported it"`
	Value   json.RawMessage `json:"value" doc:"any JSON value, of at most 16 KiB"`
	Source  string          `json:"source"`
	Updated time.Time       `json:"updated" doc:"when the run that learned it ended"`
}

// FactOf returns a stored fact in its public form.
func FactOf(p *state.Parameter) Fact {
	return Fact{Name: p.Name, Of: p.Of, Value: json.RawMessage(p.Data().JSON()), Source: p.Source,
		Updated: p.Updated}
}

// parameter returns a fact in its stored form.
func (f *Fact) parameter() (state.Parameter, error) {
	data, err := resource.ParseData(f.Value)
	out := state.Parameter{Name: f.Name, Of: f.Of, Source: f.Source, Updated: f.Updated}
	out.SetData(data)
	return out, fault.Wrap(fault.Damaged, "read fact", err)
}

// storedFacts returns facts in their stored form.
func storedFacts(facts []Fact) ([]state.Parameter, error) {
	out := make([]state.Parameter, len(facts))
	for i := range facts {
		var err error
		if out[i], err = facts[i].parameter(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// factsPage returns a page of stored facts in their public form.
func factsPage(p paging.Page[state.Parameter]) paging.Page[Fact] {
	out := paging.Page[Fact]{Items: make([]Fact, len(p.Items)), Next: p.Next, Count: p.Count}
	for i := range p.Items {
		out.Items[i] = FactOf(&p.Items[i])
	}
	return out
}
