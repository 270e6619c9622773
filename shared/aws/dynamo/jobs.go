package dynamo

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// jobs stores the records that commits do not write: those of jobs, and the audit.
type jobs struct{ db *items }

// Records of jobs are separate items. DynamoDB removes them some time after they have expired.
const (
	attrExpires = "x" // seconds since 1970, as DynamoDB requires
	attrMillis  = "e" // expiry that reads compare, in milliseconds since 1970
)

func jobsPart(env string) string { return "J/" + env }

// PutJob implements state.Jobs.
func (s *jobs) PutJob(ctx context.Context, env string, j state.Job, now time.Time) (int64, error) {
	rev := state.NewRev()
	in := &dynamodb.PutItemInput{TableName: &s.db.table, ReturnValuesOnConditionCheckFailure: oldItem,
		ConditionExpression: aws.String("n = :n AND e > :now"),
		ExpressionAttributeValues: item{
			":now": attributevalue.Number(now.UnixMilli()),
			":n":   attributevalue.Number(j.Rev),
		}}
	in.Item = key{jobsPart(env), j.ID}.item()
	in.Item[attrSeq], in.Item[attrBody] = attributevalue.Number(rev), attributevalue.Blob(j.Body)
	in.Item[attrMillis] = attributevalue.Number(j.Expires.UnixMilli())
	in.Item[attrExpires] = attributevalue.Number(j.Expires.Unix() + 1)
	if j.Rev == 0 {
		in.ConditionExpression = aws.String("attribute_not_exists(k) OR e <= :now")
		delete(in.ExpressionAttributeValues, ":n")
	}
	_, err := s.db.api.PutItem(ctx, in)
	var failed *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &failed) && attributevalue.NumberOf(failed.Item, attrSeq) == rev:
		return rev, nil // our own write, repeated by the SDK
	case awserr.Is(err, awserr.ConditionFailed, awserr.TransactionConflict):
		return 0, fault.New(fault.Conflict, "write job", "another has changed it")
	}
	return rev, awserr.Fault("write job", err)
}

// Jobs implements state.Jobs.
func (s *jobs) Jobs(ctx context.Context, env, begin string, now time.Time) ([]state.Job, error) {
	var out []state.Job
	err := s.db.query(ctx, partition(jobsPart(env), begin, true), func(i item) (bool, error) {
		j := state.Job{
			ID:      attributevalue.TextOf(i, attrSort),
			Rev:     attributevalue.NumberOf(i, attrSeq),
			Body:    attributevalue.BytesOf(i, attrBody),
			Expires: time.UnixMilli(attributevalue.NumberOf(i, attrMillis)).UTC(),
		}
		if j.Expires.After(now) {
			out = append(out, j)
		}
		return true, nil
	})
	return out, err
}
