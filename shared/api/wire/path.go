// Package wire holds what both sides of the API share: JSON as it is transferred, names in paths and
// the public description of a server.
package wire

import (
	"net/url"
	"strings"

	"southbound/shared/deploy/state"
)

// ValidEnvironment reports whether s can name an environment.
func ValidEnvironment(s string) bool { return state.ValidEnvironment(s) }

func ValidHash(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// TenantHeader is the header with the environment.
const TenantHeader = "X-Inmanta-Tid"

func EnvironmentPath(env, what string) string {
	return "/v1/environments/" + url.PathEscape(env) + "/" + what
}

const HistorySuffix = "/history"

// GraphSuffix ends the path of the graph of a resource. No id ends with it.
const GraphSuffix = "/graph"

// Segment escapes a name as one segment of a path. It escapes all characters except those that RFC
// 3986 calls unreserved, since a signature of the path is computed over this form. A name of dots
// is escaped, too: otherwise it means a folder.
func Segment(name string) string {
	if strings.Trim(name, ".") == "" {
		return strings.ReplaceAll(name, ".", "%2E")
	}
	return strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
