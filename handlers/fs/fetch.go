package fs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

const (
	maxRedirects = 10
	// maxSilence is how long a server may take to begin its answer.
	maxSilence = time.Minute
)

// isURL reports whether a source is a URL.
func isURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// validURL rejects URLs that cannot be fetched.
func validURL(attrs map[string]any) []diag.Problem {
	source, _ := attrs["source"].(string)
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Host == "":
		return []diag.Problem{{Attribute: "source",
			Message: "it is not a URL with the name of a host",
			Hint:    "write https://example.com/app-1.2.tar.gz"}}
	case u.User != nil:
		return []diag.Problem{{Attribute: "source",
			Message: "the URL has a user in it, who would be shown",
			Hint:    "give username and password"}}
	case attrs["checksum"] == nil:
		return []diag.Problem{{Attribute: "checksum",
			Message: "a file is only unpacked if its checksum is set, and is fetched again only when " +
				"the checksum changes",
			Hint: "set sha256:… or sha512:…, as its publisher or sha256sum prints it"}}
	case attrs["password"] != nil && u.Scheme != "https":
		return []diag.Problem{{Attribute: "password",
			Message: "over http, everybody on the way can read it", Hint: "use https"}}
	}
	return nil
}

// fetch reads an archive from a server and streams it to w: the caller verifies its checksum before
// it uses the archive.
func fetch(ctx *provider.Context, r provider.Resource, w io.Writer, limit int64) (int64, error) {
	source := text(r, "source")
	if p := validURL(r.Attributes); len(p) > 0 {
		return 0, provider.Errorf(provider.NeedsChange, "%s: %s; %s", p[0].Attribute, p[0].Message,
			p[0].Hint)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return 0, provider.Errorf(provider.NeedsChange, "the source is not a URL")
	}
	req.Header.Set("User-Agent", "southbound")
	req.Header.Set("Accept-Encoding", "identity") // the checksum is that of the file
	if user, password := text(r, "username"), text(r, "password"); user != "" || password != "" {
		ctx.Secret(password)
		req.SetBasicAuth(user, password) // not sent to other servers, see client
	}
	client := client()
	defer client.CloseIdleConnections()
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := patience.AfterFunc(maxSilence, func() { cancel(errSilent) })
	res, err := client.Do(req.WithContext(asking))
	silence.Stop()
	if cause := context.Cause(asking); err != nil && errors.Is(cause, errSilent) {
		err = cause
	}
	if err != nil {
		return 0, unreached(req.URL.Host, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return 0, answered(req.URL.Host, res.StatusCode)
	}
	if res.ContentLength > limit {
		return 0, refused("it has %d bytes, more than max_size and max_files allow",
			res.ContentLength)
	}
	n, err := copyAll(ctx, w, io.LimitReader(res.Body, limit+1))
	switch {
	case n > limit:
		return n, refused("it has more bytes than max_size and max_files allow")
	case err != nil && ctx.Err() == nil && !errors.Is(err, errSpool):
		return n, unreached(req.URL.Host, err)
	}
	return n, err
}

var errSilent = fmt.Errorf("it did not answer within %s", maxSilence)

// client returns an HTTP client that never goes from https to http. It sends the credentials only
// to the server that the URL names: net/http also sends them to subdomains and to other ports.
func client() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableCompression: true}
	return &http.Client{Transport: transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch last := via[len(via)-1]; {
			case len(via) >= maxRedirects:
				return provider.Errorf(provider.Terminal,
					"the server sends it on more than %d times", maxRedirects)
			case last.URL.Scheme == "https" && req.URL.Scheme != "https":
				return provider.Errorf(provider.Terminal, "the server sends it on from https to %s",
					req.URL.Scheme)
			}
			if first := via[0].URL; first.Scheme != req.URL.Scheme || first.Host != req.URL.Host {
				req.Header.Del("Authorization")
			}
			return nil
		}}
}

// unreached explains a failure of the connection. It omits the URL, whose query may be a secret.
func unreached(host string, err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return provider.Errorf(provider.Terminal,
			"fetch the archive from %s: %w; the machine has to know who signed the server's "+
				"certificate", host, err)
	}
	return provider.Errorf(provider.ClassOf(err), "fetch the archive from %s: %w", host, err)
}

// answered classifies the status of an answer.
func answered(host string, status int) error {
	class, hint := provider.Retryable, ""
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		class, hint = provider.Terminal, "; see username and password"
	case http.StatusNotFound, http.StatusGone:
		hint = "; it may be elsewhere, or not there yet"
	}
	return provider.Errorf(class, "fetch the archive from %s: it answered %d %s%s", host, status,
		http.StatusText(status), hint)
}
