//go:build servers

package logs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// TestValuesStandInBodiesOnly pins that what handlers said, and values of attributes and facts, are
// in the compressed bodies of the log alone: not in what the function prints, whatever it fails at,
// nor in messages, nor in names and attributes of items and objects.
func TestValuesStandInBodiesOnly(t *testing.T) {
	t.Parallel()
	const value = "hunter2"
	w := newWorld(t, server.DynamoDB)
	m := &maker{every: time.Second}
	var actions []state.Action
	for n := range 80 {
		a := m.action(id("a", n))
		a.Messages = []provider.Line{{At: start, Level: provider.LevelError, Msg: "said " + value,
			Kwargs: map[string]any{value: value}}}
		a.Changes, a.Reason = map[string]diff.Diff{"x": {Current: value, Desired: value}}, value
		actions = append(actions, a)
	}
	commits(t, w.process(), "a", actions, 40,
		state.Commit{Parameters: []state.Parameter{{Name: "p", Value: value, Updated: start}}})
	for point := 1; point < 8; point++ {
		c := &cut{point: point, last: awstest.Drop}
		w.faults = &awstest.Faults{Decide: c.decide}
		w.process().Take(t.Context(), append(notice("a"),
			events.SQSMessage{Body: fmt.Sprintf(`{"v":%q}`, value)},
			events.SQSMessage{Body: value}))
	}
	w.faults = nil
	if failed := w.process().Take(t.Context(), notice("a")); len(failed) > 0 {
		t.Fatalf("failed: %+v", failed)
	}
	logged(t, w.process(), "all")
	printed := w.printed.String()
	if strings.Contains(printed, value) ||
		!strings.Contains(printed,
			`"msg":"logged","environment":"prod","actions":80,"parameters":1`) {
		t.Errorf("the function printed:\n%s", printed)
	}
	for part, items := range w.items() {
		for _, i := range items {
			for name, v := range i {
				if _, body := v.(*types.AttributeValueMemberB); !body &&
					strings.Contains(fmt.Sprintf("%s %+v", name, v), value) {
					t.Errorf("attribute %s of an item of %s shows a value", name, part)
				}
			}
		}
	}
	want(t, w.process(), state.ActionQuery{Text: value}, newestFirst(actions),
		"it is found where it belongs")
}
