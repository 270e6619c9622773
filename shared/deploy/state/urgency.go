package state

import "slices"

// urgencies are the statuses, the one that needs attention first at the beginning.
var urgencies = []Status{
	StatusFailed, StatusUnavailable, StatusBlocked, StatusUndefined, StatusSkipped,
	StatusNonCompliant, StatusDeploying, StatusAvailable, StatusOrphaned, StatusDeployed,
}

// Worse reports whether a status needs attention before another one. Any status is worse than "".
func Worse(a, b Status) bool { return b == "" && a != "" || Urgency(a) > Urgency(b) }

// Urgency ranks a status by how much it needs attention: 0 for a deployed resource, more for all
// others.
func Urgency(s Status) int {
	if n := slices.Index(urgencies, s); n >= 0 {
		return len(urgencies) - 1 - n
	}
	return 0
}
