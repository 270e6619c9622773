// Package dynamo keeps the engine's state in one DynamoDB table, with an object store for what is
// large. docs/design/aws-ports.md says how, and why.
package dynamo

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
)

// API is what State needs of DynamoDB; *dynamodb.Client has it.
type API interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Objects keeps what is too large for the table. Names are never used twice.
type Objects interface {
	Put(ctx context.Context, name string, data []byte) error
	// Get returns NotFound when there is no such object.
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes objects; absent ones are no error.
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

// State is deploy.State on a table that Table describes. It may be used by any number of goroutines
// and processes.
type State struct {
	Config
	pack   *packer
	limits limits

	mu      sync.Mutex
	tablets map[tabletKey]*tablet
	tick    int64
	docs    map[string][]byte // a few, by the name of the object
	// started is what was accepted of Next, of leases that this process holds.
	started map[tabletKey]started

	idleEpochs map[string]idleEpoch // by environment, see State.IdleEpoch
	version    lastVersion
}

var _ state.State = (*State)(nil)

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
	return &State{Config: c, pack: p, limits: c.Host.limits(), tablets: map[tabletKey]*tablet{}, docs: map[string][]byte{}, started: map[tabletKey]started{},
		idleEpochs: map[string]idleEpoch{}}, nil
}

// limits say when what is done otherwise. Tests make them small.
type limits struct {
	inline   int // bytes of a compressed delta that stands in a record: above, a PUT of an object is the cheaper one
	record   int // bytes of a record, where it can be kept so: one write unit, with its keys
	refs     int // pieces that a record may name before the newest are merged
	objects  int // that reading a tablet may take before the newest are merged
	released int // the same when its lease is given up: whoever reads it next may know nothing
	together int // tablets that are written in one transaction; commits over more are rolled forward
	ids      int // packed bytes of a list of ids that stands in a record
	forget   int // versions that are removed together with a commit; more are removed after it
	sources  int // tablets that rows move from to another in one transaction
}

// tabletKey names a tablet: the environment and the sort key of its record.
type tabletKey struct{ env, key string }

// tablet is what this process knows of a tablet: never newer than the table, often the same.
type tablet struct {
	mu    sync.Locker // held while the image is loaded
	rec   *record     // guarded by State.mu; nil: not known
	img   *image      // guarded by mu
	size  atomic.Int64
	touch int64
}

// known returns the record of a tablet as this process saw it last, or nil.
func (s *State) known(key tabletKey) *record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.tablets[key]; b != nil {
		return b.rec
	}
	return nil
}

// saw remembers a record, unless a later one is known.
func (s *State) saw(env string, r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.tabletLocked(tabletKey{env, r.key})
	if b.rec == nil || b.rec.seq <= r.seq {
		b.rec = r
	}
}

// forget makes the next use of a tablet read its record.
func (s *State) forget(key tabletKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.tablets[key]; b != nil {
		b.rec = nil
	}
}

func (s *State) tablet(key tabletKey) *tablet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tabletLocked(key)
}

func (s *State) tabletLocked(key tabletKey) *tablet {
	b := s.tablets[key]
	if b == nil {
		b = &tablet{mu: s.Host.Lock()}
		s.tablets[key] = b
	}
	s.tick++
	b.touch = s.tick
	return b
}

// shrink forgets the images that were not used for longest until the rest fits. Whoever uses one
// keeps it.
func (s *State) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		sum, oldest := int64(0), tabletKey{}
		var first *tablet
		for key, b := range s.tablets {
			sum += b.size.Load()
			if b.size.Load() > 0 && (first == nil || b.touch < first.touch) {
				first, oldest = b, key
			}
		}
		if sum <= int64(s.CacheBytes) || first == nil || first.touch == s.tick {
			return
		}
		delete(s.tablets, oldest)
	}
}

const (
	maxTries = 60
	maxPause = 100 * time.Millisecond
)

// errLost says that a conditional write lost against another, or that what was read is not of one
// moment: it has to be read again.
var errLost = fault.New(fault.Conflict, "write state", "somebody else was faster")

// contend calls f until it returns something else than errLost, with growing random pauses.
func (s *State) contend(ctx context.Context, f func() error) error {
	for try := range maxTries {
		err := f()
		if err != errLost { // it is never wrapped
			return err
		}
		if try > 0 {
			limit := min(time.Millisecond<<min(try, 10), maxPause)
			if err := s.Host.Sleep(ctx, s.pauseFor(limit)); err != nil {
				return err
			}
		}
	}
	return fault.New(fault.Unavailable, "state", "others changed it %d times meanwhile", maxTries)
}

func sleep(ctx context.Context, d time.Duration) error {
	err := platform.Clock{}.Sleep(ctx, d)
	return fault.Wrap(fault.KindOf(err), "write state", err)
}
