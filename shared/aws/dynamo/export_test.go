//go:build servers

package dynamo

// Squeeze makes all limits so small that every way of storing is taken: objects, pages, runs and
// rolled-forward commits.
func (s *State) Squeeze() {
	s.limits = limits{
		inline:   1,
		record:   1,
		refs:     2,
		objects:  2,
		released: 1,
		together: 1,
		ids:      8 << 10,
		forget:   20,
		sources:  90,
	}
}

// SqueezeItems does the same without objects.
func (s *State) SqueezeItems() {
	s.limits = limits{
		inline:   300 << 10,
		record:   1,
		refs:     2,
		objects:  2,
		released: 1,
		together: 1,
		ids:      8 << 10,
		forget:   20,
		sources:  90,
	}
}

// ListsApart has every list of ids stored in an object.
func (s *State) ListsApart() { s.limits.ids = 0 }
