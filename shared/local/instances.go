package local

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Instances is the store of the service instances of a home. It implements inventory.Store.
//
// Large: it has the methods of that port, and of those beside it.
type Instances struct{ home *Home }

var (
	_ inventory.Store  = (*Instances)(nil)
	_ inventory.Owners = (*Instances)(nil)
)

// Instances returns the store of instances.
func (h *Home) Instances() *Instances { return &Instances{h} }

// Write implements inventory.Store.
func (n *Instances) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckChanges(changes); err != nil {
		return nil, err
	}
	var revs []int64
	err := n.home.write(ctx, "write instances", func(c *sqlite.Conn) error {
		var err error
		if revs, err = putChanges(c, env, changes, inventory.CheckWeight); err != nil {
			return err
		}
		return feed(c, env, state.ChangedInstances)
	})
	if err != nil {
		return nil, err
	}
	return revs, nil
}

// putChanges stores changes and returns the new revisions. It returns the error of weigh if the
// changes add or remove too many references.
func putChanges(
	c *sqlite.Conn, env string, changes []inventory.Change,
	weigh func(changes, come, gone, generations int) error,
) ([]int64, error) {
	revs := make([]int64, len(changes))
	// The order of changes has no meaning: one change may take the identity that another one
	// releases.
	for i := range changes {
		if err := query(c, "UPDATE instances SET identity = NULL WHERE env = ? AND id = ?", nil,
			env, changes[i].Record.ID); err != nil {
			return nil, err
		}
	}
	come, gone := 0, 0
	for i := range changes {
		var err error
		if revs[i], err = putInstance(c, env, &changes[i]); err != nil {
			return nil, err
		}
		more, less, err := putReferences(c, env, &changes[i].Record)
		if err != nil {
			return nil, err
		}
		come, gone = come+more, gone+less
	}
	for i := range changes {
		if err := checkReferences(c, env, &changes[i].Record); err != nil {
			return nil, err
		}
	}
	if err := dropTexts(c, env, inventory.Newest(changes)); err != nil {
		return nil, err
	}
	generations, err := inventory.Generations(changes, revs)
	if err != nil {
		return nil, err
	}
	for i := range generations {
		if err := moveGeneration(c, env, &generations[i]); err != nil {
			return nil, err
		}
	}
	return revs, weigh(len(changes), come, gone, len(generations))
}

// moveGeneration stores a generation. It returns ErrMoved unless the generation directly follows
// the stored one.
func moveGeneration(c *sqlite.Conn, env string, g *inventory.Generation) error {
	have, err := generation(c, env, g.Service)
	if err != nil {
		return err
	}
	if have.Number != g.Number-1 {
		return inventory.ErrMoved(g.Service)
	}
	return query(c,
		"INSERT OR REPLACE INTO service_generations (env, service, body) VALUES (?, ?, ?)",
		nil, env, g.Service, []byte(sealed(g, "service_generations", env, g.Service)))
}

// generation reads the generation of a service.
func generation(c *sqlite.Conn, env, service string) (inventory.Generation, error) {
	out := inventory.Generation{Service: service}
	const find = "SELECT body, env, service FROM service_generations WHERE env = ? AND service = ?"
	err := query(c, find, func(s *sqlite.Stmt) error {
		return unsealRow(s, 0, &out, "service_generations")
	}, env, service)
	return out, err
}

// Generation implements inventory.Store.
func (n *Instances) Generation(
	ctx context.Context, env, service string,
) (inventory.Generation, error) {
	var out inventory.Generation
	err := n.home.read(ctx, readInstances, func(c *sqlite.Conn) (err error) {
		out, err = generation(c, env, service)
		return err
	})
	return out, err
}

