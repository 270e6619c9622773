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

// Log is where actions are found that were committed a while ago; package logs has it. Actions come
// there through Unlogged and Logged.
type Log interface {
	// Actions returns the actions in the log that q selects and that were finished at a time or
	// later, newest first.
	Actions(
		ctx context.Context,
		env string,
		q state.ActionQuery,
		since time.Time,
	) ([]state.Action, error)
	// Ended returns the ids of actions in the log that were finished at from or later and before
	// to.
	Ended(ctx context.Context, env string, from, to time.Time) (map[string]bool, error)
	// Expire removes what has expired and does not go by itself.
	Expire(ctx context.Context, env string) error
}

// A cursor says up to which change of a tablet all is in the log. It is an item beside the record,
// because another than the holder of the lane writes it.

func cursorPart(env string) string { return "C/" + env }

// cursors returns all cursors of an environment by the key of their tablet. Without a log there are
// none.
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

// loggedTo returns the cursor of a tablet, as far as pieces from one on can go because of it; 0
// when nothing was ever logged, or there is no log. What is only in the tail was committed just
// now: it would not be worth a request.
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
		return nil // it is there already
	}
	return awserr.Fault("write state", err)
}
