package net

import (
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

type handler struct {
	textfile.Texts
	listed string // the file that is listed
}

func newHandler(e textfile.Editor) handler {
	return handler{textfile.Texts{Store: e, Place: fileOf, Observe: observe,
		Differs: differs, Change: changed}, defaultFile}
}

func fileOf(r provider.Resource) string {
	s, _ := r.Attributes["file"].(string)
	return s
}

func observe(r provider.Resource, p *textfile.Page) (provider.Observation, error) {
	w, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	return w.observe(r, p.Lines), nil
}

// differs reports whether the lines of a name differ from their description.
func differs(r provider.Resource, seen provider.Observation) bool {
	for _, name := range []string{"ip", "aliases", "comment"} {
		if want := r.Attributes[name]; want != nil &&
			!resource.Equal(want, seen.Attributes[name]) {
			return true
		}
	}
	return false
}

func changed(item provider.BatchChange, p *textfile.Page) error {
	w, err := wantedOf(item.Resource)
	if err != nil {
		return err
	}
	if item.Change == diff.Purged {
		for _, i := range slices.Backward(w.own(p.Lines)) {
			p.Replace(i, i+1)
		}
		return nil
	}
	p.Exists = true
	w.put(p.Lines)
	return nil
}

// List implements provider.Lister: the names in /etc/hosts, or in the file that the request names.
// A name whose lines differ in aliases or comment is listed without these.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	path := h.listed
	if s := fileOf(ctx.Desired()); s != "" {
		path = s
	}
	text, err := h.Store.Read(ctx, path)
	if err != nil {
		return err
	}
	ls := textfile.LinesOf(text.Bytes)
	of := map[string][]entry{}
	var names []string
	for i := range ls.Len() {
		e, ok := parse(ls.At(i))
		if !ok {
			continue
		}
		key := strings.ToLower(e.name)
		if of[key] == nil {
			names = append(names, key)
		}
		of[key] = append(of[key], e)
	}
	for _, name := range names {
		if err := found(provider.Found{Attributes: listed(path, of[name])}); err != nil {
			return err
		}
	}
	return nil
}

// listed describes the lines of one name.
func listed(path string, entries []entry) map[string]any {
	first := entries[0]
	attrs := map[string]any{"name": first.name, "file": path}
	var ips []string
	same := true
	for _, e := range entries {
		ips = append(ips, e.ip.String())
		same = same && e.comment == first.comment && slices.Equal(e.aliases, first.aliases)
	}
	attrs["ip"] = values(ips)
	if len(ips) == 1 {
		attrs["ip"] = ips[0]
	}
	if same && len(first.aliases) > 0 {
		attrs["aliases"] = values(first.aliases)
	}
	if same && first.comment != "" {
		attrs["comment"] = strings.ToValidUTF8(first.comment, "?")
	}
	return attrs
}
