// Package dynamo stores the engine's state in one DynamoDB table, and large values in an object
// store. docs/design/aws-ports.md explains the design.
//
// State consists of layers. Each layer uses only the layers below it:
//
//	environments rows leases versions actions feed   implement the methods of the ports
//	reader       reads heads and records, after it finishes a pending roll-forward
//	forwarder    applies such a commit to its tablets
//	compactor    merges the pieces of a tablet, and retains pieces that are not logged yet
//	writer       writes edits of tablets, on the condition that they are unchanged
//	tablets      reads tablets, and caches them
//	storage      packs stored values, and puts large values into objects
//	items        calls DynamoDB; jobs uses only this layer
//
// A commit uses all of them. It reads its input (view), decides its writes (draft), and writes them
// in one transaction. The transaction contains the records of its tablets, each with the change as
// a delta, the head if it changes, and other items. If a record has changed since it was read,
// DynamoDB rejects the transaction, and the commit is prepared again.
//
// A commit over too many tablets is written as a note beside the records (forward), together with
// its guard and the head. Then each tablet is written separately. If this process ends, the next
// process that reads the environment continues.
package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// API is the part of DynamoDB's API that State uses. *dynamodb.Client implements it.
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

// Objects stores values that are too large for the table. Names are unique.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	// Get returns a fault.NotFound if the object does not exist.
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes objects. An absent object is not an error.
	Delete(ctx context.Context, names ...string) error
	// List calls f for every object, until f returns an error.
	List(ctx context.Context, f func(name string, stored time.Time) error) error
}

// Config defines where the state is stored.
type Config struct {
	API     API
	Table   string
	Objects Objects
	// Log holds actions that were committed some time ago. If it is nil, actions stay with their
	// lanes, and a query reads all of them.
	Log Log
	// Waits, if not nil, reports whether work outside the state waits in an environment. Such an
	// environment is not marked as quiet. See State.Wake.
	Waits func(ctx context.Context, env string) (bool, error)
	// CacheBytes limits the memory for cached tablets, approximately; 0: 128 MB.
	CacheBytes int
	// Host replaces functions of the machine.
	Host Host
}

const defaultCache = 128 << 20

// State implements state.State on a table as Table describes it. Any number of goroutines and
// processes may use it. The comment of the package describes its layers.
type State struct {
	*reader
	*environments
	*leases
	*versions
	*actions
	*jobs
	*feed
}

var (
	_ state.State       = (*State)(nil)
	_ state.Jobs        = (*State)(nil)
	_ state.AuditLog    = (*State)(nil)
	_ state.Feed        = (*State)(nil)
	_ state.Looker      = (*State)(nil)
	_ state.Tallier     = (*State)(nil)
	_ state.RowFinder   = (*State)(nil)
	_ deploy.Overviewer = (*State)(nil)
)

// New returns the state in a table. The table has to exist.
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
		feed:         &feed{reader: r},
	}, nil
}

// limits are the thresholds of the storage. Tests use small limits.
type limits struct {
	inline   int // bytes of a packed delta in a record; above, a PUT of an object is cheaper
	record   int // target bytes of a record: one write unit, with its keys
	refs     int // pieces that a record names before the newest are merged
	objects  int // objects of a tablet before the newest pieces are merged
	released int // objects when the lease is released: the next reader may have no cache
	// tablets that one transaction writes; larger commits are rolled forward
	together int
	ids      int // packed bytes of a list of ids inside a record
	forget   int // versions removed together with a commit; more are removed after it
	sources  int // tablets from which rows move in one transaction
}

const (
	maxTries = 60
	maxPause = 100 * time.Millisecond
)
