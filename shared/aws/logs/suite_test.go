//go:build servers

package logs_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
	"southbound/shared/aws/dynamo"
	"southbound/shared/aws/logs"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
)

func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.DynamoDB, server.MiniStack)) }

// world is a table and two places for objects, in which processes log.
type world struct {
	t       *testing.T
	kind    server.Kind
	table   string
	log     logs.Objects
	meter   *meter.Meter
	faults  *awstest.Faults
	now     func() time.Time
	printed *output
	squeeze bool
}

// output keeps what functions print.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func newWorld(t *testing.T, kind server.Kind) *world {
	t.Helper()
	w := &world{t: t, kind: kind, table: awstest.Unique(t), meter: &meter.Meter{},
		printed: &output{}}
	plain := dynamodb.NewFromConfig(awstest.Config(server.URL(kind), nil))
	if _, err := plain.CreateTable(t.Context(), dynamo.Table(w.table)); err != nil &&
		!awserr.Is(err, awserr.TableInUse) {
		t.Fatal(err)
	}
	if kind == server.DynamoDB {
		w.log = &objects{}
		return w
	}
	c := awstest.Config(server.URL(server.MiniStack), nil)
	w.meter.Install(&c)
	api := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := api.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &w.table})
	if err != nil && !awserr.Is(err, "BucketAlreadyOwnedByYou") {
		t.Fatal(err)
	}
	w.log = bucket.NewLogObjects(api, w.table)
	return w
}

// process begins a process that knows nothing.
func (w *world) process() *logs.Log {
	w.t.Helper()
	var c = awstest.Config(server.URL(w.kind), nil)
	if w.faults != nil {
		c = awstest.Config(server.URL(w.kind), w.faults)
	}
	w.meter.Install(&c)
	api := dynamodb.NewFromConfig(c)
	store, err := logs.New(logs.Config{API: api, Table: w.table, Objects: w.log, Now: w.now})
	if err != nil {
		w.t.Fatal(err)
	}
	config := dynamo.Config{API: api, Table: w.table, Log: store}
	if w.squeeze {
		store.Squeeze()
		config.Host.Limits = &dynamo.Limits{Page: 3, Bytes: 1 << 20, Value: 100}
	}
	state, err := dynamo.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return &logs.Log{Store: store, State: state,
		Logger: slog.New(slog.NewJSONHandler(w.printed, nil))}
}

// objects are awstest.Objects of which parts can be read.
type objects struct {
	awstest.Objects
}

// GetPart implements logs.Objects.
func (o *objects) GetPart(ctx context.Context, name string, offset, size int) ([]byte, error) {
	b, err := o.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	return b[offset : offset+size], nil
}

// ListPrefix implements logs.Objects.
func (o *objects) ListPrefix(
	ctx context.Context, begin string, f func(name string, stored time.Time) error,
) error {
	names := map[string]bool{}
	if err := o.List(ctx, func(name string, _ time.Time) error {
		names[name] = strings.HasPrefix(name, begin)
		return nil
	}); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] {
			if err := f(name, time.Time{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// eager logs after every commit, and now and then twice, or only at the next.
type eager struct {
	*dynamo.State
	log *logs.Log
	n   atomic.Int64
}

// Commit implements state.State.
func (e *eager) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	out, err := e.State.Commit(ctx, env, c)
	if err == nil {
		for range e.n.Add(1) % 3 {
			if err := e.log.CatchUp(ctx, env); err != nil {
				return out, err
			}
		}
	}
	return out, err
}

// TestConformance runs the suite of the state's port where what is committed is logged at once,
// late, and more than once: on DynamoDB Local with and without faults, and on MiniStack.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		kind    server.Kind
		squeeze bool
		faults  bool
	}{
		{"DynamoDBLocal", server.DynamoDB, false, false},
		{"MiniStackSqueezed", server.MiniStack, true, false},
		{"Faults", server.DynamoDB, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
				t.Helper()
				w := newWorld(t, c.kind)
				w.squeeze = c.squeeze
				if c.faults {
					w.faults = &awstest.Faults{Decide: awstest.NowAndThen(7),
						Rewrite: awstest.Unprocessed}
				}
				a, b := w.process(), w.process()
				var n atomic.Int64
				holder := func() string { return fmt.Sprintf("holder#%d", n.Add(1)) }
				return deploytest.StateHarness{A: &eager{State: a.State, log: a},
					B: &eager{State: b.State, log: b}, HolderA: holder, HolderB: holder,
					Serial: c.faults}
			})
		})
	}
}
