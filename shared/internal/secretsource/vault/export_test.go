package vault

import "time"

// HalfIsOver makes half of the time of the token be over.
func (r *Reader) HalfIsOver() {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.session.renewAt = time.Now()
}
