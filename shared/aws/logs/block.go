package logs

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// Write stores committed actions and parameters in the log. It is idempotent: the same input
// overwrites the same items.
func (s *Store) Write(ctx context.Context, u *dynamo.Unlogged) error {
	// The horizon of the environment hides the actions after u.Keep. They may be removed a day
	// later.
	expires := s.Now().Add(u.Keep + 24*time.Hour)
	w := &writer{s: s, env: u.Env, expires: expires,
		day: expires.Add(24 * time.Hour).UTC().Format(dayFormat)}
	slices.SortFunc(u.Actions, func(a, b state.Action) int { return cmp.Compare(a.ID, b.ID) })
	raws := make([]json.RawMessage, len(u.Actions))
	for i := range u.Actions {
		var err error
		if raws[i], err = json.Marshal(&u.Actions[i]); err != nil {
			return fault.Wrap(fault.Internal, "encode action", err)
		}
	}
	for n, first := 0, 0; first < len(raws); n++ {
		end := s.cut(u.Actions, raws, first)
		w.name = blockName(u.Name, n, raws[first:end])
		if err := w.block(ctx, u.Actions[first:end], raws[first:end]); err != nil {
			return err
		}
		first = end
	}
	return w.parameters(ctx, u)
}

// blockName returns a name that depends on the changes, the part and the actions. Two processes
// that read the same changes may find more or fewer actions, depending on concurrent commits and
// removals. They must not overwrite each other's blocks.
func blockName(of string, n int, actions []json.RawMessage) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %d %s", n, len(of), of)
	for _, a := range actions {
		_, _ = fmt.Fprintf(h, " %d ", len(a))
		_, _ = h.Write(a)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// cut returns the end of the block that begins at first.
func (s *Store) cut(actions []state.Action, raws []json.RawMessage, first int) int {
	size := len(raws[first])
	begun, timed := idTime(actions[first].ID)
	end := first + 1
	for ; end < len(raws) && end-first < s.limits.block; end++ {
		at, ok := idTime(actions[end].ID)
		if size += len(raws[end]); size > s.limits.bytes || ok != timed || at.Sub(begun) > span {
			break
		}
	}
	return end
}

// writer writes the blocks of one Unlogged.
type writer struct {
	s       *Store
	env     string
	name    string // of the block
	expires time.Time
	day     string // day from which no item names the block's object
}

// portion holds the actions of a block that one item covers.
type portion struct {
	part    string
	actions []state.Action
	raws    []json.RawMessage
	group   bool
}

// block stores actions: an object if they are large, an item for the block, and an item for each
// resource or group of resources.
func (w *writer) block(ctx context.Context, actions []state.Action, raws []json.RawMessage) error {
	all := w.header(timePart(w.env), actions)
	portions := w.portions(actions, raws)
	inline := !portions[0].group && len(raws) <= w.s.limits.few
	if inline {
		all.data = w.s.pack(raws)
		inline = len(all.data) <= w.s.limits.inline
	}
	object := ""
	var body []byte
	if !inline {
		object = objectFolder(w.env) + w.day + "/" + w.name
		all.data, all.object = nil, object
	}
	items := []item{}
	for _, p := range portions {
		h := w.header(p.part, p.actions)
		if p.group {
			h.resources = marks(p.actions)
		}
		h.data, h.agents = w.s.pack(p.raws), nil
		if !inline {
			h.object, h.offset, h.size = object, len(body), len(h.data)
			body = append(body, h.data...)
		}
		items = append(items, h.item())
	}
	if !inline {
		if err := w.s.Objects.Put(ctx, object, body); err != nil {
			return err
		}
	}
	return w.s.put(ctx, append(items, all.item()))
}

func (w *writer) header(part string, actions []state.Action) header {
	h := describe(actions)
	h.part, h.sort, h.expires = part, sorted(actions[len(actions)-1].ID, w.name), w.expires.Unix()
	return h
}

// portions divides the actions of a block by resource, or by group if there are many resources. The
// order of the portions is deterministic.
func (w *writer) portions(actions []state.Action, raws []json.RawMessage) []portion {
	by := map[string]*portion{}
	add := func(part string, i int, group bool) {
		p := by[part]
		if p == nil {
			p = &portion{part: part, group: group}
			by[part] = p
		}
		p.actions, p.raws = append(p.actions, actions[i]), append(p.raws, raws[i])
	}
	for i := range actions {
		if add(resourcePart(w.env, actions[i].Resource), i, false); len(by) > w.s.limits.few {
			break
		}
	}
	if len(by) > w.s.limits.few {
		clear(by)
		for i := range actions {
			add(groupPart(w.env, groupOf(actions[i].Resource)), i, true)
		}
	}
	var out []portion
	for _, part := range slices.Sorted(maps.Keys(by)) {
		p := by[part]
		for n := w.s.limits.part; !p.group && len(p.raws) > n; p.actions, p.raws = p.actions[n:],
			p.raws[n:] {
			out = append(out, portion{part: part, actions: p.actions[:n], raws: p.raws[:n]})
		}
		out = append(out, *p)
	}
	return out
}

// pack compresses a list of JSON values.
func (s *Store) pack(raws []json.RawMessage) []byte {
	b := []byte{'['}
	for i, raw := range raws {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return s.packer.Pack(append(b, ']'))
}

// unpack decodes packed lists, one or several concatenated, and calls f for each value.
func unpack[T any](s *Store, packed []byte, f func(v *T)) error {
	raw, err := s.packer.Unpack(packed)
	if err != nil {
		return damaged("a block does not decompress: %v", err)
	}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var list []T
		switch err := d.Decode(&list); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged("a block does not decode: %v", err)
		}
		for i := range list {
			f(&list[i])
		}
	}
}

func damaged(format string, args ...any) error {
	return fault.New(fault.Damaged, "read log", format, args...).
		WithHint("the table or the bucket was changed by something else; restore both to one " +
			"point in time")
}

// put writes items. Existing items are overwritten.
func (s *Store) put(ctx context.Context, items []item) error {
	const limit, tries = 25, 8
	for len(items) > 0 {
		n := min(limit, len(items))
		var reqs []types.WriteRequest
		for _, i := range items[:n] {
			reqs = append(reqs, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
		}
		items = items[n:]
		for try := 0; len(reqs) > 0; try++ {
			if try > tries {
				return fault.New(fault.Unavailable, "write log",
					"DynamoDB left requests unprocessed %d times", try)
			}
			if err := pause(ctx, try); err != nil {
				return err
			}
			out, err := s.API.BatchWriteItem(ctx,
				&dynamodb.BatchWriteItemInput{
					RequestItems: map[string][]types.WriteRequest{s.Table: reqs}})
			if err != nil {
				return awserr.Fault("write log", err)
			}
			if left := out.UnprocessedItems[s.Table]; len(left) < len(reqs) {
				reqs, try = left, -1
			}
		}
	}
	return nil
}

// pause waits before another try, longer after each.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return nil
	}
	err := platform.Clock{}.Sleep(ctx, 5*time.Millisecond<<try)
	return fault.Wrap(fault.KindOf(err), "write log", err)
}
