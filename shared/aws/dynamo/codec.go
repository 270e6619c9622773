package dynamo

import (
	"bytes"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/aws/pack"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// enc encodes stored values, and dec decodes them. Their methods for a type are next to that type.
type (
	enc struct{ binform.Writer }
	dec struct{ binform.Reader }
)

func decode(b []byte) *dec { return &dec{binform.Reader{B: b}} }

// row encodes a row without its lane, which is the tablet's. If intent is false, it also omits
// version, hash and body.
func (e *enc) row(r *state.Row, intent bool) {
	e.Text(string(r.ID))
	rowcodec.Write(&e.Writer, r, intent)
}

func (d *dec) row() rowcodec.Stored {
	r := rowcodec.Stored{}
	r.ID = resource.ID(d.Text())
	rowcodec.Read(&d.Reader, &r)
	return r
}

func (e *enc) ids(ids []resource.ID) { binform.WriteTexts(&e.Writer, ids) }

func (d *dec) ids() []resource.ID { return binform.ReadTexts[resource.ID](&d.Reader) }

// packer compresses; a plain packer copies.
type packer struct{ *pack.Packer }

const dictID = 1

var packs = pack.Once(dictID, dictionary)

func newPacker(plain bool) (*packer, error) {
	if plain {
		return &packer{}, nil
	}
	p, err := packs()
	return &packer{p}, err
}

func (p *packer) pack(b []byte) []byte {
	if p.Packer == nil {
		return bytes.Clone(b)
	}
	return p.Pack(b)
}

func (p *packer) unpack(b []byte) ([]byte, error) {
	if p.Packer == nil {
		return b, nil
	}
	out, err := p.Unpack(b)
	if err != nil {
		return nil, damaged("a stored piece does not decompress: %v", err)
	}
	return out, nil
}

func damaged(format string, args ...any) error {
	return fault.New(fault.Damaged, "read state", format, args...).
		WithHint("the table or the bucket was changed by something else; " +
			"restore both to one point in time")
}

// dictionary contains text that most small deltas contain. It is part of the format.
const dictionary = `{"requires":["fs::Directory[,path=/srv/"],"send_event":true,"receive_events":true,"purged":true,"purge_on_delete":true,"report_only":true` +
	`{"id":"std::Null[a,name=","type":"std::Null","agent":"a","attributes":{"name":"` +
	`{"id":"fs::File[web1,path=/srv/","type":"fs::File","agent":"web1","attributes":{"content":{"file":"","size":},"mode":"0644","owner":"root","group":"root","path":"/` +
	`requires , which is not deployed` + "\x00" + `the handler did not answer within ` +
	`"messages":[{"at":"2026-01-01T00:00:00.000000000Z","level":"debug","msg":"","kwargs":{"":""}},{"at":"2026-01-01T00:00:00.000000000Z","level":"info","msg":"` +
	`"changes":{"":{"current":"","desired":""},"mode":{"current":null,"desired":"0644"}},"messages":[{"at":"","level":"error","msg":""}],"reason":"","stale":true,` +
	`[{"id":"","resource":"","version":1,"action":"repair","outcome":"failed","change":"updated","started":"","finished":"","pack":"` +
	`","version":1,"action":"deploy","outcome":"deployed","change":"created","started":"2026-` +
	`","finished":"2026-` + `","pack":"`
