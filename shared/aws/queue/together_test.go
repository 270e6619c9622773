//go:build servers

package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// finder notes who was woken.
type finder struct {
	fake
	mu       sync.Mutex
	notified []string
}

func (f *finder) Notified(_ context.Context, _, agent string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notified = append(f.notified, agent)
	return nil
}

// TestTogether wants lanes with little work to share messages, each lane in one message, and all of
// their agents to be woken; and everything else to be notified as ever.
func TestTogether(t *testing.T) {
	t.Parallel()
	notice := func(size, agents int) (out []state.Notice) {
		for i := range agents {
			out = append(out, state.Notice{Agent: fmt.Sprintf("a%03d", i), Size: size})
		}
		return out
	}
	hinted := notice(1, 20)
	for i := range hinted {
		hinted[i].Done = []resource.ID{"std::Null[x,name=y]"}
	}
	all := func(_ context.Context, _ string, lanes []string) (map[string]time.Time, error) {
		out := map[string]time.Time{}
		for i, l := range lanes { // those with higher numbers were served later
			out[l] = time.Unix(int64(i), 0)
		}
		return out, nil
	}
	for _, c := range []struct {
		reason   string
		notices  []state.Notice
		together func(context.Context, string, []string) (map[string]time.Time, error)
		fail     func(int, *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error)
		messages int
	}{
		{"ten lanes of ten resources share a message", notice(10, 100), all, nil, 10},
		{"a message has a hundred resources at most", notice(25, 100), all, nil, 25},
		{"lanes with more work have one each", notice(26, 100), all, nil, 100},
		{"of how much work is not known, too", notice(0, 100), all, nil, 100},
		{"few lanes are not worth a look", notice(1, 3),
			func(context.Context, string, []string) (map[string]time.Time, error) {
				t.Error("it was looked at three lanes")
				return nil, nil
			}, nil, 3},
		{"hints stay with their lane", hinted, all, nil, 20},
		{"agents that functions do not reach have their own", notice(1, 20),
			func(_ context.Context, _ string, lanes []string) (map[string]time.Time, error) {
				out, err := all(t.Context(), "", lanes)
				for _, l := range lanes[:10] {
					delete(out, l)
				}
				return out, err
			}, nil, 11},
		{"what is not known is not shared", notice(1, 20),
			func(context.Context, string, []string) (map[string]time.Time, error) {
				return nil, errors.New("no answer")
			}, nil, 20},
		{"what cannot be notified together is notified alone", notice(1, 10), all,
			func(call int, _ *sqs.SendMessageBatchInput) (*sqs.SendMessageBatchOutput, error) {
				if call <= 3 { // the tries of the shared message
					return nil, errors.New("connection refused")
				}
				return nil, nil
			}, 10},
	} {
		f := &finder{fake: fake{fail: c.fail}}
		b := queue.NewNotifier(&f.fake, f)
		b.Together = c.together
		if err := b.Notify(t.Context(), "e", c.notices); err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		var got, want []string
		for _, m := range f.sent {
			message, err := queue.Decode(*m.MessageBody)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range message.Each() {
				got = append(got, one.Agent)
				if c.messages < len(c.notices) && one.Agent > message.Agent {
					t.Errorf("%s: %s carries %s, which was served later", c.reason, message.Agent,
						one.Agent)
				}
			}
		}
		agents := map[string]bool{}
		for _, r := range c.notices {
			want = append(want, r.Agent)
			agents[r.Agent] = true
		}
		slices.Sort(got)
		slices.Sort(want)
		if len(f.sent) != c.messages || !slices.Equal(got, want) {
			t.Errorf("%s: %d messages, want %d, for %d lanes: %v", c.reason, len(f.sent),
				c.messages, len(want), got)
		}
		for _, agent := range f.notified {
			delete(agents, agent)
		}
		if len(agents) > 0 {
			t.Errorf("%s: %d agents were not woken", c.reason, len(agents))
		}
	}
}
