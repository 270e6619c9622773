package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// A kept state is an item: the id and the revision are attributes, the sealed state is the body, or
// an object if it is large. It is written in the transaction of its commit.
const (
	attrKept     = "i" // the id of the resource
	attrRevision = "r"
	attrOutputs  = "o" // the revision of the secret outputs; absent: there are none
)

// maxKeptPuts is how many kept states one transaction writes or removes.
const maxKeptPuts = 40

func keptPart(env string, shard uint32) string { return fmt.Sprintf("K%d/%s", shard, env) }

// keptKey returns the key of the kept state of a resource. The sort key is a hash, since ids may be
// longer than sort keys.
func keptKey(env string, id resource.ID) item {
	sum := sha256.Sum256([]byte(id))
	return keyItem(keptPart(env, shardOf(string(id))), hex.EncodeToString(sum[:]))
}

// Kept implements state.Keeps.
func (s *State) Kept(ctx context.Context, env string, ids []resource.ID) ([]state.Kept, error) {
	var out []state.Kept
	err := s.reread(ctx, func() (docs []entry, err error) {
		out, docs, err = s.keptOf(ctx, env, ids)
		return docs, err
	})
	return out, err
}

// keptOf reads kept states. It also returns the entries of all documents.
func (s *State) keptOf(
	ctx context.Context, env string, ids []resource.ID,
) ([]state.Kept, []entry, error) {
	items, docs, err := s.keptItems(ctx, env, ids)
	if err == nil {
		err = s.fetch(ctx, docs)
	}
	if err != nil {
		return nil, docs, err
	}
	var out []state.Kept
	for n, i := range items {
		k := state.Kept{ID: resource.ID(attributevalue.TextOf(i, attrKept)),
			Revision: attributevalue.TextOf(i, attrRevision),
			Outputs:  attributevalue.TextOf(i, attrOutputs)}
		if k.Sealed, err = s.pack.unpack(docs[n].data); err != nil {
			return nil, docs, err
		}
		out = append(out, k)
	}
	return out, docs, nil
}

// keptItems reads the items of kept states, and the entries of their documents.
func (s *State) keptItems(
	ctx context.Context, env string, ids []resource.ID,
) ([]item, []entry, error) {
	keys := make([]item, 0, len(ids))
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		keys = append(keys, keptKey(env, id))
	}
	if len(keys) == 0 {
		return nil, nil, nil
	}
	items, err := s.getMany(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	docs := make([]entry, len(items))
	for n := range items {
		if docs[n], err = documentIn(items[n]); err != nil {
			return nil, nil, err
		}
	}
	return items, docs, nil
}

// KeptOutputs implements state.Keeps.
func (s *State) KeptOutputs(
	ctx context.Context, env string, ids []resource.ID,
) (map[resource.ID]string, error) {
	items, _, err := s.keptItems(ctx, env, ids)
	out := map[resource.ID]string{}
	for _, i := range items {
		if revision := attributevalue.TextOf(i, attrOutputs); revision != "" {
			out[resource.ID(attributevalue.TextOf(i, attrKept))] = revision
		}
	}
	return out, err
}

// KeptIDs implements state.Keeps.
func (s *State) KeptIDs(ctx context.Context, env string) ([]resource.ID, error) {
	var out []resource.ID
	err := s.eachKept(ctx, env, func(i item) (bool, error) {
		out = append(out, resource.ID(attributevalue.TextOf(i, attrKept)))
		return true, nil
	})
	slices.Sort(out)
	return out, err
}

// eachKept calls f for the items of all kept states of an environment.
func (s *State) eachKept(ctx context.Context, env string, f func(i item) (bool, error)) error {
	for shard := range uint32(shards) {
		if err := s.query(ctx, partition(keptPart(env, shard), "", true), f); err != nil {
			return err
		}
	}
	return nil
}

// keepFirst writes the kept states of a commit that has too many of them for one transaction,
// except the last ones. Each write is made under the guard, and leaves the running rows as they are.
func (s *State) keepFirst(ctx context.Context, env string, in *state.Commit) error {
	for len(in.Keep)+len(in.DropKept) > maxKeptPuts {
		part := state.Commit{Guard: in.Guard, SeenPlan: -1, Next: in.Next}
		if len(part.Next) == 0 {
			for i := range in.Rows {
				part.Next = append(part.Next, in.Rows[i].ID)
			}
		}
		n := min(len(in.DropKept), maxKeptPuts)
		part.DropKept, in.DropKept = in.DropKept[:n], in.DropKept[n:]
		n = min(len(in.Keep), maxKeptPuts-n)
		part.Keep, in.Keep = in.Keep[:n], in.Keep[n:]
		if _, err := s.commit(ctx, env, part); err != nil {
			return err
		}
	}
	return nil
}

// keptPuts are the writes of kept states in one commit, which are prepared once.
type keptPuts struct {
	puts []put
	old  []entry // documents that are replaced or removed
}

// newKeptPuts stores the large states of a commit as objects. They are orphans until the commit is
// written.
func (s *State) newKeptPuts(
	ctx context.Context, env string, in *state.Commit,
) (keptPuts, error) {
	var out keptPuts
	written := map[resource.ID]bool{}
	for i := range in.Keep {
		k := &in.Keep[i]
		doc, err := s.documentOf(ctx, k.Sealed)
		if err != nil {
			return out, err
		}
		put := put{item: keptKey(env, k.ID), always: true}
		put.item[attrKept] = attributevalue.Text(string(k.ID))
		put.item[attrRevision] = attributevalue.Text(k.Revision)
		if k.Outputs != "" {
			put.item[attrOutputs] = attributevalue.Text(k.Outputs)
		}
		put.item[attrBody] = attributevalue.Blob(doc.encode())
		out.puts = append(out.puts, put)
		written[k.ID] = true
	}
	if len(in.Keep)+len(in.DropKept) == 0 {
		return out, nil
	}
	stored, old, err := s.keptItems(ctx, env, slices.Concat(in.DropKept, slices.Collect(maps.Keys(written))))
	if err != nil {
		return out, err
	}
	out.old = old
	for _, i := range stored {
		if !written[resource.ID(attributevalue.TextOf(i, attrKept))] {
			out.puts = append(out.puts, put{part: attributevalue.TextOf(i, attrPart),
				sort: attributevalue.TextOf(i, attrSort), remove: true})
		}
	}
	return out, nil
}

// keep adds the writes of kept states to the transaction of a commit.
func (d *draft) keep(context.Context) error {
	d.more = append(d.more, d.kept.puts...)
	d.objects = append(d.objects, d.kept.old...)
	return nil
}
