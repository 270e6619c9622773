package server

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/url"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
)

// oddType reports whether a content type is one with which public clients send JSON. Web pages of
// other origins may send these types without a preflight request.
func oddType(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" {
		return true
	}
	return err == nil && (kind == "text/plain" || kind == "application/x-www-form-urlencoded")
}

// sameOrigin reports whether a request is from a program, or from a page of the requested host.
func sameOrigin(c huma.Context) bool {
	if o := c.Header("Origin"); o != "" {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, c.Host()) {
			return false
		}
	}
	switch c.Header("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// errCrossSite rejects a body that a web page of another origin could have sent.
func errCrossSite() error {
	return fault.New(fault.Denied, "",
		"a page of another origin has sent this body without the type application/json").
		WithHint("send Content-Type: application/json")
}

// member is a member of a JSON object, in its written form.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf returns the members of an object in their order. Its errors are also found by the
// decoder of the body.
func membersOf(text []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	if d.PeekKind() != '{' {
		return nil, errors.ErrUnsupported
	}
	_, _ = d.ReadToken() // PeekKind has found the token
	var out []member
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		out = append(out, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	_, err := d.ReadToken() // the object must be the whole body
	if !errors.Is(err, io.EOF) {
		return nil, errors.ErrUnsupported
	}
	return out, nil
}

// bytesOf writes an object.
func bytesOf(members []member) []byte {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.name) // it was read as a valid name
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}')
}

// equals reports whether a member has the value of a parameter: as text, or as a number.
func (m *member) equals(parameter string) bool {
	var text string
	if json.Unmarshal(m.value, &text) == nil {
		return text == parameter
	}
	return string(m.value) == parameter
}

// withoutRepeats returns a body without redundant members that its schema does not have. These
// repeat a parameter of the path or the environment, or are null. A repeated parameter with another
// value is rejected. A body that is not an object is returned unchanged, since the decoder reports
// a more precise error.
func withoutRepeats(c huma.Context, s *huma.Schema, text []byte) ([]byte, error) {
	members, err := membersOf(text)
	if err != nil {
		return text, nil //nolint:nilerr // the decoder finds the error again, with its position
	}
	repeated := map[string]string{"tid": c.Header(wire.TenantHeader)}
	for _, p := range c.Operation().Parameters {
		if p.In == "path" {
			repeated[p.Name] = c.Param(p.Name)
		}
	}
	kept := make([]member, 0, len(members))
	for _, m := range members {
		value, is := repeated[m.name]
		switch {
		case s.Properties[m.name] != nil:
			kept = append(kept, m)
		case m.value.Kind() == 'n':
		case !is:
			kept = append(kept, m)
		case !m.equals(value):
			return nil, fault.New(fault.Invalid, "",
				"body.%s: it differs from the value in the address or the header", m.name).
				WithHint("leave it out of the body")
		}
	}
	if len(kept) == len(members) {
		return text, nil
	}
	return bytesOf(kept), nil
}

// jsonRequest is a request with another body, and with the type application/json.
type jsonRequest struct{ gathered }

// Header implements huma.Context.
func (s jsonRequest) Header(name string) string {
	if strings.EqualFold(name, "Content-Type") {
		return "application/json"
	}
	return s.gathered.Header(name)
}

// asClients accepts bodies in the form of public clients; see problem.ForClients.
func (r *Router) asClients(c huma.Context, next func(huma.Context)) {
	op := c.Operation()
	if op.RequestBody == nil || !problem.ForClients(op.Path) {
		next(c)
		return
	}
	odd := oddType(c.Header("Content-Type"))
	if odd && !sameOrigin(c) {
		problem.Send(c, problem.Of(errCrossSite()))
		return
	}
	text, err := io.ReadAll(c.BodyReader())
	if err != nil || int64(len(text)) >= op.MaxBodyBytes { // the library rejects it
		next(gathered{c, io.MultiReader(bytes.NewReader(text), failing{cmp.Or(err, io.EOF)})})
		return
	}
	if schema := r.schemaOf(op); schema != nil {
		if text, err = withoutRepeats(c, schema, text); err != nil {
			problem.Send(c, problem.Of(err))
			return
		}
	}
	rewritten := gathered{c, bytes.NewReader(text)}
	if odd {
		next(jsonRequest{rewritten})
		return
	}
	next(rewritten)
}

// schemaOf returns the schema of the body of an operation; nil if it is not JSON.
func (r *Router) schemaOf(op *huma.Operation) *huma.Schema {
	m := op.RequestBody.Content["application/json"]
	if m == nil {
		return nil
	}
	if m.Schema.Ref == "" {
		return m.Schema
	}
	return r.API.OpenAPI().Components.Schemas.SchemaFromRef(m.Schema.Ref)
}
