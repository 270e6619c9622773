package dynamo

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// The audit has an item for each record, which DynamoDB removes after its time.

func auditPart(env string) string { return "Q/" + env }

// PutAudit implements state.AuditLog.
func (s *jobs) PutAudit(ctx context.Context, env string, r state.AuditRecord) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fault.Wrap(fault.Internal, "write audit", err)
	}
	i := key{auditPart(env), r.ID}.item()
	i[attrBody] = attributevalue.Blob(body)
	i[attrExpires] = attributevalue.Number(r.At.Add(state.AuditKeptFor).Unix() + 1)
	_, err = s.db.api.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.db.table, Item: i})
	return awserr.Fault("write audit", err)
}

// AuditRecords implements state.AuditLog. Ids grow with time, so reading ends with the first record
// that is older than requested by more than the clocks of two processes may differ.
func (s *jobs) AuditRecords(
	ctx context.Context, env string, q state.AuditQuery,
) ([]state.AuditRecord, error) {
	const skew = time.Hour
	in := partition(auditPart(env), "", true)
	in.ScanIndexForward = aws.Bool(false)
	in.Limit = aws.Int32(int32(min(q.Limit, 1000))) // of one answer
	if q.Before != "" {
		in.KeyConditionExpression = aws.String("k = :k AND s < :s")
		in.ExpressionAttributeValues[":s"] = attributevalue.Text(q.Before)
	}
	var out []state.AuditRecord
	err := s.db.query(ctx, in, func(i item) (bool, error) {
		var r state.AuditRecord
		if err := json.Unmarshal(attributevalue.BytesOf(i, attrBody), &r); err != nil {
			return false, damaged("a record of the audit does not decode")
		}
		if !r.At.Before(q.Since) {
			out = append(out, r)
		}
		return len(out) < q.Limit && r.At.After(q.Since.Add(-skew)), nil
	})
	return out, err
}
