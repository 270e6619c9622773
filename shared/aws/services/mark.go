package services

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/attributevalue"
)

// marks is the number of marks of an environment: transactions with the same mark conflict with each
// other if they are concurrent.
const marks = 64

// markItem returns a new mark of an environment. dynamo.State reads the marks to report changes.
func markItem(env, id string) item {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	i := key("Y/"+env, fmt.Sprintf("%02d", h.Sum32()%marks))
	i[attrGuard] = attributevalue.Text(newToken())
	return i
}

// mark adds a mark to the transaction. A full transaction has none: its change is reported with the
// next one.
func (p *plan) mark(id string) {
	if p.Mark && len(p.items) < maxItems {
		p.put(markItem(p.env, id), role{}, "", nil)
	}
}

// markAfter writes a mark after other writes. Since these have been made, it ignores an error.
func (t *table) markAfter(ctx context.Context, env string) {
	if t.Mark {
		_ = t.batch(ctx, []types.WriteRequest{{PutRequest: &types.PutRequest{Item: markItem(env, "")}}})
	}
}
