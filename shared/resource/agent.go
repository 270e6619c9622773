package resource

import (
	"southbound/shared/fault"
)

// MarshalJSON returns the canonical encoding, in which options keep the kinds of their numbers, and
// their references.
func (a Agent) MarshalJSON() ([]byte, error) {
	m := map[string]any{"name": a.Name, "transport": a.Transport, "lanes": int64(a.Lanes)}
	if a.Options != nil {
		m["options"] = a.Options
	}
	if a.Described {
		m["described"] = true
	}
	return CanonicalValue(m)
}

// UnmarshalJSON decodes the output of MarshalJSON. It returns Damaged for anything else.
func (a *Agent) UnmarshalJSON(text []byte) error {
	v, err := DecodeValue(text)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read agent", err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return fault.New(fault.Damaged, "read agent", "it is stored as %T, not as a map", v)
	}
	*a = Agent{}
	a.Name, _ = m["name"].(string)
	a.Transport, _ = m["transport"].(string)
	lanes, _ := m["lanes"].(int64)
	a.Lanes = int(lanes)
	a.Options, _ = m["options"].(map[string]any)
	a.Described, _ = m["described"].(bool)
	return nil
}
