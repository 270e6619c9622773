package fulfil

import (
	"cmp"
	"context"
	"path/filepath"
	"sync"

	"southbound/shared/fault"
	"southbound/shared/lang/std"
	"southbound/shared/service/bundle"
)

// passwords returns the store of passwords for one compile of a model, which adds each password to
// read. Its first error stops the compile without being a fault of the model.
func (c *compiler) passwords(m bundle.Opened, read *secrets) *watched {
	keeps := c.Passwords
	if keeps == nil {
		keeps = c.ownPasswords(m)
	}
	return &watched{Passwords: keeps, read: read}
}

// ownPasswords returns the passwords in the data folder of the project. If that is the data folder
// of this environment, it returns these passwords alone; otherwise it combines both.
func (c *compiler) ownPasswords(m bundle.Opened) std.Passwords {
	own := filepath.Join(filepath.Dir(m.Main), dataDir)
	here := filepath.Join(c.Dir, c.Env, dataDir)
	if to, err := filepath.EvalSymlinks(own); err == nil {
		if is, err := filepath.EvalSymlinks(here); err == nil && is == to {
			return std.PasswordsIn(here)
		}
	}
	return &both{Passwords: std.PasswordsIn(own), here: std.PasswordsIn(here)}
}

// both combines the passwords of a project and of this environment. It copies used passwords to
// both stores, so that they survive if the project moves or gets its data folder later.
type both struct {
	std.Passwords
	here std.Passwords
}

// Password implements std.Passwords.
func (b *both) Password(ctx context.Context, name string) (string, error) {
	found, err := b.Passwords.Password(ctx, name)
	if err != nil {
		return "", err
	}
	kept, err := b.here.Password(ctx, name)
	if err != nil || found == "" || kept != "" {
		return cmp.Or(found, kept), err
	}
	return b.here.Make(ctx, name, found)
}

// Make implements std.Passwords.
func (b *both) Make(ctx context.Context, name, password string) (string, error) {
	made, err := b.Passwords.Make(ctx, name, password)
	if err != nil {
		return "", err
	}
	return b.here.Make(ctx, name, made)
}

// watched keeps the first error of passwords, and adds the passwords to read.
type watched struct {
	std.Passwords
	read *secrets

	mu   sync.Mutex
	lost error
}

// note keeps an error, and returns it.
func (w *watched) note(err error) error {
	if err != nil && fault.KindOf(err) == fault.Unknown { // an error of the operating system
		err = fault.Wrap(fault.Unavailable, "keep passwords", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		w.lost = err
	}
	return err
}

// Password implements std.Passwords.
func (w *watched) Password(ctx context.Context, name string) (string, error) {
	out, err := w.Passwords.Password(ctx, name)
	w.read.add(out)
	return out, w.note(err)
}

// Make implements std.Passwords.
func (w *watched) Make(ctx context.Context, name, password string) (string, error) {
	out, err := w.Passwords.Make(ctx, name, password)
	w.read.add(out)
	return out, w.note(err)
}
