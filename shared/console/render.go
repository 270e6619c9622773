package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"southbound/shared/fault"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// frame is what the template base.html shows around a page. In a page's template, $ is the frame
// and $.Data the data of its view.
//
// Large: it is the data of one template.
type frame struct {
	Title, Section string
	Env            string // "": none
	EnvURL         string // the first page of the environment; "": there is none
	Data           any
	Nav            []navEntry
	Message        string // says what the action before did
	CanChange      bool   // forms are rendered
	ReadOnly       bool
	SignedIn       bool
	User           string
	Root           string // the first page of the console
	About, SignOut string
	Search         string // the page that searches; "": there is none
	SearchText     string
	Here           string // this page, for forms that return to it
	Live           string // the stream of the page's regions; "": it has none
	Zone           string // the time zone of the page
	ZoneSwitch     string // this page in the other time zone
	ZoneOther      string
	CSS, JS, Icon  string
	Now            timeView
}

// navEntry is an entry of the navigation.
type navEntry struct {
	Name, URL string
	Current   bool
}

// sections are the entries of the navigation of an environment. Entries whose page does not exist
// are left out.
func sections() []struct{ name, path string } {
	return []struct{ name, path string }{
		{"Overview", ""}, {"Resources", "resources"}, {"Agents", "agents"},
		{"Versions", "versions"}, {"Dry runs", "dryruns"}, {"Actions", "actions"},
		{"Parameters", "parameters"}, {"Services", "services"}, {"Orders", "orders"},
		{"Audit", "audit"},
	}
}

// patternOf returns the pattern of a page of the environment.
func patternOf(page string) string {
	if page == "" {
		return "GET /console/{env}/{$}"
	}
	return "GET /console/{env}/" + page
}

// frame returns the frame of a view.
func (r *request) frame(v view) frame {
	s := r.site
	zone := r.zone()
	f := frame{Title: v.Title, Section: v.Section, Env: r.Env, Data: v.Data, Message: r.flashed,
		SignedIn: r.who != nil, User: r.user(), CanChange: r.canChange(), ReadOnly: !r.canChange(),
		Root: r.root(""), About: r.root("about"), SignOut: s.root("signout"),
		CSS: s.root(s.files.url("console.css")), JS: s.root(s.files.url("console.js")),
		Icon: s.root(s.files.url("icon.svg")), Zone: zoneName(zone, r.now()), Now: r.time(r.now())}
	if r.who == nil {
		f.ReadOnly = false
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		f.Here = r.here()
	}
	switch local := zoneName(time.Local, r.now()); {
	case f.Zone != "UTC":
		f.ZoneOther, f.ZoneSwitch = "UTC", r.here("tz", "UTC")
	case local != "UTC":
		f.ZoneOther, f.ZoneSwitch = "local time", r.here("tz", "")
	}
	if r.who != nil && f.Here != "" {
		f.Live = s.root("live?page=" + url.QueryEscape(f.Here))
	}
	if r.Env == "" || r.who == nil {
		return f
	}
	if r.hasPage(patternOf("")) {
		f.EnvURL = r.url("")
	}
	if r.hasPage(patternOf("search")) {
		if f.Search = r.url("search"); v.Template == "search.html" {
			f.SearchText = r.URL.Query().Get("q") // elsewhere it is the filter of a list
		}
	}
	for _, e := range sections() {
		if r.hasPage(patternOf(e.path)) {
			f.Nav = append(f.Nav, navEntry{e.name, r.url(e.path), e.name == v.Section})
		}
	}
	return f
}

// templates renders templates.
type templates struct {
	pages map[string]*template.Template
	err   error // a template does not parse
}

// newTemplates parses all templates. Each page has base.html and the files parts*.html, and its own
// file defines "main".
func newTemplates() *templates {
	l := &templates{pages: map[string]*template.Template{}}
	base, err := template.New("base.html").ParseFS(templateFiles, "templates/base.html",
		"templates/parts*.html")
	if err != nil {
		l.err = err
		return l
	}
	names, _ := fs.Glob(templateFiles, "templates/*.html") // the pattern is valid
	for _, name := range names {
		file := path.Base(name)
		if file == "base.html" || strings.HasPrefix(file, "parts") {
			continue
		}
		page, err := base.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, name)
		}
		if err != nil {
			l.err = err
			continue
		}
		l.pages[file] = page
	}
	return l
}

// render returns a page.
func (l *templates) render(f frame, name string) ([]byte, error) {
	page := l.pages[name]
	if page == nil {
		if l.err != nil {
			return nil, fault.Wrap(fault.Internal, "parse templates", l.err)
		}
		return nil, fault.New(fault.Internal, "", "there is no template %q", name)
	}
	var b bytes.Buffer
	b.Grow(48 << 10) // of most lists
	if err := page.ExecuteTemplate(&b, "base.html", f); err != nil {
		return nil, fault.Wrap(fault.Internal, "", err)
	}
	return b.Bytes(), nil
}

