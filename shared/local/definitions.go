package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
)

// Definitions is the store of the service definitions of a home. It implements definition.Store.
type Definitions struct{ home *Home }

var _ definition.Store = (*Definitions)(nil)

// Definitions returns the store of definitions.
func (h *Home) Definitions() *Definitions { return &Definitions{h} }

const readDefinitions = "read definitions"

// stored is the stored form of a definition.
type stored struct {
	digest string
	body   []byte
}

// Put implements definition.Store.
func (d *Definitions) Put(
	ctx context.Context, env, bundle string, services []definition.Service,
) error {
	if err := definition.CheckPut(bundle, services); err != nil {
		return err
	}
	texts := make([]stored, len(services))
	for i := range services {
		var err error
		if texts[i].digest, texts[i].body, err = services[i].Text(); err != nil {
			return err
		}
	}
	return d.home.write(ctx, "store definitions", func(c *sqlite.Conn) error {
		if err := query(c, "DELETE FROM definitions WHERE env = ?", nil, env); err != nil {
			return err
		}
		for i := range services {
			if err := putDefinition(c, env, bundle, &services[i], texts[i]); err != nil {
				return err
			}
		}
		if err := checkLive(c, env); err != nil {
			return err
		}
		if err := keepModel(c, env, bundle); err != nil {
			return err
		}
		if err := feed(c, env, state.ChangedInstances); err != nil {
			return err
		}
		return query(c, "INSERT OR REPLACE INTO definition_bundles (env, bundle) VALUES (?, ?)",
			nil, env, bundle)
	})
}

// keepModel records a bundle as the newest kept bundle, and removes the oldest one if there are too
// many.
func keepModel(c *sqlite.Conn, env, bundle string) error {
	err := query(c, "INSERT OR REPLACE INTO definition_models (env, bundle, number) SELECT ?1, ?2, "+
		"1 + coalesce(max(number), 0) FROM definition_models WHERE env = ?1", nil, env, bundle)
	if err != nil {
		return err
	}
	return query(c, "DELETE FROM definition_models WHERE env = ?1 AND number NOT IN (SELECT number "+
		"FROM definition_models WHERE env = ?1 ORDER BY number DESC LIMIT ?2)", nil, env,
		definition.MaxEarlier+1)
}

func putDefinition(
	c *sqlite.Conn, env, bundle string, s *definition.Service, t stored,
) error {
	err := query(c, "INSERT INTO definitions (env, name, version, usual, digest) "+
		"VALUES (?, ?, ?, ?, ?)", nil, env, s.Name, s.Version, s.Default, t.digest)
	if err != nil {
		return err
	}
	return query(c, "INSERT OR REPLACE INTO definition_texts (env, digest, bundle, body) "+
		"VALUES (?, ?, ?, ?)", nil, env, t.digest, bundle, t.body)
}

// checkLive returns an error if a live instance has a version of a service that is not defined.
func checkLive(c *sqlite.Conn, env string) error {
	const live = "SELECT service, version, count(*) FROM instances i WHERE env = ? AND NOT deleted " +
		"GROUP BY service, version HAVING NOT EXISTS (SELECT 1 FROM definitions d " +
		"WHERE d.env = i.env AND d.name = i.service AND d.version = i.version) " +
		"ORDER BY service, version LIMIT 1"
	return query(c, live, func(s *sqlite.Stmt) error {
		return definition.ErrLive(s.ColumnText(0), s.ColumnInt(1), s.ColumnInt(2))
	}, env)
}

// kept reads the result of a query with the columns name, version, usual, digest, bundle and body.
func (d *Definitions) kept(
	ctx context.Context, env, sql string, args ...any,
) ([]definition.Kept, error) {
	return readList(ctx, d.home, readDefinitions, sql, func(s *sqlite.Stmt) (definition.Kept, error) {
		of, err := parsed(columnBytes(s, 5), s.ColumnText(3)) // the columns body and digest
		of.Name, of.Version, of.Default = s.ColumnText(0), s.ColumnInt(1), s.ColumnBool(2)
		of.Environment = env
		return definition.Kept{Service: of, Digest: s.ColumnText(3), Bundle: s.ColumnText(4)}, err
	}, append([]any{env}, args...)...)
}

