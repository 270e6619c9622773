package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// protocol is the version of the frames and of their contents. Two ends with different versions do
// not communicate.
const protocol = 4

// hello is the first frame of each end.
type hello struct {
	Protocol int               `cbor:"1,keyasint"`
	Version  string            `cbor:"2,keyasint,omitempty"`
	Types    map[string]string `cbor:"3,keyasint,omitempty"` // the digest of each type that the machine's end serves
	Facts    map[string]string `cbor:"4,keyasint,omitempty"`
	Beat     time.Duration     `cbor:"5,keyasint,omitempty"` // how often each end sends a sign of life; set by the engine
	Running  Running           `cbor:"6,keyasint,omitempty"` // the machine: its process; the engine: that of the connection before
}

// FactProgram is the fact that identifies the program on the machine, see platform.Build.
const FactProgram = "program"

// method is the called method.
type method string

const (
	callRead       method = "read"
	callCreate     method = "create"
	callUpdate     method = "update"
	callDelete     method = "delete"
	callReadBatch  method = "read_batch"
	callApplyBatch method = "apply_batch"
	callReload     method = "reload"
	callFacts      method = "facts"
	callFind       method = "find"
	callNoop       method = "noop"
	callDiff       method = "diff"
	callInSync     method = "in_sync" // the attribute and its values are the item's only change
	callFlush      method = "flush"
	callList       method = "list"
)

// maxItems is how many items a call may have.
const maxItems = 1 << 16

// call begins a call; its items follow, in order.
type call struct {
	ID     uint64 `cbor:"1,keyasint"`
	Method method `cbor:"2,keyasint"`
	Type   string `cbor:"3,keyasint"`
	Items  int    `cbor:"4,keyasint"`
	// Limit is how long the call may take; 0: not limited. The machine enforces the limit itself,
	// since a cancel may not arrive.
	Limit time.Duration `cbor:"5,keyasint,omitempty"`
}

// item is one resource of a call.
//
// Large: it is a handler's whole input for one resource, with a member for each option of its run.
type item struct {
	Call       uint64               `cbor:"1,keyasint"`
	ID         string               `cbor:"2,keyasint"`
	Agent      string               `cbor:"3,keyasint"`
	Attributes map[string]any       `cbor:"4,keyasint"`
	Purged     bool                 `cbor:"5,keyasint,omitempty"`
	DryRun     bool                 `cbor:"6,keyasint,omitempty"`
	Reload     bool                 `cbor:"7,keyasint,omitempty"`
	State      []byte               `cbor:"8,keyasint,omitempty"`
	Change     diff.Change          `cbor:"9,keyasint,omitempty"`
	Observed   *observed            `cbor:"10,keyasint,omitempty"`
	Changes    map[string]diff.Diff `cbor:"11,keyasint,omitempty"`
	Token      string               `cbor:"12,keyasint,omitempty"`
	Version    int                  `cbor:"13,keyasint,omitempty"`
	Known      map[string]string    `cbor:"14,keyasint,omitempty"`
	Provider   string               `cbor:"15,keyasint,omitempty"` // that a call before has chosen for the run
	Released   int                  `cbor:"16,keyasint,omitempty"`
	Kept       []byte               `cbor:"17,keyasint,omitempty"`
}

type observed struct {
	Exists     bool           `cbor:"1,keyasint,omitempty"`
	Attributes map[string]any `cbor:"2,keyasint,omitempty"`
	Mark       string         `cbor:"3,keyasint,omitempty"`
	// Carried is the number of the carried value, which stays at the machine; 0: there is none.
	Carried uint64 `cbor:"4,keyasint,omitempty"`

	carried any // the value at the machine; at the engine a carriedFar
}

// observedBy returns an observation in its form for the machine.
func observedBy(o provider.Observation) *observed {
	return &observed{Exists: o.Exists, Attributes: o.Attributes, carried: o.Carried}
}

func (o *observed) observation() provider.Observation {
	if o == nil {
		return provider.Observation{}
	}
	return provider.Observation{Exists: o.Exists, Attributes: o.Attributes, Mark: o.Mark,
		Carried: o.carried}
}

// cancel cancels a call.
type cancel struct {
	Call uint64 `cbor:"1,keyasint"`
}

// answer is the result for one item.
type answer struct {
	Call     uint64         `cbor:"1,keyasint"`
	Item     int            `cbor:"2,keyasint"`
	Observed *observed      `cbor:"3,keyasint,omitempty"`
	Again    *again         `cbor:"4,keyasint,omitempty"`
	Found    bool           `cbor:"5,keyasint,omitempty"`
	Facts    map[string]any `cbor:"6,keyasint,omitempty"`
	Err      *failure       `cbor:"7,keyasint,omitempty"`

	Changes map[string]diff.Diff `cbor:"8,keyasint,omitempty"`
	Verdict *verdict             `cbor:"9,keyasint,omitempty"`
}

type verdict struct {
	Sync provider.Sync `cbor:"1,keyasint"`
	Why  string        `cbor:"2,keyasint"`
}

// found is one existing thing, from a call that lists things.
type found struct {
	Call       uint64         `cbor:"1,keyasint"`
	Attributes map[string]any `cbor:"2,keyasint"`
}

type again struct {
	After time.Duration `cbor:"1,keyasint"`
	State []byte        `cbor:"2,keyasint"`
}

