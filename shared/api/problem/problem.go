package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/wire"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Failure is an error for programs, on the command line and in answers of the API.
type Failure struct {
	Kind     fault.Kind `json:"kind"`
	Message  string     `json:"message"`
	Hint     string     `json:"hint,omitempty"`
	Problems []Wrong    `json:"problems"`
	// More is the number of omitted problems.
	More int `json:"more,omitempty" doc:"number of problems beyond those listed"`
}

// Wrong is one problem of an input.
type Wrong struct {
	File      string         `json:"file"`
	Line      int            `json:"line"`
	Column    int            `json:"column"`
	Resource  string         `json:"resource"`
	Attribute string         `json:"attribute"`
	Instance  string         `json:"instance,omitempty" doc:"id of the wrong instance of a service"`
	Identity  string         `json:"identity,omitempty" doc:"identity of the instance, if it has one"`
	Code      string         `json:"code,omitempty" doc:"stable code of the problem, if it has one"`
	Message   string         `json:"message"`
	Hint      string         `json:"hint"`
	Pointer   string         `json:"pointer,omitempty" doc:"JSON pointer to the wrong value in the body of the request"`
	Related   []diag.Related `json:"related,omitzero" doc:"other positions of the same problem; always present with a code"`
	// Place replaces file, line and column if only the client knows these.
	Place *Place `json:"place,omitempty"`
	// Others replaces Related.
	Others []Place `json:"related_places,omitempty"`
}

// Place is a position in an uploaded export.
type Place struct {
	Index     int    `json:"resource_index" doc:"index of the resource in the chunks, from 0; -1: an agent"`
	Attribute string `json:"attribute_at" doc:"attribute or member; empty: the resource itself"`
	Agent     string `json:"agent_at,omitempty" doc:"the described agent"`
}

// FailureOf writes an error for programs.
func FailureOf(err error) Failure {
	problems, more := diag.Of(err)
	kind, message := fault.KindOf(err), err.Error()
	var refused *fault.Error
	switch {
	case len(problems) == 0:
	case kind == fault.Refused && errors.As(err, &refused):
		message = refused.Message
	default:
		kind, message = fault.Invalid, CountProblems(len(problems)+more)+"; nothing was stored"
		if len(problems) == 1 {
			only := problems[0]
			if _, is := Placeless(only.Pos); is {
				only.Pos = diag.Pos{}
			}
			message = only.String()
		}
	}
	if kind == fault.Unknown {
		kind = fault.Internal
	}
	f := Failure{Kind: kind, Message: message, Hint: fault.HintOf(err),
		Problems: make([]Wrong, 0, len(problems)), More: more}
	for _, p := range problems {
		f.Problems = append(f.Problems, WrongOf(p))
	}
	return f
}

// codeResource is the compiler's code for problems with the resources of a model.
const codeResource = "resource"

// WrongOf writes a problem for programs.
func WrongOf(p diag.Problem) Wrong {
	w := Wrong{File: p.File, Line: p.Line, Column: p.Column, Resource: p.Resource,
		Attribute: p.Attribute, Instance: p.Instance, Identity: p.Identity, Code: p.Code, Message: p.Message, Hint: p.Hint, Pointer: p.Pointer}
	if at, is := Placeless(p.Pos); is {
		w.File, w.Line, w.Place = "", 0, &at
	}
	for _, at := range p.Related {
		if other, is := Placeless(at.Pos); is {
			w.Others = append(w.Others, other)
		} else {
			w.Related = append(w.Related, at)
		}
	}
	if w.Code == "" && strings.HasSuffix(w.File, ".cf") {
		// The checks of resources do not know that a model made the resources.
		w.Code = codeResource
	}
	if w.Code != "" { // these problems have all members
		w.Related = wire.OrEmpty(w.Related)
	}
	return w
}

// CountProblems returns the number of problems as text.
func CountProblems(n int) string {
	if n == 1 {
		return "1 problem"
	}
	return fmt.Sprintf("%d problems", n)
}

