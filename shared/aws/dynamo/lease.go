package dynamo

import (
	"bytes"
	"context"
	"sync"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// The attributes of a lease, besides its content.
const (
	attrParams     = "q" // number of commits under the lease that wrote parameters
	attrLists      = "u" // the lists of running resources
	attrListsWide  = "uw"
	attrListsCount = "uc"
)

// maxLists is the size in bytes of lists of running resources in the item of a lease. Larger ones
// are stored in parts, which stay while the lists do.
const maxLists = 4 << 10

// lease is the content of the item of a lease. Only its holder writes it, and a process that takes
// it over.
type lease struct {
	key     string
	seq     int64 // number of writes; 0: there is no item
	old     item  // as it was read, or nil
	holder  string
	fence   int64
	until   time.Time
	wave    int64         // last wave in which all rows of the agent were checked
	running []resource.ID // that the holder may run
	// before are the resources that were running before, while it may be unknown whether running
	// was accepted.
	before []resource.ID
	params int64 // number of commits that wrote parameters
	// tally is the sum of the changes of counters that were written under this lease.
	tally tally
}

func (s *store) leaseOf(key string, i item) (*lease, error) {
	l := &lease{key: key, seq: seqOf(i), old: i, tally: tally{},
		params: attributevalue.NumberOf(i, attrParams)}
	if i == nil {
		return l, nil
	}
	raw, err := s.body(i)
	if err != nil {
		return nil, err
	}
	d := &binform.Reader{B: raw}
	l.holder, l.fence, l.until, l.wave = d.Text(), d.Int(), d.Time(), d.Int()
	if l.tally.read(d); !d.Done() {
		return nil, damaged("the lease of %s does not decode", key)
	}
	lists := attributevalue.BytesOf(i, attrLists)
	if lists == nil {
		return l, nil
	}
	if raw, err = s.packer.Unpack(lists); err != nil {
		return nil, damaged("the lists of %s do not decompress: %v", key, err)
	}
	d = &binform.Reader{B: raw}
	l.running = binform.ReadTexts[resource.ID](d)
	if l.before = binform.ReadTexts[resource.ID](d); !d.Done() {
		return nil, damaged("the lists of %s do not decode", key)
	}
	return l, nil
}

func (s *store) readLease(ctx context.Context, env, key string) (*lease, error) {
	if key == "" {
		return &lease{}, nil // no process has it
	}
	got, err := s.get(ctx, leaseKeyOf(env, key))
	if err != nil {
		return nil, err
	}
	return s.leaseOf(key, got[leaseKeyOf(env, key)])
}

// put returns the writes of a lease, on the condition that the stored one is the one that was read.
func (l *lease) put(s *store, env string) []op {
	w := &binform.Writer{}
	w.Text(l.holder)
	w.Int(l.fence)
	w.Time(l.until)
	w.Int(l.wave)
	l.tally.write(w)
	k := leaseKeyOf(env, l.key)
	i := s.setBody(k.item(), w.B)
	if l.params > 0 {
		i[attrParams] = attributevalue.Number(l.params)
	}
	l.putLists(s, i)
	return s.replace(l.old, put(k, l.seq, i))
}

// putLists adds the lists of running resources to the item of a lease. If they have not changed, the
// item keeps their parts.
func (l *lease) putLists(s *store, i item) {
	if len(l.running)+len(l.before) == 0 {
		return
	}
	w := &binform.Writer{}
	binform.WriteTexts(w, l.running)
	binform.WriteTexts(w, l.before)
	packed := s.packer.Pack(w.B)
	if l.old[attrListsWide] != nil && bytes.Equal(packed, attributevalue.BytesOf(l.old, attrLists)) {
		i[attrListsWide], i[attrListsCount] = l.old[attrListsWide], l.old[attrListsCount]
		return
	}
	i[attrLists] = attributevalue.Blob(packed)
}

// changeLease changes a lease by f, which may be called again, and returns the lease that it wrote.
func (s *store) changeLease(
	ctx context.Context, env, key string, f func(l *lease) error,
) (l *lease, err error) {
	err = s.contend(ctx, func() error {
		if l, err = s.readLease(ctx, env, key); err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
		return s.write(ctx, l.put(s, env)...)
	})
	return l, err
}

// public returns the lease as the port has it.
func (l *lease) public() state.Lease {
	return state.Lease{Key: l.key, Holder: l.holder, Fence: l.fence, Until: l.until,
		Running: l.running, Wave: l.wave}
}

// leases acquires and releases leases.
type leases struct {
	*store

	mu sync.Mutex
	// accepted are the lists of running resources that this process knows to be accepted; guarded
	// by mu.
	accepted map[leaseKey]acceptance
}

type leaseKey struct{ env, key string }

// acceptance is the number of a lease's write whose list of running resources was accepted.
type acceptance struct{ fence, seq int64 }

// Acquire implements state.State. It cannot know whether a holder is dead: the lease of a dead
// holder expires.
func (s *leases) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	l, err := s.changeLease(ctx, env, key, func(l *lease) error {
		if l.holder != "" && l.holder != holder && now.Before(l.until) {
			return fault.New(fault.Busy, "take lease", "another process serves %s", key)
		}
		l.holder, l.until = holder, until
		l.fence++
		return nil
	})
	if err != nil {
		return state.Lease{}, err
	}
	out := l.public()
	out.Running = state.Union(l.running, l.before)
	// The head is read after the lease is taken, and MarkQuiet reads the leases after it has
	// written its note. So a quiet time cannot hide a commit under this lease, wherever either
	// process ends.
	h, err := s.readHead(ctx, env)
	if err != nil {
		return state.Lease{}, err
	}
	if !h.QuietTo.IsZero() || h.seq == 0 {
		if err := s.wake(ctx, env); err != nil {
			return state.Lease{}, err
		}
	}
	if key == state.PlanKey { // the worker of an agent reads the environment with its schedule
		out.Env, err = h.record()
	}
	return out, err
}

// Release implements state.State.
func (s *leases) Release(ctx context.Context, env string, l state.Lease) error {
	_, err := s.changeLease(ctx, env, l.Key, func(now *lease) error {
		if now.fence != l.Fence || now.holder == "" {
			return errNothing
		}
		now.holder, now.running, now.before = "", nil, nil
		return nil
	})
	if err == errNothing {
		return nil
	}
	if err == nil {
		s.dropDead(ctx, env, l.Key)
	}
	return err
}

// Leases implements state.State.
func (s *leases) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	all, err := s.readLeases(ctx, env)
	if err != nil {
		return nil, err
	}
	return all.public(), nil
}

// accept records that the list of running resources of a lease was accepted.
func (s *leases) accept(env string, l *lease, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accepted[leaseKey{env, l.key}] = acceptance{l.fence, seq}
}

// ran returns the resources that may be running. The list before them matters only until it is
// known whether the list was accepted.
func (s *leases) ran(env string, l *lease) []resource.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted[leaseKey{env, l.key}] == (acceptance{l.fence, l.seq}) {
		return l.running
	}
	return state.Union(l.running, l.before)
}
