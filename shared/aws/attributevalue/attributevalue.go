// Package attributevalue creates and reads values of DynamoDB items.
package attributevalue

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item of a table.
type Item = map[string]types.AttributeValue

// Text returns a string value.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns a number value.
func Number[T int | int64](n T) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// Blob returns a binary value. It does not copy b.
func Blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// TextOf returns a string of an item, or "" if there is none.
func TextOf(i Item, name string) string {
	if v, ok := i[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// NumberOf returns an integer of an item, or 0 if there is none.
func NumberOf(i Item, name string) int64 {
	if v, ok := i[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

// BytesOf returns the bytes of an item without copying them, or nil if there are none.
func BytesOf(i Item, name string) []byte {
	if v, ok := i[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}