// parsed decodes a definition. It returns Damaged if digest is not the digest of body.
func parsed(body []byte, digest string) (definition.Service, error) {
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != digest {
		return definition.Service{}, fault.New(fault.Damaged, readDefinitions,
			"the definition %s in %s is not as it was written", digest, dbName).
			WithHint("%s", damagedHint)
	}
	return definition.Parse(body)
}

const current = "SELECT name, version, usual, digest, bundle, body FROM definitions " +
	"JOIN definition_texts USING (env, digest) WHERE env = +?"

// byDigest selects a definition that the environment may no longer have.
const byDigest = "SELECT coalesce(name, ''), coalesce(version, 0), coalesce(usual, 0), t.digest, " +
	"bundle, body FROM definition_texts t LEFT JOIN definitions d ON d.env = t.env AND " +
	"d.digest = t.digest AND d.name = +?2 AND d.version = +?3 WHERE t.env = +?1 AND t.digest = +?4"

// All implements definition.Store.
func (d *Definitions) All(ctx context.Context, env string) ([]definition.Service, error) {
	found, err := d.kept(ctx, env, current+" ORDER BY name, version")
	out := make([]definition.Service, len(found))
	for i := range found {
		out[i] = found[i].Service
	}
	return out, err
}

// One implements definition.Store.
func (d *Definitions) One(
	ctx context.Context, env, name string, version int,
) (definition.Service, error) {
	sql, args := current+" AND name = +? AND usual", []any{name}
	if version >= 0 {
		sql, args = current+" AND name = +? AND version = +?", []any{name, version}
	}
	found, err := d.kept(ctx, env, sql, args...)
	if err != nil || len(found) == 0 {
		return definition.Service{}, orNone(err, name, version)
	}
	return found[0].Service, nil
}

// orNone returns err if it is not nil, and ErrNone otherwise.
func orNone(err error, name string, version int) error {
	if err != nil {
		return err
	}
	return definition.ErrNone(name, version)
}

// Of implements definition.Store.
func (d *Definitions) Of(
	ctx context.Context, env, name string, version int, digest string,
) (definition.Kept, error) {
	sql, args := current+" AND name = +? AND version = +?", []any{name, version}
	if digest != "" {
		sql, args = byDigest, []any{name, version, digest}
	}
	found, err := d.kept(ctx, env, sql, args...)
	if err != nil || len(found) == 0 {
		return definition.Kept{}, orNone(err, name, version)
	}
	one := found[0]
	one.Service.Name, one.Service.Version = name, version
	return one, nil
}

// Bundle implements definition.Store.
func (d *Definitions) Bundle(ctx context.Context, env string) (string, error) {
	out, err := d.texts(ctx, "SELECT bundle FROM definition_bundles WHERE env = ?", env)
	if err == nil && len(out) == 0 {
		err = definition.ErrNoBundle()
	}
	if err != nil {
		return "", err
	}
	return out[0], nil
}

// Models implements definition.Store.
func (d *Definitions) Models(ctx context.Context, env string) ([]string, error) {
	return d.texts(ctx, "SELECT bundle FROM definition_models WHERE env = ? ORDER BY number DESC", env)
}

// Bundles implements definition.Store.
func (d *Definitions) Bundles(ctx context.Context) ([]string, error) {
	return d.texts(ctx, "SELECT bundle FROM definition_texts UNION "+
		"SELECT bundle FROM definition_bundles UNION SELECT bundle FROM definition_models "+
		"ORDER BY bundle")
}

// texts reads the results of a query with one column.
func (d *Definitions) texts(ctx context.Context, sql string, args ...any) ([]string, error) {
	return readList(ctx, d.home, readDefinitions, sql, text[string], args...)
}
