package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"sync"
)

// Passwords stores the generated passwords of an environment in a table. A password never changes,
// and is the same in each process. Any number of goroutines may use it.
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

// passwordKey uses a hash of the name, because a model may choose any name of any length.
func passwordKey(env, name string) item {
	sum := sha256.Sum256([]byte(name))
	return key("W/"+env, hex.EncodeToString(sum[:]))
}

// keptPassword is a password as the table stores it.
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

// Make implements std.Passwords. If two processes make a password of one name, the first password
// stays.
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
		if err != nil { // the write may have succeeded; then the next call finds the password
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
