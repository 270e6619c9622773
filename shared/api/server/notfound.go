package server

import (
	"net/http"
	"strings"

	"southbound/shared/api/problem"
	"southbound/shared/fault"
)

// notFound answers requests that match no route: if the address is known, with its methods.
func notFound(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut,
			http.MethodPost, http.MethodPatch, http.MethodDelete} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "" && pattern != "/" {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			problem.Write(w,
				problem.Of(fault.New(fault.NotFound, "", "there is no such address").
					WithHint("GET /openapi.json describes all operations")))
			return
		}
		methods := strings.Join(allowed, ", ")
		w.Header().Set("Allow", methods)
		problem.Write(w, problem.WithStatus(http.StatusMethodNotAllowed,
			problem.Failure{Kind: fault.Usage, Message: "this address does not accept this method",
				Hint: "use " + methods, Problems: []problem.Wrong{}}))
	})
}
