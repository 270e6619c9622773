// Package attributevalue makes and reads values of items in DynamoDB.
package attributevalue

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item of a table.
type Item = map[string]types.AttributeValue

// Text makes a string.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number makes a number.
func Number[T int | int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// Blob makes bytes; it does not copy them.
func Blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// TextOf returns a string of an item; "" when there is none.
func TextOf(i Item, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// NumberOf returns a whole number of an item; 0 when there is none.
func NumberOf(i Item, name string) int64 {
	if v, ok := i[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

// BytesOf returns bytes of an item, not copied; nil when there are none.
func BytesOf(i Item, name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}
