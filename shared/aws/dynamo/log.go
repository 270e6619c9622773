package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
)

// Log holds actions that were committed some time ago. Package logs implements it. Unlogged and
// Logged transfer actions to it.
type Log interface {
	// Actions returns the logged actions that q selects and that finished at since or later, newest
	// first.
	Actions(
		ctx context.Context,
		env string,
		q state.ActionQuery,
		since time.Time,
	) ([]state.Action, error)
	// Ended returns the ids of logged actions that finished at from or later and before to.
	Ended(ctx context.Context, env string, from, to time.Time) (map[string]bool, error)
	// Expire removes expired actions that are not removed automatically.
	Expire(ctx context.Context, env string) error
}

// A cursor is the number of the change up to which a tablet's entries are in the log. It is a
// separate item, because a process other than the holder of the lane writes it.

func cursorPart(env string) string { return "C/" + env }

// cursors returns all cursors of an environment, by the key of their tablet. Without a log there
// are no cursors.
func (s *compactor) cursors(ctx context.Context, env string) (map[string]int64, error) {
	out := map[string]int64{}
	if s.log == nil {
		return out, nil
	}
	err := s.query(ctx, partition(cursorPart(env), "", true), func(i item) (bool, error) {
		out[attributevalue.TextOf(i, attrSort)] = attributevalue.NumberOf(i, attrSeq)
		return true, nil
	})
	return out, err
}

// loggedTo returns the cursor of a tablet, if it allows pieces from index from on to be removed. It
// returns 0 if no entry was logged yet, or there is no log. Entries that are only in the tail were
// committed just now, and would not be worth a request.
func (s *compactor) loggedTo(
	ctx context.Context,
	env string,
	rec *record,
	from int,
) (int64, error) {
	if s.log == nil ||
		!slices.ContainsFunc(rec.refs[from:], func(f ref) bool { return f.kind == pageRef }) {
		return 0, nil
	}
	i, err := s.get(ctx, cursorPart(env), rec.key)
	return attributevalue.NumberOf(i, attrSeq), err
}

// advance moves a cursor, forward only.
func (s *compactor) advance(ctx context.Context, env, key string, to int64) error {
	i := keyItem(cursorPart(env), key)
	i[attrSeq] = attributevalue.Number(to)
	_, err := s.api.PutItem(
		ctx,
		&dynamodb.PutItemInput{
			TableName:                 &s.table,
			Item:                      i,
			ConditionExpression:       aws.String("attribute_not_exists(k) OR n < :n"),
			ExpressionAttributeValues: item{":n": attributevalue.Number(to)},
		},
	)
	if awserr.Is(err, awserr.ConditionFailed) {
		return nil // the cursor is there already
	}
	return awserr.Fault("write state", err)
}
