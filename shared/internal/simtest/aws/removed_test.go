package aws

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// removing calls then before each object is read.
type removing struct {
	dynamo.Objects
	then func()
}

// Get implements dynamo.Objects.
func (b *removing) Get(ctx context.Context, name string) ([]byte, error) {
	if b.then != nil {
		b.then()
	}
	return b.Objects.Get(ctx, name)
}

// large is too long a text for an item.
func large(n int) string {
	b := make([]byte, 8000)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(b)
	return hex.EncodeToString(b)
}

// replaced is a planner that removes what others read, each time they are about to.
type replaced struct {
	t     *testing.T
	s     *dynamo.State
	guard state.Guard
	env   state.Env
	keep  int // versions
}

// next stores another version with another agent, and forgets the oldest.
func (r *replaced) next() {
	n := r.env.Last + 1
	r.env.Last = n
	e := r.env
	c := state.Commit{Guard: r.guard, Env: &e,
		Version: &state.Version{Number: n, Digest: large(n)},
		Agents: []resource.Agent{{Name: "a", Lanes: 1, Transport: "local",
			Options: map[string]any{"n": large(n)}}}}
	if n > r.keep {
		c.Forget = []int{n - r.keep}
	}
	committed(r.t, r.s, c)
	r.env.Rev++
}

// TestReadWhatIsRemovedAgainAndAgain has versions forgotten, and the agents replaced, three times
// in a row just when somebody is about to read the objects that hold them: the answer is what there
// is then, not that an object is missing.
func TestReadWhatIsRemovedAgainAndAgain(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(s *dynamo.State) (int, error){
		"all versions": func(s *dynamo.State) (int, error) {
			out, err := s.Versions(context.Background(), env)
			return len(out), err
		},
		"agents": func(s *dynamo.State) (int, error) {
			out, err := s.Agents(context.Background(), env)
			return len(out) + 1, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, objects := NewTable("t"), NewObjects()
			planner := stateOn(t, table, objects, nil)
			slow := &removing{Objects: objects}
			reader := stateOn(t, table, slow, nil)
			r := &replaced{t: t, s: planner, guard: leased(t, planner, "plan"),
				env: state.Env{Name: env}, keep: 2}
			r.next()
			r.next()
			left := 3
			slow.then = func() {
				if left > 0 {
					left--
					r.next()
					r.next()
				}
			}
			n, err := read(reader)
			if err != nil || n != 2 {
				t.Fatalf("%d, %v; want the two that there are", n, err)
			}
			if left > 0 {
				t.Error("no object was read")
			}
		})
	}
}

// TestReadForgottenVersionOnceMore has a version forgotten by another process when it was read, and
// is no longer in memory: then there is none.
func TestReadForgottenVersionOnceMore(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	planner, reader := stateOn(t, table, objects, nil), stateOn(t, table, objects, nil)
	r := &replaced{t: t, s: planner, guard: leased(t, planner, "plan"),
		env: state.Env{Name: env}, keep: 20}
	for range 20 {
		r.next()
	}
	ctx := context.Background()
	if _, err := reader.Env(ctx, env); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1} {
		if got, err := reader.Versions(ctx, env, n); err != nil || len(got) != 1 {
			t.Fatal(len(got), err)
		}
	}
	if got, err := reader.Versions(ctx, env); err != nil || len(got) != 20 {
		t.Fatal(len(got), err)
	}
	r.next() // forgets the first
	if got, err := reader.Versions(ctx, env, 1); err != nil || len(got) > 0 {
		t.Errorf("%d versions, %v", len(got), err)
	}
}

// TestReadWhatIsMissing has the object of a version be missing that is not forgotten: that is said,
// once it is certain.
func TestReadWhatIsMissing(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	planner := stateOn(t, table, objects, nil)
	r := &replaced{t: t, s: planner, guard: leased(t, planner, "plan"),
		env: state.Env{Name: env}, keep: 2}
	r.next()
	clear(objects.data)
	reader := stateOn(t, table, objects, nil)
	if _, err := reader.Versions(context.Background(), env); !fault.Is(err, fault.NotFound) {
		t.Errorf("versions: %v, want %s", err, fault.NotFound)
	}
	if _, err := reader.Agents(context.Background(), env); !fault.Is(err, fault.NotFound) {
		t.Errorf("agents: %v, want %s", err, fault.NotFound)
	}
}
