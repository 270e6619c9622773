package providertest

import "time"

// Grace returns the subject with another time that a call may go on after its context has ended.
func (s Subject) Grace(d time.Duration) Subject {
	s.grace = d
	return s
}