// putInstance stores a change, without its references.
func putInstance(c *sqlite.Conn, env string, change *inventory.Change) (int64, error) {
	r := change.Record
	have, events, terms := int64(0), int64(0), ""
	err := query(c, "SELECT rev, events, service, created, terms FROM instances WHERE env = ? AND id = ?",
		func(s *sqlite.Stmt) error {
			have, events, terms = s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnText(4)
			if have != r.Rev {
				return nil
			}
			return inventory.Kept(&r, s.ColumnText(2), s.ColumnInt64(3))
		}, env, r.ID)
	if err != nil {
		return 0, err
	}
	if have != r.Rev {
		return 0, inventory.ErrChanged(&r)
	}
	if err := putEvents(c, env, r.ID, change.Events, events); err != nil {
		return 0, err
	}
	if n := int64(len(change.Events)); n > 0 {
		if err := putPending(c, env, &r, events, events+n); err != nil {
			return 0, err
		}
	}
	identity, due := columnsOf(&r)
	if err := freeIdentity(c, env, &r, identity); err != nil {
		return 0, err
	}
	if terms, err = putTerms(c, env, &r, terms); err != nil {
		return 0, err
	}
	err = query(
		c,
		"INSERT OR REPLACE INTO instances (env, id, rev, service, state, identity, deleted, "+
			"closed, created, due, events, version, updated, name, sets, terms, body) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		nil,
		env,
		r.ID,
		have+1,
		r.Service,
		r.State,
		identity,
		r.Deleted,
		r.Closed,
		r.Created.UnixMicro(),
		due,
		events+int64(len(change.Events)),
		r.ServiceVersion,
		r.Updated.UnixMicro(),
		r.Identity,
		int(inventory.SetsOf(&r)),
		terms,
		[]byte(sealed(r, "instances", env, r.ID)),
	)
	if err != nil {
		return 0, err
	}
	return have + 1, query(c, "INSERT INTO instance_versions (env, id, version, body) "+
		"VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body "+
		"WHERE body <> excluded.body", nil, env, r.ID, r.Version, []byte(sealed(r.Was(),
		"instance_versions", env, r.ID, strconv.FormatInt(r.Version, 10))))
}

// columnsOf returns the search columns of an instance. A column is nil if the instance must not be
// found by it.
func columnsOf(r *inventory.Record) (identity, due any) {
	if r.Identity != "" && !r.Deleted {
		identity = r.Identity
	}
	if len(r.Tasks) > 0 {
		due = r.Due.UnixMicro()
	}
	return identity, due
}

// freeIdentity rejects an identity that another instance has.
func freeIdentity(c *sqlite.Conn, env string, r *inventory.Record, identity any) error {
	if identity == nil {
		return nil
	}
	other, err := one(c,
		"SELECT id FROM instances WHERE env = +? AND service = +? AND identity = +? AND id <> +?",
		text[string], env, r.Service, identity, r.ID)
	if err == nil && other != "" {
		return inventory.ErrTaken(r, other)
	}
	return err
}

// putReferences stores the references of an instance, and returns the numbers of added and removed
// references.
func putReferences(c *sqlite.Conn, env string, r *inventory.Record) (come, gone int, err error) {
	before, err := list(c, "SELECT target FROM instance_refs WHERE env = +? AND id = +?",
		text[string], env, r.ID)
	if err != nil {
		return 0, 0, err
	}
	for _, target := range r.Leads() {
		if at := slices.Index(before, target); at >= 0 {
			before = slices.Delete(before, at, at+1)
			continue
		}
		come++
		if err := query(c, "INSERT INTO instance_refs (env, target, id) VALUES (?, ?, ?)", nil,
			env, target, r.ID); err != nil {
			return 0, 0, err
		}
	}
	for _, target := range before {
		if err := query(c, "DELETE FROM instance_refs WHERE env = ? AND target = ? AND id = ?", nil,
			env, target, r.ID); err != nil {
			return 0, 0, err
		}
	}
	return come, len(before), nil
}

// checkReferences rejects a reference from the instance to a missing, deleted or closed instance.
// If the instance itself is closed or deleted, checkReferences rejects any reference to it.
func checkReferences(c *sqlite.Conn, env string, r *inventory.Record) error {
	const from = "SELECT r.target FROM instance_refs r LEFT JOIN instances i ON i.env = r.env AND " +
		"i.id = r.target WHERE r.env = +? AND r.id = +? AND (i.id IS NULL OR i.deleted OR " +
		"i.closed) LIMIT 1"
	wrong, err := one(c, from, text[string], env, r.ID)
	if err != nil {
		return err
	}
	if wrong != "" {
		return inventory.ErrLost(r, wrong)
	}
	if !r.Closed && !r.Deleted {
		return nil
	}
	wrong, err = one(c, "SELECT id FROM instance_refs WHERE env = +? AND target = +? ORDER BY id LIMIT 1",
		text[string], env, r.ID)
	if err == nil && wrong != "" {
		return inventory.ErrNeeded(r, wrong)
	}
	return err
}