// regions calls f for every region of a page, which is an element with the attribute data-live and
// an id, in order. Regions within regions are part of the outer one. The page is one of templates,
// which escape every < and > of texts and attributes, so a search finds its tags; a tokenizer takes a
// sixth of the time of a page.
func regions(page []byte, f func(id string, text []byte)) {
	const mark = " data-live"
	for at := 0; ; {
		i := bytes.Index(page[at:], []byte(mark))
		if i < 0 {
			return
		}
		start, end := bytes.LastIndexByte(page[:at+i], '<'), bytes.IndexByte(page[at+i:], '>')
		if at += i + len(mark); start < 0 || end < 0 || bytes.IndexByte(page[start:at], '>') >= 0 {
			continue // it is in a text
		}
		tag, id := regionOf(page[start : at-len(mark)+end+1])
		if id == "" {
			continue
		}
		size := sizeOf(page[start:], tag)
		if size == 0 {
			return
		}
		f(id, page[start:start+size])
		at = start + size
	}
}

// regionOf returns the name and the id of a start tag; "": it is no region.
func regionOf(text []byte) (tag, id string) {
	z := html.NewTokenizer(bytes.NewReader(text))
	if z.Next() != html.StartTagToken {
		return "", ""
	}
	name, more := z.TagName()
	return string(name), regionID(z, more)
}

// sizeOf returns the size of the element that a text begins with, which has a tag; 0: it has no end.
func sizeOf(text []byte, tag string) int {
	for at, depth := 0, 0; ; {
		i := bytes.Index(text[at:], []byte(tag))
		if i < 1 {
			return 0
		}
		from := at + i
		at = from + len(tag)
		if at == len(text) || !bytes.ContainsRune([]byte(" \n\t/>"), rune(text[at])) {
			continue // another name, such as dialog of dia
		}
		switch {
		case text[from-1] == '<':
			depth++
		case text[from-1] == '/' && from > 1 && text[from-2] == '<':
			if depth--; depth == 0 {
				return at + bytes.IndexByte(text[at:], '>') + 1
			}
		}
	}
}

// regionID returns the id of a start tag with the attribute data-live; "": it is no region.
func regionID(z *html.Tokenizer, more bool) string {
	live, id := false, ""
	for more {
		var k, v []byte
		k, v, more = z.TagAttr()
		switch string(k) {
		case "data-live":
			live = true
		case "id":
			id = string(v)
		}
	}
	if !live {
		return ""
	}
	return id
}

// pick returns the regions of a page with the given ids, separated by spaces; *: all.
func pick(page []byte, ids string) []byte {
	var out []byte
	want := strings.Fields(ids)
	regions(page, func(id string, text []byte) {
		for _, w := range want {
			if w == id || w == "*" {
				out = append(append(out, text...), '\n')
				return
			}
		}
	})
	return out
}

// etag returns the digest of an answer.
func etag(b []byte) string {
	return `"` + digest(b) + `"`
}

// digest returns a short digest of a text.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(b)                                 // writing to memory does not fail
	_ = z.Close()
	return out.Bytes()
}

// files are the files that pages refer to. Their URLs contain a digest of all of them, so browsers
// keep them. They hold no data and need no session.
type files struct {
	hash string
	all  map[string]file
}

type file struct {
	kind   string // the media type
	text   []byte // nil: only zipped
	zipped []byte
}

func newFiles() *files {
	f := &files{all: map[string]file{}}
	f.add(staticFiles, "static")
	f.addAssets(assetFiles, "assets")
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(f.all)) {
		_, _ = io.WriteString(sum, name+"\x00")
		_, _ = sum.Write(f.all[name].text)
		if f.all[name].text == nil {
			_, _ = sum.Write(f.all[name].zipped)
		}
	}
	f.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return f
}

// add adds the files of a directory that is embedded in the program.
func (f *files) add(from fs.FS, dir string) {
	_ = fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		f.all[strings.TrimPrefix(name, dir+"/")] = file{mediaType(name), text, zipped(text)}
		return nil
	}) // files in the program can be read
}

// mediaType does not ask the system, whose table may be wrong.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

// url returns the URL of a file below the base of the console.
func (f *files) url(name string) string { return "assets/" + f.hash + "/" + name }

// serve answers a request for a file; false: it is for none.
func (f *files) serve(w http.ResponseWriter, r *http.Request, inner string) bool {
	name, is := strings.CutPrefix(inner, "/assets/"+f.hash+"/")
	if !is {
		return false
	}
	x, has := f.all[name]
	if !has {
		http.NotFound(w, r)
		return true
	}
	h := w.Header()
	h.Set("Content-Type", x.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Vary", "Accept-Encoding")
	if name == diagramPage {
		h.Set("Content-Security-Policy", diagramPolicy)
	}
	text := x.text
	switch {
	case strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		h.Set("Content-Encoding", "gzip")
		text = x.zipped
	case text == nil:
		text = unzipped(x.zipped)
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(text)
	}
	return true
}
