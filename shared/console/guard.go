package console

import (
	"errors"
	"mime"
	"net/http"
	"time"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// maxBody is the limit of the body of a request, in bytes.
const maxBody = 4 << 20

// bodyTime is how long a client may take to send a body.
const bodyTime = time.Minute

// regionHeader is the header of a request for some regions of a page: their ids, separated by
// spaces, or * for all.
const regionHeader = "X-Region"

// unsafeMethod reports whether a method may change something.
func unsafeMethod(m string) bool {
	return m != http.MethodGet && m != http.MethodHead && m != http.MethodOptions
}

// guarded admits requests: those that name this server as their host, whose changes come from its
// own pages, and whose bodies are within the limit. It sets the headers of every answer.
func (s *site) guarded(next http.Handler) http.Handler {
	hosts := api.Guard{Hosts: s.o.Hosts, AnyAddress: s.o.AnyAddress}
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "another site has sent this request; open the console and repeat the action "+
			"there", http.StatusForbidden)
	}))
	checked := cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		securityHeaders(w.Header())
		if !hosts.KnowsHost(r.Host) {
			http.Error(w, "the Host of the request is not one of this server; use the address that "+
				"southbound printed, or name this one with --host", http.StatusForbidden)
			return
		}
		if part(r) && !sameOrigin(r) {
			http.Error(w, "parts of pages are only for pages of this console", http.StatusForbidden)
			return
		}
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost:
		default:
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
			return
		}
		if r.Body != nil && r.Body != http.NoBody { // a server without deadlines has its own
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		checked.ServeHTTP(w, r)
	})
}

// part reports whether a request is for a part of a page, or for a stream of parts.
func part(r *http.Request) bool {
	return r.Header.Get(regionHeader) != "" || r.Header.Get("Accept") == "text/event-stream"
}

// sameOrigin reports whether a page of this console has made a request. A browser sends no such
// header to a site without TLS on another machine; there the cookie, which only this site gets,
// decides.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "":
		return true
	}
	return false
}

// parseForm reads the form of a POST.
func parseForm(w http.ResponseWriter, r *http.Request) error {
	err := r.ParseForm()
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil &&
		kind == "multipart/form-data" {
		err = r.ParseMultipartForm(maxBody) //nolint:gosec // guard limits the body
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		w.Header().Set("Connection", "close")
		return fault.New(fault.Full, "", "the form has more than 4 MB").
			WithHint("go back, shorten it, and send it again; nothing was changed")
	case err != nil:
		return fault.New(fault.Usage, "", "the form cannot be read: %v", err).
			WithHint("go back and send it again; nothing was changed")
	}
	return nil
}
