package aws

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/resource"
)

// The forms of attributes that their values do not show: sets of texts, numbers or bytes, and
// bytes.
const (
	formTexts    = "texts"
	formNumbers  = "numbers"
	formManyByte = "bytes"
	formBytes    = "(bytes)"
)

// toItem converts attributes to the values of DynamoDB, in the forms that forms names.
func toItem(attrs, forms map[string]any, depth int) (map[string]types.AttributeValue, error) {
	out := make(map[string]types.AttributeValue, len(attrs))
	for name, v := range attrs {
		var err error
		switch form, _ := forms[name].(string); form {
		case "":
			out[name], err = toValue(v, depth+1)
		case formBytes:
			out[name], err = toBytes(v)
		default:
			out[name], err = toSet(v, form)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
	}
	return out, nil
}

func toValue(v any, depth int) (types.AttributeValue, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("lists and maps are nested more than %d deep", maxNesting)
	}
	switch v := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case []any:
		out := make([]types.AttributeValue, len(v))
		for i, e := range v {
			var err error
			if out[i], err = toValue(e, depth+1); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: out}, nil
	case map[string]any:
		m, err := toItem(v, nil, depth)
		return &types.AttributeValueMemberM{Value: m}, err
	}
	n, err := toNumber(v)
	return &types.AttributeValueMemberN{Value: n}, err
}

const (
	maxDigits   = 38
	maxExponent = 125
	minNumber   = 1e-130
)

// toNumber returns a number as text. It rejects numbers that DynamoDB would round or reject.
func toNumber(v any) (string, error) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), nil
	case *big.Int:
		text := v.String()
		if len(strings.Trim(strings.TrimLeft(text, "-"), "0")) > maxDigits ||
			len(text) > maxExponent {
			return "", fmt.Errorf("the number %.20s... has more than %d digits", text, maxDigits)
		}
		return text, nil
	case float64:
		if a := math.Abs(v); a != 0 && (a < minNumber || a >= 1e126) || math.IsNaN(v) {
			return "", fmt.Errorf("the number %v is not between 1e-130 and 9.9e125", v)
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", fmt.Errorf("a %T is not a value of DynamoDB", v)
}

func toBytes(v any) (*types.AttributeValueMemberB, error) {
	text, ok := v.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, fmt.Errorf("bytes are written as base64: \"AQID\"")
	}
	return &types.AttributeValueMemberB{Value: b}, nil
}

func toSet(v any, kind string) (types.AttributeValue, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("a set is a list with something in it")
	}
	var out []string
	for _, e := range list {
		text, isText := e.(string)
		var err error
		switch {
		case kind == formNumbers:
			if text, err = toNumber(e); err == nil {
				text = plainNumber(text)
			}
		case kind == formManyByte:
			var b *types.AttributeValueMemberB
			if b, err = toBytes(e); err == nil {
				text = string(b.Value)
			}
		case !isText:
			err = fmt.Errorf("a set of texts has %T in it", e)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	switch kind {
	case formNumbers:
		return &types.AttributeValueMemberNS{Value: out}, nil
	case formManyByte:
		many := make([][]byte, len(out))
		for i, s := range out {
			many[i] = []byte(s)
		}
		return &types.AttributeValueMemberBS{Value: many}, nil
	}
	return &types.AttributeValueMemberSS{Value: out}, nil
}

// plainNumber returns a number in canonical form, so that 1e2 and 100 have one text.
func plainNumber(text string) string {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(maxExponent+maxDigits), "0")
}

// fromItem converts a value of DynamoDB. A set has the order of the desired list, if their elements
// are equal.
func fromItem(v types.AttributeValue, want any) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return number(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		out := make([]any, len(v.Value))
		for i, e := range v.Value {
			out[i] = fromItem(e, nil)
		}
		return out
	case *types.AttributeValueMemberM:
		out := make(map[string]any, len(v.Value))
		for name, e := range v.Value {
			out[name] = fromItem(e, nil)
		}
		return out
	case *types.AttributeValueMemberSS:
		return fromSet(v.Value, want, func(s string) any { return s }, formTexts)
	case *types.AttributeValueMemberNS:
		return fromSet(v.Value, want, number, formNumbers)
	case *types.AttributeValueMemberB:
		return map[string]any{"bytes": base64.StdEncoding.EncodeToString(v.Value)}
	case *types.AttributeValueMemberBS:
		texts := make([]string, len(v.Value))
		for i, b := range v.Value {
			texts[i] = string(b)
		}
		return fromSet(texts, want, func(s string) any {
			return base64.StdEncoding.EncodeToString([]byte(s))
		}, formManyByte)
	}
	return nil
}

// fromSet converts a set to a list that differs from any list of DynamoDB. This is the desired list
// if the elements are equal, and otherwise a sorted list under its kind.
func fromSet(have []string, want any, value func(string) any, kind string) any {
	sorted := slices.Clone(have)
	if kind == formNumbers {
		for i, s := range sorted {
			sorted[i] = plainNumber(s)
		}
	}
	slices.Sort(sorted)
	if w, err := toSet(want, kind); err == nil {
		var texts []string
		switch w := w.(type) {
		case *types.AttributeValueMemberSS:
			texts = w.Value
		case *types.AttributeValueMemberNS:
			texts = w.Value
		case *types.AttributeValueMemberBS:
			for _, b := range w.Value {
				texts = append(texts, string(b))
			}
		}
		if slices.Equal(texts, sorted) {
			return want
		}
	}
	out := make([]any, len(sorted))
	for i, s := range sorted {
		out[i] = value(s)
	}
	return map[string]any{"set of " + kind: out}
}

// number returns a number of DynamoDB as a value.
func number(text string) any {
	v, err := resource.FromGo(json.Number(text))
	if err != nil {
		return text
	}
	return v
}

// sizeOf estimates the size of a value, slightly below DynamoDB's count.
func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 1
	case *types.AttributeValueMemberL:
		n := 3
		for _, e := range v.Value {
			n += sizeOf(e)
		}
		return n
	case *types.AttributeValueMemberM:
		n := 3
		for name, e := range v.Value {
			n += len(name) + sizeOf(e)
		}
		return n
	case *types.AttributeValueMemberSS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberNS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberBS:
		n := 3
		for _, b := range v.Value {
			n += len(b)
		}
		return n
	}
	return 1
}
