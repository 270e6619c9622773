package modtool

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/pep440"
	"southbound/shared/lang/pep508"
	"southbound/shared/patience"
	"southbound/shared/pattern"
)

// index holds the package indexes of a project (PEP 503 and 691).
type index struct {
	urls  []string
	named bool              // the project configures them
	known map[string][]file // wheels by package
	// sources are the known source distributions by package.
	sources map[string][]file
}

// file is a wheel or a source distribution in an index.
type file struct {
	name    string
	url     string
	sha256  string
	version pep440.Version
	wheel   bool
}

// index returns the package indexes of the project: those in the section pip, else those of type
// package in repo (the old form), else pip's default index.
func (p *pipTool) index() *index {
	if p.pages != nil {
		return p.pages
	}
	x := &index{known: map[string][]file{}, sources: map[string][]file{}}
	p.pages = x
	if p.meta.Pip.Index != "" {
		x.urls = append(x.urls, p.meta.Pip.Index)
	}
	x.urls = append(x.urls, p.meta.Pip.Extra...)
	if p.meta.Pip.Index == "" {
		for _, r := range p.meta.Repos {
			if r.Type == "package" {
				x.urls = append(x.urls, r.URL)
			}
		}
	}
	if x.named = len(x.urls) > 0; !x.named {
		x.urls = []string{"https://pypi.org/simple"}
		if u := os.Getenv("PIP_INDEX_URL"); u != "" {
			x.urls[0] = u
		}
		x.urls = append(x.urls, strings.Fields(os.Getenv("PIP_EXTRA_INDEX_URL"))...)
	}
	return x
}

// maxIndex limits the bytes of a page of an index, and maxWheel those of a wheel.
const (
	maxIndex = 32 << 20
	maxWheel = 256 << 20
)

// fetchLimit is the time limit of one request.
const fetchLimit = 5 * time.Minute

// get fetches an address; found is false if the server answers 404.
func get(
	ctx context.Context,
	address, accept string,
	limit int64,
) (body []byte, kind string, found bool, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, "", false, fault.New(
			fault.Invalid,
			"ask the index",
			"its address cannot be read",
		)
	}
	doing := "fetch " + u.Host + u.Path
	user := u.User
	u.User = nil
	within, cancel := patience.WithTimeout(ctx, fetchLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", false, fault.Wrap(fault.Invalid, doing, err)
	}
	req.Header.Set("Accept", accept)
	if user != nil {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	} else if name, password, ok := netrc(u.Hostname()); ok {
		req.SetBasicAuth(name, password)
	}
	// http.Client sends no password on a redirect to another host.
	res, err := new(http.Client).Do(req)
	if err != nil && ctx.Err() == nil {
		return nil, "", false, fault.New(fault.Unavailable, doing, "%v", err).
			WithHint("see that this machine reaches the index, or name another in pip of " +
				"project.yml")
	}
	if err != nil {
		return nil, "", false, fault.Wrap(fault.Unavailable, doing, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return nil, "", false, nil
	case res.StatusCode == http.StatusUnauthorized || res.StatusCode == http.StatusForbidden:
		return nil, "", false, fault.New(fault.Denied, doing, "the index refuses: %s", res.Status).
			WithHint("put a name and password for %s into the file .netrc of your home directory",
				u.Hostname())
	case res.StatusCode != http.StatusOK:
		return nil, "", false, fault.New(
			fault.Unavailable,
			doing,
			"the index answers %s",
			res.Status,
		)
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fault.New(fault.Full, doing, "it is larger than %d bytes", limit)
	}
	return body, res.Header.Get("Content-Type"), true, fault.Wrap(fault.Unavailable, doing, err)
}

// netrc returns the credentials of a machine in the file .netrc.
func netrc(machine string) (name, password string, ok bool) {
	file := os.Getenv("NETRC")
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", "", false
		}
		file = filepath.Join(home, ".netrc")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", false
	}
	return parseNetrc(string(text), machine)
}

func parseNetrc(text, machine string) (name, password string, ok bool) {
	words := bufio.NewScanner(strings.NewReader(text))
	words.Split(bufio.ScanWords)
	next := func() string {
		words.Scan()
		return words.Text()
	}
	ours := false
	for words.Scan() {
		switch words.Text() {
		case "machine":
			if ours && ok {
				return name, password, true
			}
			ours = next() == machine
		case "default":
			if ours && ok {
				return name, password, true
			}
			ours = true
		case "login":
			if v := next(); ours {
				name, ok = v, true
			}
		case "password":
			if v := next(); ours {
				password, ok = v, true
			}
		}
	}
	return name, password, ours && ok
}

