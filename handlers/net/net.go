// Package net manages name resolution of the machine it runs on.
package net

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const hostType = `Pattern[/\A[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\z/]`

// defaultFile is the system's file.
const defaultFile = "/etc/hosts"

// HostEntry declares net::HostEntry: the addresses of a name in a file such as /etc/hosts.
func HostEntry() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{"file"},
			Name:   "net::HostEntry",
			Description: "The addresses of a host name in /etc/hosts, or in a file of the same format, with a " +
				"line for each address. Lines of other names, comments, and correct lines of this name " +
				"stay byte for byte.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: hostType, Behaviour: schema.Namevar,
					Description: "the host name, the first one on its lines"},
				{Name: "file", Type: `Pattern[/\A\//]`, Default: defaultFile,
					Behaviour: schema.Namevar, Description: "the absolute path of the file"},
				{Name: "ip", Type: "Variant[String[1],Array[String[1],1]]",
					Description: "its address, or all of its addresses, of both families"},
				{Name: "aliases", Type: "Optional[Array[" + hostType + "]]",
					Description: "all its other names; absent: existing ones stay"},
				{Name: "comment", Type: `Optional[Pattern[/\A[^\r\n]*\z/]]`,
					Description: "the comment on its lines; absent: existing comments stay"},
			},
			Features: []string{"batch", "noop", "discover"},
			Machine:  true,
			Validate: validate,
			Thing:    thingOf,
			Keeps:    schema.KeepsPaths("file"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "fs::File", Keys: map[string]string{"path": "$file"}},
				{Kind: schema.Require, Type: "fs::Directory",
					Keys: map[string]string{"path": "${file|dir}"}},
			},
		},
		Handler: newHandler(textfile.Editor{}),
	}
}

// thingOf names the entries of a host name in a file. Host names are case-insensitive.
func thingOf(attrs map[string]any) schema.Thing {
	name, _ := attrs["name"].(string)
	file := schema.CleanPath(attrs["file"])
	if name == "" || file == "" {
		return schema.Thing{}
	}
	return schema.NewThing(fmt.Sprintf("the entries of %s in %s", strings.ToLower(name), file))
}

func validate(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	if path, ok := attrs["file"].(string); ok && (filepath.Clean(path) != path || path == "/") {
		out = append(out,
			diag.Problem{Attribute: "file",
				Message: fmt.Sprintf("the path %q is not in its shortest form", path),
				Hint:    "write " + filepath.Clean(path)})
	}
	seen := map[netip.Addr]bool{}
	for _, s := range list(attrs["ip"]) {
		ip, err := netip.ParseAddr(s)
		switch {
		case err != nil:
			out = append(out,
				diag.Problem{Attribute: "ip", Message: fmt.Sprintf("%q is not an address", s),
					Hint: "write 10.0.0.7 or 2001:db8::7"})
		case seen[ip]:
			out = append(out,
				diag.Problem{Attribute: "ip", Message: fmt.Sprintf("the address %s is given twice",
					s), Hint: "leave one out"})
		}
		seen[ip] = true
	}
	names := map[string]bool{strings.ToLower(fmt.Sprint(attrs["name"])): true}
	for _, s := range list(attrs["aliases"]) {
		if names[strings.ToLower(s)] {
			out = append(out,
				diag.Problem{Attribute: "aliases",
					Message: fmt.Sprintf("the name %s is given twice", s), Hint: "leave one out"})
		}
		names[strings.ToLower(s)] = true
	}
	return out
}

// list returns the texts of a value that is one text or several.
func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// entry is a line of a hosts file.
type entry struct {
	ip      netip.Addr
	name    string
	aliases []string
	comment string
}

// parse reads a line; false for one that is not an entry.
func parse(line string) (entry, bool) {
	rest, comment, _ := strings.Cut(line, "#")
	words := strings.Fields(rest)
	if len(words) < 2 {
		return entry{}, false
	}
	ip, err := netip.ParseAddr(words[0])
	if err != nil {
		return entry{}, false
	}
	return entry{ip, words[1], words[2:], strings.TrimSpace(comment)}, true
}

func (e entry) String() string {
	out := e.ip.String() + "\t" + strings.Join(append([]string{e.name}, e.aliases...), " ")
	if e.comment != "" {
		out += "\t# " + e.comment
	}
	return out
}

// wanted holds the attributes of a resource.
type wanted struct {
	name    string
	ips     []netip.Addr
	aliases []string
	comment string
	isSet   map[string]bool // which attributes the resource sets
}

func wantedOf(r provider.Resource) (wanted, error) {
	w := wanted{aliases: list(r.Attributes["aliases"]),
		isSet: map[string]bool{"aliases": r.Attributes["aliases"] != nil,
			"comment": r.Attributes["comment"] != nil}}
	w.name, _ = r.Attributes["name"].(string)
	comment, _ := r.Attributes["comment"].(string)
	w.comment = strings.TrimSpace(comment)
	for _, s := range list(r.Attributes["ip"]) {
		ip, err := netip.ParseAddr(s)
		if err != nil {
			return w, provider.Errorf(provider.NeedsChange, "%q is not an address", s)
		}
		w.ips = append(w.ips, ip)
	}
	for _, s := range append([]string{w.name}, w.aliases...) {
		// the value of a reference is checked here
		if s == "" ||
			strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == '#' || c > '~' }) {
			return w, provider.Errorf(provider.NeedsChange, "%q is not a host name", s)
		}
	}
	if strings.ContainsAny(w.comment, "\r\n") {
		return w, provider.Errorf(provider.NeedsChange, "the comment has more than one line")
	}
	return w, nil
}

