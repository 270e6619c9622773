// Package dynamo stores the engine's state in one DynamoDB table. docs/design/aws-store.md explains
// the design.
//
// Each record is an item. A commit is a transaction, or a series of transactions, its pages. State
// consists of layers:
//
//	environments leases rows versions actions keeps feed   implement the methods of the ports
//	store        reads and writes heads, leases and values of any size
//	items        calls DynamoDB; jobs uses only this layer
package dynamo

import (
	"context"
	"sync"
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

// Config defines where the state is stored.
type Config struct {
	API   API
	Table string
	// Log holds actions that were committed some time ago. If it is nil, actions stay where they
	// were committed, and a query reads all of them.
	Log Log
	// Waits, if not nil, reports whether work outside the state waits in an environment. Such an
	// environment is not marked as quiet. See State.Wake.
	Waits func(ctx context.Context, env string) (bool, error)
	// Host replaces functions of the machine.
	Host Host
}

// State implements state.State on a table as Table describes it. Any number of goroutines and
// processes may use it. The comment of the package describes its layers.
type State struct {
	*store
	*environments
	*leases
	*rows
	*versions
	*actions
	*keeps
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
	p, err := packs()
	if err != nil {
		return nil, err
	}
	c.Host.complete()
	table := &items{api: c.API, table: c.Table, host: c.Host}
	s := &store{items: table, packer: p, limits: *c.Host.Limits, idleEpochs: map[string]idleEpoch{},
		live: liveIndex{agents: map[leaseKey][]indexed{}}}
	kept := &keeps{s}
	env := &environments{store: s, waits: c.Waits, log: c.Log}
	return &State{
		store:        s,
		environments: env,
		leases:       &leases{store: s, accepted: map[leaseKey]acceptance{}},
		rows:         &rows{s},
		versions:     &versions{s},
		actions:      &actions{store: s, log: c.Log},
		keeps:        kept,
		jobs:         &jobs{table},
		feed:         &feed{s},
	}, nil
}

// Host holds the functions and limits that State takes from its machine. A nil value is replaced by
// the machine's own.
type Host struct {
	// Sleep waits for d or until ctx is done.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now returns the time, for the removal of parameters.
	Now func() time.Time
	// Random returns a random number that is unique in practice.
	Random func() uint64
	// Limits replace the limits of a home.
	Limits *Limits
}

// Limits are the thresholds of the storage. Tests use small limits.
type Limits struct {
	Page  int // items that one transaction writes because of the rows and lists of a commit
	Bytes int // of the values in one transaction, approximately
	Value int // bytes of a value in its item; a larger value is stored in items of its own
}

// homeLimits are the limits of a home. DynamoDB accepts 100 items and 4 MB in a transaction, and
// 400 KB in an item.
func homeLimits() *Limits { return &Limits{Page: 90, Bytes: 5 << 19, Value: 300 << 10} }

// complete replaces nil values by the machine's own.
func (h *Host) complete() {
	if h.Sleep == nil {
		h.Sleep = sleep
	}
	if h.Now == nil {
		h.Now = time.Now
	}
	if h.Random == nil {
		h.Random = secret
	}
	if h.Limits == nil {
		h.Limits = homeLimits()
	}
}

// store reads and writes heads, leases and values of any size.
//
// Large: all other layers use its methods, which encode, read or write one kind of item each.
type store struct {
	*items
	packer *packer
	limits Limits

	live       liveIndex
	mu         sync.Mutex
	idleEpochs map[string]idleEpoch // by environment, see State.IdleEpoch; guarded by mu
}
