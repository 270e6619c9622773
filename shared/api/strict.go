package api

import (
	stdjson "encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"southbound/shared/fault"
)

// strict reads bodies so that nothing in them is passed over: a member that is not known, or in another case, twice, or text that is not
// UTF-8 is refused. What is read into any is checked against the description.
func strict() map[string]huma.Format {
	f := huma.Format{
		Marshal: func(w io.Writer, v any) error { return huma.DefaultJSONFormat.Marshal(w, v) },
		Unmarshal: func(data []byte, v any) error {
			if loose, is := v.(*any); is {
				if err := json.Unmarshal(data, new(any)); err != nil { // names that are there twice
					return err
				}
				return stdjson.Unmarshal(data, loose)
			}
			return json.Unmarshal(data, v, json.RejectUnknownMembers(true))
		},
	}
	return map[string]huma.Format{"application/json": f, "json": f}
}

// exact makes schemas say what is so: lists are never null.
func exact(schemas map[string]*huma.Schema) {
	for _, s := range schemas {
		exactly(s)
	}
}

func exactly(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
		exactly(s.Items)
	}
	for _, p := range s.Properties {
		exactly(p)
	}
	if more, is := s.AdditionalProperties.(*huma.Schema); is {
		exactly(more)
	}
}

// noSuch answers what no route does: with the methods that there are, if the address is known.
func noSuch(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" && pattern != "/" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			writeProblem(w, problemOf(fault.New(fault.NotFound, "", "there is no such address").WithHint("GET /openapi.json describes what there is")))
			return
		}
		methods := strings.Join(allowed, ", ")
		w.Header().Set("Allow", methods)
		writeProblem(w, problemWith(http.StatusMethodNotAllowed, Failure{Kind: fault.Usage, Message: "this address is not asked with that method",
			Hint: "use " + methods, Problems: []Wrong{}}))
	})
}

// The times that a client has.
const (
	refusedTime = time.Second      // for what is left of a request that is refused
	bodyTime    = 5 * time.Minute  // for a body that is no file: at most 8 MB
	silentTime  = 30 * time.Second // between two pieces of a file
)

// patient is the body of a file: it may take long as a whole, but not between two pieces.
type patient struct {
	io.ReadCloser
	rc *http.ResponseController
}

// Read implements io.Reader.
func (p patient) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(silentTime)) // where it cannot be set, who serves has limits of its own
	return p.ReadCloser.Read(b)                          //nolint:wrapcheck // io.EOF must stay itself
}