const readInstances = "read instances"

// selectInstances selects the columns that storedInstance reads.
const selectInstances = "SELECT rev, body, env, id FROM instances "

func storedInstance(s *sqlite.Stmt) (inventory.Record, error) {
	var r inventory.Record
	err := unsealRow(s, 1, &r, "instances")
	r.Rev = s.ColumnInt64(0)
	return r, err
}

// unsealRow reads a sealed record from column at. The keys of the record follow in the next
// columns. Numbers keep their written form.
func unsealRow(s *sqlite.Stmt, at int, v any, table string) error {
	keys := make([]string, 0, s.ColumnCount()-at-1)
	for i := at + 1; i < s.ColumnCount(); i++ {
		keys = append(keys, s.ColumnText(i))
	}
	text, err := intact(string(columnBytes(s, at)), table, keys)
	if err != nil {
		return err
	}
	return instanceJSON([]byte(text), v)
}

// instanceJSON decodes JSON and keeps the written form of numbers.
func instanceJSON(body []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return &fault.Error{
			Kind: fault.Damaged, Op: "read instance", Err: err, Hint: damagedHint,
		}
	}
	return nil
}

// find reads the instances that match a condition.
func (n *Instances) find(
	ctx context.Context, where string, args ...any,
) ([]inventory.Record, error) {
	return readList(ctx, n.home, readInstances, selectInstances+where, storedInstance, args...)
}

// Instance implements inventory.Store.
func (n *Instances) Instance(ctx context.Context, env, id string) (inventory.Record, error) {
	found, err := n.find(ctx, "WHERE env = +? AND id = +?", env, id)
	if err != nil || len(found) > 0 {
		return first(found), err
	}
	return inventory.Record{}, fault.New(fault.NotFound, "read instance", "there is no instance %s", id)
}

// ByIdentity implements inventory.Store.
func (n *Instances) ByIdentity(
	ctx context.Context, env, service, identity string,
) (inventory.Record, error) {
	found, err := n.find(ctx, "WHERE env = +? AND service = +? AND identity = +?", env, service,
		identity)
	if err != nil || len(found) > 0 {
		return first(found), err
	}
	return inventory.Record{}, fault.New(fault.NotFound, "read instance",
		"there is no instance of %s with the identity %s", service, identity)
}

func first(all []inventory.Record) inventory.Record {
	if len(all) == 0 {
		return inventory.Record{}
	}
	return all[0]
}

// Owners implements inventory.Owners.
func (n *Instances) Owners(
	ctx context.Context, env string, ids []string,
) (live, gone []string, err error) {
	err = n.home.read(ctx, readInstances, func(c *sqlite.Conn) error {
		for _, id := range ids {
			if err := query(c, "SELECT deleted FROM instances WHERE env = ? AND id = ?",
				func(s *sqlite.Stmt) error {
					if s.ColumnBool(0) {
						gone = append(gone, id)
					} else {
						live = append(live, id)
					}
					return nil
				}, env, id); err != nil {
				return err
			}
		}
		return nil
	})
	return live, gone, err
}

// ReferredBy implements inventory.Store.
func (n *Instances) ReferredBy(ctx context.Context, env, id string) ([]string, error) {
	return readList(ctx, n.home, readInstances,
		"SELECT id FROM instance_refs WHERE env = +? AND target = +? ORDER BY id", text[string], env, id)
}

// Versions implements inventory.Store.
func (n *Instances) Versions(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Record, error) {
	return readList(ctx, n.home, readInstances, "SELECT body, env, id, version "+
		"FROM instance_versions WHERE env = +? AND id = +? AND version > +? ORDER BY version LIMIT ?",
		sealedRow[inventory.Record]("instance_versions"), env, id, after, inventory.Versions(limit))
}

// Due implements inventory.Store.
func (n *Instances) Due(
	ctx context.Context, env string, now time.Time, limit int,
) ([]inventory.Record, error) {
	return n.find(ctx, "WHERE env = +? AND due <= +? ORDER BY due, id LIMIT ?", env, now.UnixMicro(),
		inventory.Page(limit))
}