// files returns the platform-independent wheels of a package, from all indexes.
func (x *index) files(ctx context.Context, pkg string) ([]file, error) {
	pkg = pep508.Canonical(pkg)
	if out, ok := x.known[pkg]; ok {
		return out, nil
	}
	const accept = "application/vnd.pypi.simple.v1+json, " +
		"application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
	var out []file
	for _, base := range x.urls {
		page := strings.TrimRight(base, "/") + "/" + pkg + "/"
		body, kind, found, err := get(ctx, page, accept, maxIndex)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		entries, err := pageEntries(body, kind)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, "read the index's page of "+pkg, err)
		}
		for _, e := range entries {
			if f, ok := e.file(wheelName(), page, pkg); ok {
				f.wheel = true
				out = append(out, f)
			}
			if f, ok := e.file(sourceName(), page, pkg); ok {
				x.sources[pkg] = append(x.sources[pkg], f)
			}
		}
	}
	x.known[pkg] = out
	return out, nil
}

// entry is a file on a page.
type entry struct {
	Filename string            `json:"filename"`
	URL      string            `json:"url"`
	Hashes   map[string]string `json:"hashes"`
	Yanked   any               `json:"yanked"`
}

var errKind = errors.New("it is neither JSON nor HTML")

func pageEntries(body []byte, kind string) ([]entry, error) {
	switch {
	case strings.Contains(kind, "json"):
		var page struct {
			Files []entry `json:"files"`
		}
		err := json.Unmarshal(body, &page)
		return page.Files, err
	case strings.Contains(kind, "html"):
		return links(string(body)), nil
	}
	return nil, errKind
}

func links(text string) []entry {
	var out []entry
	z := html.NewTokenizer(strings.NewReader(text))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken:
			t := z.Token()
			if t.Data != "a" {
				continue
			}
			e := entry{Hashes: map[string]string{}}
			for _, a := range t.Attr {
				switch a.Key {
				case "href":
					e.URL = a.Val
				case "data-yanked":
					e.Yanked = true
				}
			}
			before, fragment, _ := strings.Cut(e.URL, "#")
			if name, sum, ok := strings.Cut(fragment, "="); ok {
				e.Hashes[name] = sum
			}
			e.URL = before
			e.Filename, _ = url.PathUnescape(path.Base(before))
			out = append(out, e)
		}
	}
}

var wheelName = pattern.Lazy(`^([^-]+)-([^-]+)(?:-\d[^-]*)?-py[\w.]*-none-any\.whl$`)

var sourceName = pattern.Lazy(`^(.+)-([^-]+)\.tar\.gz$`)

// file returns an entry as a file of a package if its name has the given form; false otherwise. The
// credentials in the address of the page are valid for files of the same host.
func (e entry) file(form *regexp.Regexp, page, pkg string) (file, bool) {
	m := form.FindStringSubmatch(e.Filename)
	if yanked := e.Yanked != nil && e.Yanked != false; m == nil || yanked ||
		pep508.Canonical(m[1]) != pkg {
		return file{}, false
	}
	v, err := pep440.Parse(m[2])
	if err != nil {
		return file{}, false
	}
	base, err := url.Parse(page)
	if err != nil {
		return file{}, false
	}
	at, err := base.Parse(e.URL)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" {
		return file{}, false
	}
	if at.Host == base.Host {
		at.User = base.User
	}
	return file{name: e.Filename, url: at.String(), sha256: e.Hashes["sha256"], version: v}, true
}

// best returns the first file with the highest version that constraints allow; false if none does.
func best(files []file, set pep440.Set, pre bool) (file, bool) {
	var versions []pep440.Version
	for _, f := range files {
		versions = append(versions, f.version)
	}
	v, ok := set.Best(versions, pre)
	if !ok {
		return file{}, false
	}
	n := slices.IndexFunc(files, func(f file) bool { return f.version.Compare(v) == 0 })
	return files[n], true
}

// wantsPre reports whether pre-releases may be installed.
func wantsPre(meta *metadata.Project) bool {
	if meta.Pip.Pre != nil {
		return *meta.Pip.Pre
	}
	return meta.InstallMode != metadata.Release
}