// done ends a call. Err is the error of the whole call, for example if the handler panicked.
type done struct {
	Call uint64   `cbor:"1,keyasint"`
	Err  *failure `cbor:"2,keyasint,omitempty"`
}

// logged is a log line of an item.
type logged struct {
	Call   uint64         `cbor:"1,keyasint"`
	Item   int            `cbor:"2,keyasint"`
	Level  provider.Level `cbor:"3,keyasint"`
	Msg    string         `cbor:"4,keyasint"`
	Kwargs map[string]any `cbor:"5,keyasint,omitempty"`
}

// named is a change, a fact or a secret (which has no name) of an item.
type named struct {
	Call uint64     `cbor:"1,keyasint"`
	Item int        `cbor:"2,keyasint"`
	Name string     `cbor:"3,keyasint,omitempty"`
	Text string     `cbor:"4,keyasint,omitempty"`
	Diff *diff.Diff `cbor:"5,keyasint,omitempty"`
	JSON bool       `cbor:"6,keyasint,omitempty"` // Text is the JSON of a fact that is no text
}

// fact returns the value of a fact. A machine that sends no JSON has sent a text.
func (n *named) fact() any {
	if n.JSON {
		if d, err := resource.ParseData([]byte(n.Text)); err == nil {
			return d.Value()
		}
	}
	return n.Text
}

// keep is the state that a handler keeps of an item's resource.
type keep struct {
	Call   uint64 `cbor:"1,keyasint"`
	Item   int    `cbor:"2,keyasint"`
	Stream uint64 `cbor:"3,keyasint"`
	State  []byte `cbor:"4,keyasint,omitempty"`
	// Outputs are the secret outputs that the handler keeps with the state.
	Outputs map[string]any `cbor:"5,keyasint,omitempty"`
}

// open requests the bytes of a file for an item.
type open struct {
	Call   uint64 `cbor:"1,keyasint"`
	Item   int    `cbor:"2,keyasint"`
	Stream uint64 `cbor:"3,keyasint"`
	Hash   string `cbor:"4,keyasint"`
}

// more requests another piece of a file or, with Close, ends the transfer.
type more struct {
	Stream uint64 `cbor:"1,keyasint"`
	Close  bool   `cbor:"2,keyasint,omitempty"`
}

// data is a piece of a file; the last has End, or Err.
type data struct {
	Stream uint64   `cbor:"1,keyasint"`
	Bytes  []byte   `cbor:"2,keyasint,omitempty"`
	End    bool     `cbor:"3,keyasint,omitempty"`
	Err    *failure `cbor:"4,keyasint,omitempty"`
}

// The tags of references in values. They are private to the two ends.
const (
	tagFile = 65200 + iota
	tagSecret
	tagParameter
	tagFact
	tagText
)

// codec encodes messages. Values keep their Go types; texts may hold any bytes, as the contents of
// files do.
type codec struct {
	enc cbor.EncMode
	dec cbor.DecMode
}

func newCodec() (*codec, error) {
	tags := cbor.NewTagSet()
	opts := cbor.TagOptions{EncTag: cbor.EncTagRequired, DecTag: cbor.DecTagRequired}
	for tag, v := range map[uint64]any{tagFile: resource.File{}, tagSecret: resource.Secret{},
		tagParameter: resource.Parameter{}, tagFact: resource.Fact{},
		tagText: resource.Text{}} {
		if err := tags.Add(opts, reflect.TypeOf(v), tag); err != nil {
			return nil, err
		}
	}
	enc, err := cbor.EncOptions{BigIntConvert: cbor.BigIntConvertNone,
		NaNConvert: cbor.NaNConvertNone, InfConvert: cbor.InfConvertNone}.EncModeWithTags(tags)
	if err != nil {
		return nil, err
	}
	dec, err := cbor.DecOptions{IntDec: cbor.IntDecConvertSignedOrBigInt,
		BigIntDec: cbor.BigIntDecodePointer, UTF8: cbor.UTF8DecodeInvalid,
		DefaultMapType: reflect.TypeFor[map[string]any](), MaxNestedLevels: resource.MaxDepth + 16,
		MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24,
		DupMapKey:   cbor.DupMapKeyEnforcedAPF,
		IndefLength: cbor.IndefLengthForbidden}.DecModeWithTags(tags)
	return &codec{enc, dec}, err
}

// codecs returns the shared codec, which is safe for concurrent use: creating one takes as long as
// many frames.
var codecs = sync.OnceValues(newCodec)

func marshal(v any) ([]byte, error) {
	c, err := codecs()
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "encode frame", err)
	}
	b, err := c.enc.Marshal(v)
	return b, fault.Wrap(fault.Invalid, "encode frame", err)
}

func unmarshal(b []byte, v any) error {
	c, err := codecs()
	if err != nil {
		return fault.Wrap(fault.Internal, "read frame", err)
	}
	return fault.Wrap(fault.Damaged, "read frame", c.dec.Unmarshal(b, v))
}

// digest distinguishes types of one name in two versions of the program.
func digest(t schema.Type) string {
	h := sha256.New()
	for _, a := range t.Attributes {
		// sensitivity also follows from the data type, but only after compilation
		fmt.Fprintf(h, "%q %q %q %v\n", a.Name, a.Type, a.Behaviour, a.Default)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