// own returns the lines of this name.
func (w wanted) own(ls *textfile.Lines) []int {
	index := ls.Index("host name", func(line string) []string {
		e, ok := parse(line)
		if !ok {
			return nil
		}
		return []string{strings.ToLower(e.name)}
	})
	return slices.Clone(index.Find(ls, strings.ToLower(w.name)))
}

// repeats reports whether earlier lines of its address have all names of a line. A line with
// another name is kept, unless the resource describes the aliases.
func (w wanted) repeats(ls *textfile.Lines, own []int, line int) bool {
	if w.isSet["aliases"] {
		return true
	}
	e, _ := parse(ls.At(line))
	known := map[string]bool{}
	for _, i := range own {
		if before, _ := parse(ls.At(i)); i < line && before.ip == e.ip {
			for _, s := range before.aliases {
				known[strings.ToLower(s)] = true
			}
		}
	}
	return !slices.ContainsFunc(e.aliases, func(s string) bool { return !known[strings.ToLower(s)] })
}

// fits reports whether an attribute of a line, other than its address, has the desired value.
func (w wanted) fits(attribute string, e entry) bool {
	switch {
	case !w.isSet[attribute]:
		return true
	case attribute == "aliases":
		return slices.EqualFunc(w.aliases, e.aliases, strings.EqualFold)
	}
	return w.comment == e.comment
}

// put brings the lines of this name to the desired state. Correct lines are kept. A wrong line is
// corrected, and reused for a missing address before it is removed.
func (w wanted) put(ls *textfile.Lines) {
	own := w.own(ls)
	missing := slices.Clone(w.ips)
	var spare []int
	last := ls.Len()
	for _, i := range own {
		last = i + 1
		e, _ := parse(ls.At(i))
		at := slices.Index(missing, e.ip)
		switch {
		case at >= 0:
			missing = slices.Delete(missing, at, at+1)
			w.write(ls, i, e)
		case slices.Contains(w.ips, e.ip) && !w.repeats(ls, own, i):
			w.write(ls, i, e)
		default:
			spare = append(spare, i)
		}
	}
	var removed []int
	for _, i := range spare {
		if len(missing) == 0 {
			removed = append(removed, i)
			continue
		}
		e, _ := parse(ls.At(i))
		e.ip = missing[0]
		missing = missing[1:]
		w.rewrite(ls, i, e)
	}
	like := entry{} // unset attributes of a new line are the first line's
	if len(own) > 0 {
		like, _ = parse(ls.At(own[0]))
	}
	for _, ip := range missing {
		like.ip = ip
		ls.Replace(last, last, w.over(like).String())
		last++
	}
	for _, i := range slices.Backward(removed) {
		ls.Replace(i, i+1)
	}
}

// write corrects a line that has the right address.
func (w wanted) write(ls *textfile.Lines, i int, e entry) {
	if !w.fits("aliases", e) || !w.fits("comment", e) {
		w.rewrite(ls, i, e)
	}
}

func (w wanted) rewrite(ls *textfile.Lines, i int, e entry) {
	ls.Replace(i, i+1, w.over(e).String())
}

// over replaces the attributes of a line, other than its address, by those that the resource sets.
func (w wanted) over(e entry) entry {
	e.name = w.name
	if w.isSet["aliases"] {
		e.aliases = w.aliases
	}
	if w.isSet["comment"] {
		e.comment = w.comment
	}
	return e
}

// observe describes the lines of this name, in the resource's form where both are equal.
func (w wanted) observe(r provider.Resource, ls *textfile.Lines) provider.Observation {
	own := w.own(ls)
	if len(own) == 0 {
		return provider.Observation{}
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	var ips []netip.Addr
	for _, name := range []string{"aliases", "comment"} {
		if w.isSet[name] {
			obs.Attributes[name] = r.Attributes[name]
		}
	}
	for _, i := range own {
		e, _ := parse(ls.At(i))
		if !slices.Contains(ips, e.ip) || w.repeats(ls, own, i) {
			ips = append(ips, e.ip)
		}
		if !w.fits("aliases", e) {
			obs.Attributes["aliases"] = values(e.aliases)
		}
		if !w.fits("comment", e) {
			obs.Attributes["comment"] = strings.ToValidUTF8(e.comment, "?")
		}
	}
	have, want := slices.Clone(ips), slices.Clone(w.ips)
	slices.SortFunc(have, netip.Addr.Compare)
	slices.SortFunc(want, netip.Addr.Compare)
	if obs.Attributes["ip"] = r.Attributes["ip"]; !slices.Equal(have, want) {
		var texts []string
		for _, ip := range ips {
			texts = append(texts, ip.String())
		}
		obs.Attributes["ip"] = values(texts)
	}
	return obs
}

func values(texts []string) []any {
	out := make([]any, len(texts))
	for i, s := range texts {
		out[i] = strings.ToValidUTF8(s, "?")
	}
	return out
}
