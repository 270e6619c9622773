package server

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"southbound/shared/api/problem"
	"southbound/shared/fault"
)

// strict decodes bodies without ignoring any part of them. It rejects members that are unknown,
// written in another case or repeated, null, and text that is not UTF-8. A whole number may have
// the forms that JSON Schema permits: 2.0 is 2. Values that are decoded into any are checked
// against the schema.
func strict() map[string]huma.Format {
	f := huma.Format{
		Marshal: func(w io.Writer, v any) error { return huma.DefaultJSONFormat.Marshal(w, v) },
		Unmarshal: func(data []byte, v any) (err error) {
			defer func() { err = describeError(err) }()
			if loose, is := v.(*any); is {
				if err := json.Unmarshal(data, new(any)); err != nil { // duplicate names
					return err
				}
				return stdjson.Unmarshal(data, loose)
			}
			if _, may := v.(interface{ MayHoldNull() }); !may {
				if err := noNull(data); err != nil {
					return err
				}
			}
			return json.Unmarshal(data, v, json.RejectUnknownMembers(true),
				json.WithUnmarshalers(whole))
		},
	}
	return map[string]huma.Format{"application/json": f, "json": f}
}

// describeError describes an invalid body without naming our types.
func describeError(err error) error {
	var syntax *jsontext.SyntacticError
	var meaning *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return fmt.Errorf("member %q occurs twice", syntax.JSONPointer.LastToken())
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &meaning):
		return fmt.Errorf("there is no member %q", meaning.JSONPointer.LastToken())
	case errors.As(err, &syntax):
		return fmt.Errorf("this is not valid JSON: %w, at byte %d", syntax.Err, syntax.ByteOffset+1)
	case errors.As(err, &meaning):
		text := fmt.Sprintf("the value of %q does not fit", meaning.JSONPointer)
		if meaning.Err != nil {
			text += ": " + meaning.Err.Error()
		}
		return errors.New(text)
	default:
		return err
	}
}

// noNull rejects null: no request has a member that may be null, and omitting it means the same.
func noNull(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.ReadToken()
		if err != nil { // the decoder reports invalid JSON
			return nil
		}
		if token.Kind() == 'n' {
			return fmt.Errorf("null within %q: leave the member out, or write [] for an empty list",
				dec.StackPointer())
		}
	}
}

// whole also accepts whole numbers that are written with a fraction of zero or an exponent.
var whole = json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *int) error {
		n, err := readWhole(dec)
		if err == nil {
			*v = int(n)
		}
		return err
	}),
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *int64) error {
		n, err := readWhole(dec)
		if err == nil {
			*v = n
		}
		return err
	}))

func readWhole(dec *jsontext.Decoder) (int64, error) {
	if dec.PeekKind() != '0' {
		return 0, errors.ErrUnsupported
	}
	text, err := dec.ReadValue()
	if err != nil {
		return 0, err
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, nil
	}
	const exact = 1 << 53 // a greater number may differ from the written one
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > exact {
		return 0, fmt.Errorf("%s is not a whole number that can be used", text)
	}
	return int64(n), nil
}

// rejectEmpty rejects parameters without a value, if the schema requires one. The library treats them
// as omitted, and a client that forgot a value would receive everything.
func rejectEmpty(c huma.Context, next func(huma.Context)) {
	u := c.URL()
	if u.RawQuery == "" {
		next(c)
		return
	}
	query := u.Query()
	clients := problem.ForClients(c.Operation().Path)
	for _, p := range c.Operation().Parameters {
		values := query[p.Name]
		if clients && strings.HasPrefix(p.Name, "filter.") { // clients send empty filters
			if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(
				values) == 0 {
				delete(query, p.Name)
			} else {
				query[p.Name] = values
			}
			u.RawQuery = query.Encode()
		}
		if p.In != "query" || len(values) == 0 {
			continue
		}
		list := p.Schema.Type == huma.TypeArray
		if values[0] != "" && (list || len(values) == 1) {
			continue
		}
		wrong := "the parameter has no value; leave it out"
		if values[0] != "" {
			wrong = "the parameter occurs twice"
		}
		f := problem.Failure{Kind: fault.Invalid, Message: "query." + p.Name + ": " + wrong,
			Hint: "GET /openapi.json describes all operations", Problems: []problem.Wrong{}}
		problem.Send(c, problem.WithStatus(http.StatusUnprocessableEntity, f))
		return
	}
	next(queried{c, u, query})
}

// queried is a request with another query.
type queried struct {
	humaContext
	url   url.URL
	query url.Values
}

// URL implements huma.Context.
func (q queried) URL() url.URL { return q.url }

// Query implements huma.Context.
func (q queried) Query(name string) string { return q.query.Get(name) }
