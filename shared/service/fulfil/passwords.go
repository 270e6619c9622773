package fulfil

import (
	"context"
	"sync"

	"southbound/shared/lang/std"
)

// passwords returns who keeps the passwords of one compile, and where it says what was in its way:
// a model could not go on, and there is nothing wrong with it.
func (r *round) passwords() (p std.Passwords, lost *error) {
	lost = new(error)
	if r.Passwords == nil {
		return nil, lost
	}
	return &watched{Passwords: r.Passwords, lost: lost}, lost
}

// watched are passwords of which an error is kept.
type watched struct {
	std.Passwords

	mu   sync.Mutex
	lost *error
}

func (w *watched) note(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *w.lost == nil {
		*w.lost = err
	}
}

// Password implements std.Passwords.
func (w *watched) Password(ctx context.Context, name string) (string, error) {
	out, err := w.Passwords.Password(ctx, name)
	w.note(err)
	return out, err
}

// Make implements std.Passwords.
func (w *watched) Make(ctx context.Context, name, password string) (string, error) {
	out, err := w.Passwords.Make(ctx, name, password)
	w.note(err)
	return out, err
}
