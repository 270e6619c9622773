package server

import (
	"net/http"
	"strconv"
	"strings"

	"southbound/shared/api/wire"
)

// minPacked is the size in bytes from which an answer is compressed: an answer that fits into one
// packet is not.
const minPacked = 1400

// send writes a buffered answer, compressed if that helps and the client accepts it.
func (b *buffered) send(w http.ResponseWriter, r *http.Request) {
	body, h := b.body.Bytes(), w.Header()
	if len(body) >= minPacked && h.Get("Content-Encoding") == "" {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(r.Header.Get("Accept-Encoding")) {
			body = wire.Gzip(body)
			h.Set("Content-Encoding", "gzip")
			h.Del("Content-Length")
			if tag := h.Get("ETag"); tag != "" && !strings.HasPrefix(tag, "W/") {
				h.Set("ETag", "W/"+tag) // the same answer in other bytes
			}
		}
	}
	if b.status != 0 {
		w.WriteHeader(b.status)
	}
	_, _ = w.Write(body)
}

// takesGzip parses a list such as "br, gzip;q=0.5, *;q=0".
func takesGzip(list string) bool {
	takes := false
	for _, item := range strings.Split(list, ",") {
		name, parameters, _ := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		if name != "*" && !strings.EqualFold(name, "gzip") {
			continue
		}
		wants := true
		if key, value, _ := strings.Cut(strings.TrimSpace(parameters),
			"="); strings.EqualFold(strings.TrimSpace(key), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			wants = err == nil && q > 0
		}
		if name != "*" {
			return wants
		}
		takes = wants
	}
	return takes
}
