package server

import (
	"net/http"
	"net/url"
	"strings"

	"southbound/shared/api/wire"
)

// joinSegments accepts slashes in ids of resources and names of parameters in a path. People write
// them unescaped, and gateways forward a path in which %2F has become a slash.
func joinSegments(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u := joined(r.URL); u != nil {
			other := *r
			other.URL = u
			r = &other
		}
		next.ServeHTTP(w, r)
	})
}

// joined returns an address in which the slashes of an id or a name are escaped; nil if they are. A
// path that ends in /history is the history of a parameter, if its slashes are not escaped.
func joined(u *url.URL) *url.URL {
	path := strings.SplitN(u.EscapedPath(), "/", 6) // "", v1, environments, NAME, resources, ID
	if len(path) < 6 || path[1] != "v1" || path[2] != "environments" {
		return nil
	}
	name, end := path[5], ""
	switch path[4] {
	case "resources":
		if whole, is := strings.CutSuffix(name, wire.GraphSuffix); is {
			name, end = whole, wire.GraphSuffix
		}
	case "parameters":
		if whole, is := strings.CutSuffix(name, wire.HistorySuffix); is {
			name, end = whole, wire.HistorySuffix
		}
	default:
		return nil
	}
	if !strings.Contains(name, "/") {
		return nil
	}
	path[5] = strings.ReplaceAll(name, "/", "%2F") + end
	raw := strings.Join(path, "/")
	plain, err := url.PathUnescape(raw)
	if err != nil { // the path was escaped above, so this never fails
		return nil
	}
	out := *u
	out.Path, out.RawPath = plain, raw
	return &out
}
