package dynamo

import (
	"encoding/json"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/pack"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/internal/cborform"
	"southbound/shared/resource"
)

type packer = pack.Packer

const dictID = 1

var packs = pack.Once(dictID, dictionary)

// body returns the content of an item, decompressed.
func (s *store) body(i item) ([]byte, error) {
	out, err := s.packer.Unpack(attributevalue.BytesOf(i, attrBody))
	if err != nil {
		return nil, damaged("%s does not decompress: %v", keyOf(i).sort, err)
	}
	return out, nil
}

// setBody sets the content of an item.
func (s *store) setBody(i item, b []byte) item {
	i[attrBody] = attributevalue.Blob(s.packer.Pack(b))
	return i
}

// setJSON sets the content of an item to a value.
func (s *store) setJSON(i item, v any) (item, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "encode state", err)
	}
	return s.setBody(i, raw), nil
}

// readAll decodes the contents of items.
func readAll[T any](s *store, items []item) ([]T, error) {
	out := make([]T, len(items))
	for n, i := range items {
		if err := s.readJSON(i, &out[n]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// readJSON decodes the content of an item. Without an item it leaves the value as it is.
func (s *store) readJSON(i item, v any) error {
	if i == nil {
		return nil
	}
	raw, err := s.body(i)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return damaged("%s does not decode: %v", keyOf(i).sort, err)
	}
	return nil
}

// rowItem returns the item of a row. The revision of the row is its number.
func (s *store) rowItem(env string, r *state.Row) item {
	k := rowKey(env, r.ID)
	w := &binform.Writer{}
	w.Text(r.Agent)
	if k.sort == string(r.ID) {
		w.Text("")
	} else {
		w.Text(string(r.ID))
	}
	w.Bytes(r.Body)
	w.Bytes(cborform.Encode(r))
	i := s.setBody(k.item(), w.B)
	i[attrSeq] = attributevalue.Number(r.Rev)
	return i
}

// row decodes the item of a row; nil: there is none.
func (s *store) row(i item) (*state.Row, error) {
	if i == nil {
		return nil, nil
	}
	raw, err := s.body(i)
	if err != nil {
		return nil, err
	}
	d := &binform.Reader{B: raw}
	r := &state.Row{}
	r.Agent, r.ID, r.Body = d.Text(), resource.ID(d.Text()), d.Bytes()
	if r.ID == "" {
		r.ID = resource.ID(keyOf(i).sort)
	}
	if cborform.Decode(d.Bytes(), r) != nil || !d.Done() {
		return nil, damaged("the row of %s does not decode", r.ID)
	}
	r.Rev = seqOf(i)
	return r, nil
}

func damaged(format string, args ...any) error {
	return fault.New(fault.Damaged, "read state", format, args...).
		WithHint("the table was changed by something else; restore it to a point in time")
}

// dictionary contains text that most values contain. It is part of the format.
const dictionary = `{"requires":["fs::Directory[,path=/srv/"],"send_event":true,"receive_events":true,"purged":true,"purge_on_delete":true,"report_only":true` +
	`{"id":"std::Null[a,name=","type":"std::Null","agent":"a","attributes":{"name":"` +
	`{"id":"fs::File[web1,path=/srv/","type":"fs::File","agent":"web1","attributes":{"content":{"file":"","size":},"mode":"0644","owner":"root","group":"root","path":"/` +
	`requires , which is not deployed` + "\x00" + `the handler did not answer within ` +
	`"messages":[{"at":"2026-01-01T00:00:00.000000000Z","level":"debug","msg":"","kwargs":{"":""}},{"at":"2026-01-01T00:00:00.000000000Z","level":"info","msg":"` +
	`"changes":{"":{"current":"","desired":""},"mode":{"current":null,"desired":"0644"}},"messages":[{"at":"","level":"error","msg":""}],"reason":"","stale":true,` +
	`[{"id":"","resource":"","version":1,"action":"repair","outcome":"failed","change":"updated","started":"","finished":"","pack":"` +
	`","version":1,"action":"deploy","outcome":"deployed","change":"created","started":"2026-` +
	`","finished":"2026-` + `","pack":"`
