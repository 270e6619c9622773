package api

import "southbound/shared/deploy/state"

// ValidEnvironment reports whether s can name an environment.
func ValidEnvironment(s string) bool { return state.ValidEnvironment(s) }

func validHash(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}
