// Package dynamo keeps the engine's state in one DynamoDB table, with an object store for what is
// large. docs/design/aws-ports.md says how, and why.
//
// State is put together of layers. Each uses those below it, and none above:
//
//	environments rows leases versions actions   answer the methods of the ports
//	reader       reads heads and records, after finishing a commit that is being rolled forward
//	forwarder    has tablets do their parts of such a commit
//	compactor    merges the pieces of a tablet, and keeps those that the log does not have yet
//	writer       writes edits of tablets, on the condition that nobody else has changed them
//	tablets      reads tablets, and keeps them in memory
//	storage      packs what is stored, and puts what is large into objects
//	items        calls DynamoDB; jobs need no more than that
//
// A commit goes through all of them. It reads what it needs (view), decides what is to be written
// (draft), and writes it in one transaction: the records of its tablets, each with the change as a
// delta, the head when something of it changes, and items beside them. If a record has changed
// meanwhile, the write is refused, and the commit is prepared anew. A commit over too many tablets
// is written as a note beside the records (forward), together with its guard and the head; then
// each tablet does its part, by whoever reads the environment next, if this process ends.
package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// API is what State needs of DynamoDB; *dynamodb.Client has it.
type API interface {
	GetItem(
		ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.GetItemOutput, error)
	PutItem(
		ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.PutItemOutput, error)
	Query(
		ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.QueryOutput, error)
	BatchGetItem(
		ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(
		ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(
		ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Objects keeps what is too large for the table. Names are never used twice.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	// Get returns NotFound when there is no such object.
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes objects; absent ones are not an error.
	Delete(ctx context.Context, names ...string) error
	// List calls f for every object, until f returns an error.
	List(ctx context.Context, f func(name string, stored time.Time) error) error
}

// Config says where the state is.
type Config struct {
	API     API
	Table   string
	Objects Objects
	// Log is where actions are found that were committed a while ago; nil: they stay with their
	// lanes, and a query reads all of them.
	Log Log
	// Waits, when not nil, reports whether something else than the state holds waits in an
	// environment, which does not rest then. See State.Wake.
	Waits func(ctx context.Context, env string) (bool, error)
	// CacheBytes bounds what is kept of tablets in memory, about; 0: 128 MB.
	CacheBytes int
	// Host replaces the machine.
	Host Host
}

const defaultCache = 128 << 20

// State is state.State on a table that Table describes. It may be used by any number of goroutines
// and processes. It is put together of parts that stand upon each other; the package's comment says
// how.
type State struct {
	*reader
	*environments
	*leases
	*versions
	*actions
	*jobs
}

var (
	_ state.State       = (*State)(nil)
	_ state.Jobs        = (*State)(nil)
	_ state.Looker      = (*State)(nil)
	_ deploy.Overviewer = (*State)(nil)
)

// New returns the state in a table that exists.
func New(c Config) (*State, error) {
	p, err := newPacker(c.Host.Plain)
	if err != nil {
		return nil, err
	}
	c.Host.complete()
	if c.CacheBytes <= 0 {
		c.CacheBytes = defaultCache
	}
	table := &items{api: c.API, table: c.Table, host: c.Host}
	kept := &storage{items: table, objects: c.Objects, pack: p, limits: c.Host.limits()}
	cache := &tablets{storage: kept, cacheBytes: c.CacheBytes, cached: map[tabletKey]*tablet{},
		heads: map[string]*head{}}
	merging := &compactor{writer: &writer{cache}, log: c.Log}
	r := &reader{forwarder: &forwarder{merging}, idleEpochs: map[string]idleEpoch{}}
	return &State{
		reader:       r,
		environments: &environments{reader: r, waits: c.Waits},
		leases:       &leases{rows: &rows{r}, started: map[tabletKey]started{}},
		versions:     &versions{reader: r, docs: map[string][]byte{}},
		actions:      &actions{r},
		jobs:         &jobs{table},
	}, nil
}

// limits say when what is done otherwise. Tests make them small.
type limits struct {
	inline   int // bytes of a packed delta in a record: above, a PUT of an object is cheaper
	record   int // bytes of a record, where it can be kept so: one write unit, with its keys
	refs     int // pieces that a record may name before the newest are merged
	objects  int // that reading a tablet may take before the newest are merged
	released int // the same when its lease is given up: whoever reads it next may know nothing
	// tablets that are written in one transaction; commits over more are rolled forward
	together int
	ids      int // packed bytes of a list of ids that stands in a record
	forget   int // versions that are removed together with a commit; more are removed after it
	sources  int // tablets that rows move from to another in one transaction
}

const (
	maxTries = 60
	maxPause = 100 * time.Millisecond
)
