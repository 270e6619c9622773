package packages

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"southbound/shared/fault"
)

const (
	maxDocument = 16 << 20   // bytes of an index, of a list of hashes or of a signature
	maxPackage  = 1536 << 20 // bytes of a package, packed and unpacked
)

// web makes requests over https only.
type web struct{ client http.Client }

func newWeb(client *http.Client) *web {
	w := &web{}
	if client != nil {
		w.client = *client
	}
	w.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.Scheme != "https" || len(via) > 10 {
			return fault.New(fault.Refused, "follow redirect", "it leaves https, or there are too many")
		}
		return nil
	}
	return w
}

// hintMirror is the cure for a registry that cannot be used.
const hintMirror = "check the network, or name a mirror or a directory with --from"

// get opens a URL. The caller closes the result. It returns NotFound if there is nothing, and
// Unavailable if the server does not answer properly.
func (w *web) get(ctx context.Context, at string) (io.ReadCloser, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(fault.Refused, "download", "%.200q is not an https address", at)
	}
	u.Fragment = ""
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "download", err)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "download", Err: err, Hint: hintMirror}
	}
	switch {
	case answer.StatusCode == http.StatusOK:
		return answer.Body, nil
	case answer.StatusCode == http.StatusNotFound, answer.StatusCode == http.StatusGone:
		err = fault.New(fault.NotFound, "download", "%s does not exist", u.Redacted()).
			WithHint("check the address of the provider")
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		err = fault.New(fault.Denied, "download", "%s answers %s", u.Host, answer.Status).WithHint(hintMirror)
	default:
		err = fault.New(fault.Unavailable, "download", "%s answers %s", u.Host, answer.Status).
			WithHint(hintMirror)
	}
	answer.Body.Close()
	return nil, err
}

// document reads a short document.
func (w *web) document(ctx context.Context, at string) ([]byte, error) {
	in, err := w.get(ctx, at)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	switch {
	case err != nil:
		return nil, fault.Wrap(fault.Unavailable, "download", err)
	case len(b) > maxDocument:
		return nil, fault.New(fault.Refused, "download", "%.200s is larger than %d MB", at,
			maxDocument>>20)
	}
	return b, nil
}

// decode reads a JSON document.
func (w *web) decode(ctx context.Context, at string, into any) error {
	b, err := w.document(ctx, at)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fault.New(fault.Unavailable, "download", "%.200s is not the expected JSON", at)
	}
	return nil
}

// resolve returns the URL of a reference within a document.
func resolve(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err == nil {
		b, err = b.Parse(ref)
	}
	if err != nil || b.Scheme != "https" {
		return "", fault.New(fault.Refused, "download", "%.200q is not an https address", ref)
	}
	return b.String(), nil
}

// mirror is a network mirror: a server with an index of versions, and of packages for each version.
type mirror struct {
	base string // ends with a slash
	web  *web
}

func newMirror(base string, client *http.Client) (*mirror, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fault.New(fault.Invalid, "open source of providers", "%.200q is not an address", base)
	}
	return &mirror{base: strings.TrimSuffix(base, "/") + "/", web: newWeb(client)}, nil
}

// Versions implements Source.
func (m *mirror) Versions(ctx context.Context, a Address) ([]string, error) {
	var index struct {
		Versions map[string]json.RawMessage `json:"versions"`
	}
	if err := m.web.decode(ctx, m.base+a.String()+"/index.json", &index); err != nil {
		if fault.Is(err, fault.NotFound) {
			return nil, notOffered(a, m.base)
		}
		return nil, err
	}
	return slices.Collect(maps.Keys(index.Versions)), nil
}

// Find implements Source. The hashes that a mirror states are unsigned.
func (m *mirror) Find(ctx context.Context, a Address, version, platform string) (*Package, error) {
	if !validVersion(version) {
		return nil, notOffered(a, m.base)
	}
	var index struct {
		Archives map[string]struct {
			URL    string   `json:"url"`
			Hashes []string `json:"hashes"`
		} `json:"archives"`
	}
	at := m.base + a.String() + "/" + url.PathEscape(version) + ".json"
	if err := m.web.decode(ctx, at, &index); err != nil {
		return nil, err
	}
	archive, ok := index.Archives[platform]
	if !ok {
		return nil, fault.New(fault.NotFound, "find provider", "%s does not have %s %s for %s", m.base,
			a, version, platform).WithHint("it is there for %s",
			strings.Join(slices.Sorted(maps.Keys(index.Archives)), ", "))
	}
	p := &Package{Address: a, Version: version, Platform: platform, Hashes: known(archive.Hashes)}
	var err error
	if p.URL, err = resolve(at, archive.URL); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(index.Archives)) {
		p.AllHashes = append(p.AllHashes, known(index.Archives[name].Hashes)...)
	}
	return p, nil
}

// known returns the hashes of known schemes.
func known(hashes []string) []string {
	return slices.DeleteFunc(slices.Clone(hashes), func(h string) bool { return !ValidHash(h) })
}
