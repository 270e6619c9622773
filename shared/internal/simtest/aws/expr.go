package aws

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

type item = map[string]types.AttributeValue

// The keys of the table.
const (
	attrPart = "k"
	attrSort = "s"
)

// conflict is the error of a write that meets a transaction in progress.
func conflict() error {
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

func invalid(message string) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: message,
		Fault: smithy.FaultClient}
}

var (
	notExists = regexp.MustCompile(`^attribute_not_exists\((\w+)\)$`)
	equals    = regexp.MustCompile(`^(\w+) = (:\w+)$`)
	begins    = regexp.MustCompile(`^begins_with\((\w+), (:\w+)\)$`)
	compares  = regexp.MustCompile(`^(\w+) (>=|<=|>|<) (:\w+)$`)
	between   = regexp.MustCompile(`^(\w+) BETWEEN (:\w+) AND (:\w+)$`)
)

// values are the values of an expression. Each has to be used.
type values struct {
	given item
	used  map[string]bool
}

func (v *values) get(name string) (types.AttributeValue, error) {
	a, ok := v.given[name]
	if !ok {
		return nil,
			invalid("An expression attribute value used in expression is not defined: " + name)
	}
	v.used[name] = true
	return a, nil
}

func (v *values) text(name string) (string, error) {
	a, err := v.get(name)
	if err != nil {
		return "", err
	}
	s, ok := a.(*types.AttributeValueMemberS)
	if !ok {
		return "", invalid("a key is not a string")
	}
	return s.Value, nil
}

func (v *values) done() error {
	for name := range v.given {
		if !v.used[name] {
			return invalid("Value provided in ExpressionAttributeValues unused in expressions: " +
				name)
		}
	}
	return nil
}

// condition evaluates a condition on an item. The item is nil if it does not exist.
func condition(expression *string, given item, have item) (bool, error) {
	v := &values{given: given, used: map[string]bool{}}
	if expression == nil {
		return true, v.done()
	}
	ok := false
	for _, term := range strings.Split(*expression, " OR ") {
		is, err := v.holds(term, have)
		if err != nil {
			return false, err
		}
		ok = ok || is
	}
	return ok, v.done()
}

// holds evaluates one term of a condition.
func (v *values) holds(term string, have item) (bool, error) {
	if m := notExists.FindStringSubmatch(term); m != nil {
		_, exists := have[m[1]]
		return !exists, nil
	}
	if m := equals.FindStringSubmatch(term); m != nil {
		want, err := v.get(m[2])
		is, exists := have[m[1]]
		return exists && same(is, want), err
	}
	if m := compares.FindStringSubmatch(term); m != nil && m[2] == "<" {
		want, err := v.get(m[3])
		if err != nil {
			return false, err
		}
		is, ok1 := have[m[1]].(*types.AttributeValueMemberN)
		limit, ok2 := want.(*types.AttributeValueMemberN)
		if !ok1 || !ok2 {
			return false, nil
		}
		a, err1 := strconv.ParseInt(is.Value, 10, 64)
		b, err2 := strconv.ParseInt(limit.Value, 10, 64)
		if err1 != nil || err2 != nil {
			return false, invalid("the model compares whole numbers only")
		}
		return a < b, nil
	}
	return false, invalid("the model knows no condition " + term)
}

// same compares strings or numbers. Numbers are compared as texts, because they are always written
// in the same form.
func same(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		o, ok := b.(*types.AttributeValueMemberS)
		return ok && a.Value == o.Value
	case *types.AttributeValueMemberN:
		o, ok := b.(*types.AttributeValueMemberN)
		return ok && a.Value == o.Value
	}
	return false
}

// keyCondition returns the partition of a query, and its condition on sort keys.
func keyCondition(expression *string, given item) (part string, sort func(string) bool, err error) {
	if expression == nil {
		return "", nil, invalid("a query has no key condition")
	}
	v := &values{given: given, used: map[string]bool{}}
	first, rest, more := strings.Cut(*expression, " AND ")
	m := equals.FindStringSubmatch(first)
	if m == nil || m[1] != attrPart {
		return "", nil, invalid("the model knows no key condition " + *expression)
	}
	if part, err = v.text(m[2]); err != nil {
		return "", nil, err
	}
	sort = func(string) bool { return true }
	if more {
		if sort, err = sortCondition(rest, v); err != nil {
			return "", nil, err
		}
	}
	return part, sort, v.done()
}

func sortCondition(expression string, v *values) (func(string) bool, error) {
	if m := begins.FindStringSubmatch(expression); m != nil && m[1] == attrSort {
		prefix, err := v.text(m[2])
		return func(s string) bool { return strings.HasPrefix(s, prefix) }, err
	}
	if m := between.FindStringSubmatch(expression); m != nil && m[1] == attrSort {
		from, err := v.text(m[2])
		if err != nil {
			return nil, err
		}
		to, err := v.text(m[3])
		return func(s string) bool { return s >= from && s <= to }, err
	}
	if m := compares.FindStringSubmatch(expression); m != nil && m[1] == attrSort {
		limit, err := v.text(m[3])
		return func(s string) bool {
			c := strings.Compare(s, limit)
			switch m[2] {
			case ">=":
				return c >= 0
			case "<=":
				return c <= 0
			case ">":
				return c > 0
			}
			return c < 0
		}, err
	}
	return nil, invalid("the model knows no condition on sort keys " + expression)
}
