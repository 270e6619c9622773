package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"sync"
)

// Passwords are those that models of an environment have had made, in a table. They are the same in
// each process, and never change. It may be used by any number of goroutines.
type Passwords struct {
	table

	env   string
	mu    sync.Mutex
	known map[string]string // by name
}

// Passwords returns the passwords of an environment in the same table.
func (n *Instances) Passwords(env string) *Passwords {
	return &Passwords{table: n.table, env: env, known: map[string]string{}}
}

// passwordKey has a hash of the name: a model may choose any, of any length.
func passwordKey(env, name string) item {
	sum := sha256.Sum256([]byte(name))
	return key("W/"+env, hex.EncodeToString(sum[:]))
}

// keptPassword is a password as it is stored.
type keptPassword struct {
	Name     string `json:"name"`
	Password string `json:"password"`
}

// Password implements std.Passwords.
func (p *Passwords) Password(ctx context.Context, name string) (string, error) {
	p.mu.Lock()
	out, ok := p.known[name]
	p.mu.Unlock()
	if ok {
		return out, nil
	}
	k := passwordKey(p.env, name)
	items, err := p.getMany(ctx, []item{k})
	if err != nil || len(items) == 0 {
		return "", err
	}
	var found keptPassword
	if err := p.unpack(items[0], &found); err != nil {
		return "", err
	}
	p.keep(name, found.Password)
	return found.Password, nil
}

func (p *Passwords) keep(name, password string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[name] = password
}

// Make implements std.Passwords: of two that are made at once the first one stays.
func (p *Passwords) Make(ctx context.Context, name, password string) (string, error) {
	i, err := p.pack(keptPassword{name, password})
	if err != nil {
		return "", err
	}
	maps.Copy(i, passwordKey(p.env, name))
	for try := 0; ; try++ {
		if err := p.pause(ctx, opWrite, try); err != nil {
			return "", err
		}
		again, err := p.transactOne(ctx, put(p.Table, i, 0))
		if err != nil { // it may be there, and is found the next time
			return "", err
		}
		if !again {
			p.keep(name, password)
			return password, nil
		}
		if first, err := p.Password(ctx, name); err != nil || first != "" {
			return first, err
		}
	}
}