// AsError converts the failure back to an error. where, if not nil, returns the position of the
// resource with an index, or of a part of it.
func (f Failure) AsError(where func(at Place) diag.Pos) error {
	if len(f.Problems) == 0 {
		return &fault.Error{Kind: f.Kind, Message: f.Message, Hint: f.Hint}
	}
	var out diag.Problems
	for _, w := range f.Problems {
		p := diag.Problem{Pos: diag.Pos{File: w.File, Line: w.Line, Column: w.Column},
			Resource: w.Resource, Attribute: w.Attribute, Instance: w.Instance,
			Identity: w.Identity, Code: w.Code, Message: w.Message, Hint: w.Hint, Pointer: w.Pointer, Related: w.Related}
		if w.Place != nil && where != nil {
			p.Pos = where(*w.Place)
		}
		for _, at := range w.Others {
			if where != nil {
				p.Related = append(p.Related, diag.At(where(at))...)
			}
		}
		out.Add(p)
	}
	if f.Kind == fault.Refused {
		return &fault.Error{Kind: f.Kind, Message: f.Message, Hint: f.Hint, Err: out.ErrAnd(f.More)}
	}
	return out.ErrAnd(f.More)
}

// ErrorBody is the body of an error answer, in the form of RFC 9457.
type ErrorBody struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Message is all of Err in one text, for clients that show only this text.
	Message string  `json:"message"`
	Err     Failure `json:"error"`
}

// Error implements error.
func (p *ErrorBody) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *ErrorBody) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *ErrorBody) ContentType(string) string { return MediaType }

const MediaType = "application/problem+json"

func Of(err error) *ErrorBody {
	f := FailureOf(err)
	return WithStatus(StatusOf(f.Kind), f)
}

func WithStatus(status int, f Failure) *ErrorBody {
	return &ErrorBody{
		"about:blank", http.StatusText(status), status, f.Message, f.text(), f,
	}
}

// maxListed is how many problems the text of an error has.
const maxListed = 10

// text returns the failure as one text: its message, the problems if there are several, and the
// hint.
func (f *Failure) text() string {
	out := f.Message
	if len(f.Problems) > 1 {
		var all []string
		for _, w := range f.Problems[:min(len(f.Problems), maxListed)] {
			all = append(all, diag.Problem{Pos: diag.Pos{File: w.File, Line: w.Line,
				Column: w.Column}, Resource: w.Resource, Attribute: w.Attribute,
				Instance: w.Instance, Identity: w.Identity, Message: w.Message}.String())
		}
		out += ": " + strings.Join(all, "; ")
	}
	hint := f.Hint
	if hint == "" && len(f.Problems) == 1 {
		hint = f.Problems[0].Hint
	}
	if hint != "" {
		out += " (" + hint + ")"
	}
	return out
}

// StatusOf returns the status of HTTP for a kind of error.
func StatusOf(kind fault.Kind) int {
	switch kind {
	case fault.Usage:
		return http.StatusBadRequest
	case fault.Invalid:
		return http.StatusUnprocessableEntity
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Refused:
		return http.StatusPreconditionFailed
	case fault.Conflict, fault.Fenced:
		return http.StatusConflict
	case fault.Busy, fault.Unavailable, fault.Canceled:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Full:
		return http.StatusInsufficientStorage
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unsupported:
		return http.StatusNotImplemented
	}
	return http.StatusInternalServerError
}

// KindOf returns the kind of an error from a status, for answers without a kind.
func KindOf(status int) fault.Kind {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.Denied
	case status == http.StatusNotFound:
		return fault.NotFound
	case status == http.StatusConflict:
		return fault.Conflict
	case status == http.StatusUnprocessableEntity, status == http.StatusRequestEntityTooLarge:
		return fault.Invalid
	case status == http.StatusNotImplemented:
		return fault.Unsupported
	case status == http.StatusTooManyRequests, status >= 500:
		return fault.Unavailable
	}
	return fault.Usage
}

// FromLibrary converts the errors of huma to ours. It omits the sent values: one may be a secret.
func FromLibrary(_ huma.Context, _ string, v any) (any, error) {
	e, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var b strings.Builder
	b.WriteString(e.Detail)
	for i, d := range e.Errors {
		if i == 10 {
			b.WriteString("; and more")
			break
		}
		fmt.Fprintf(&b, "; %s: %s", d.Location, d.Message)
	}
	return WithStatus(e.Status, Failure{Kind: KindOf(e.Status), Message: b.String(),
		Hint: "GET /openapi.json describes all operations", Problems: []Wrong{}}), nil
}
