package std

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// maxJSONDepth is the largest nesting depth of JSON.
const maxJSONDepth = 1000

func jsonLoads(_ *eval.Context, a eval.Args) (types.Value, error) {
	d := json.NewDecoder(strings.NewReader(a.Text(0)))
	d.UseNumber()
	v, err := jsonValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something stands behind the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("this is not JSON: %w (at byte %d)", err, d.InputOffset())
	}
	return v, nil
}

// jsonValue decodes the next value. It keeps the order of object members, and the precision of
// integers.
func jsonValue(d *json.Decoder, depth int) (types.Value, error) {
	if depth > maxJSONDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxJSONDepth)
	}
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return types.Null{}, nil
	case json.Number:
		return jsonNumber(t.String())
	case json.Delim:
		if t == '[' {
			return jsonList(d, depth)
		}
		return jsonDict(d, depth)
	}
	return token, nil
}

func jsonNumber(text string) (types.Value, error) {
	if !strings.ContainsAny(text, ".eE") {
		if len(text) > 4300 {
			return nil, errors.New("a whole number has more than 4300 digits")
		}
		n, _ := new(big.Int).SetString(text, 10)
		return types.Integer(n), nil
	}
	f, _ := strconv.ParseFloat(text, 64) // a number that is too large is infinite, as in Python
	return f, nil
}

func jsonList(d *json.Decoder, depth int) (types.Value, error) {
	out := &types.List{}
	for d.More() {
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
	}
	_, err := d.Token()
	return out, err
}

func jsonDict(d *json.Decoder, depth int) (types.Value, error) {
	out := types.NewDict(0)
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("a key is not a string")
		}
		v, err := jsonValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.Set(name, v)
	}
	_, err := d.Token()
	return out, err
}
