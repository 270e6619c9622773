package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// conditional gives every answer to a GET or a HEAD an entity tag of its bytes, and answers 304 if
// the client already has them. Long answers are compressed for clients that accept compression.
func conditional(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		b := &buffered{header: h}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Cache-Control", "no-store")
			next.ServeHTTP(b, r)
			b.send(w, r)
			return
		}
		next.ServeHTTP(b, r)
		if h.Get("Cache-Control") == "" {
			h.Set("Cache-Control", "no-cache, private")
		}
		if b.status == 0 || b.status == http.StatusOK {
			tag := h.Get("ETag")
			if tag == "" {
				sum := sha256.Sum256(b.body.Bytes())
				tag = `"` + hex.EncodeToString(sum[:16]) + `"`
				h.Set("ETag", tag)
			}
			if matches(r.Header.Get("If-None-Match"), tag) {
				h.Del("Content-Type")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		b.send(w, r)
	})
}

// matches reports whether a list of tags has tag.
func matches(list, tag string) bool {
	for _, t := range strings.Split(list, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}

// buffered holds an answer, whose size is bounded.
type buffered struct {
	header http.Header
	body   bytes.Buffer
	status int
}

// Header implements http.ResponseWriter.
func (b *buffered) Header() http.Header { return b.header }

// Write implements http.ResponseWriter.
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(status int) { b.status = status }
