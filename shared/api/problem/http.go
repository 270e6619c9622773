package problem

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/wire"
)

// ForClients reports whether public clients of the peer use a path. Requests there differ from
// those of our own client in four ways:
//
//   - JSON arrives as text/plain, as a form, or without a type (see oddType)
//   - the body repeats parameters of the path (see withoutRepeats)
//   - the body has null for members that our client omits (see withoutRepeats)
//   - errors have to be application/json exactly (see plainErrors)
func ForClients(path string) bool {
	return strings.HasPrefix(path, "/lsm/") || strings.HasPrefix(path, "/api/")
}

// plainErrors writes problems as application/json: public clients decode no other type.
type plainErrors struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p plainErrors) WriteHeader(status int) {
	if p.Header().Get("Content-Type") == MediaType {
		p.Header().Set("Content-Type", "application/json")
	}
	p.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (p plainErrors) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// ForPublicClients wraps the answers to public clients in plainErrors.
func ForPublicClients(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ForClients(r.URL.Path) {
			w = plainErrors{w}
		}
		next.ServeHTTP(w, r)
	})
}

func Write(w http.ResponseWriter, p *ErrorBody) {
	b, err := wire.Encode(p)
	if err != nil {
		b = nil
	}
	w.Header().Set("Content-Type", MediaType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(b, '\n'))
}

// Send writes an error, in place of the library.
func Send(c huma.Context, p *ErrorBody) {
	c.SetHeader("Content-Type", MediaType)
	c.SetStatus(p.Status)
	if b, err := wire.Encode(p); err == nil {
		_, _ = c.BodyWriter().Write(b)
	}
}
