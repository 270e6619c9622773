package providertest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/provider"
)

// checkTidy looks at what a handler has said, and at what it has left behind, in all places of a
// check.
func checkTidy(e *env) error {
	places := append([]*env{e}, e.places...)
	all := func(check func(place *env) error) (first error) {
		for _, place := range places {
			first = either(first, check(place)) // one is enough to read
		}
		return first
	}
	wait := e.subject.sofar.soon
	errs := []error{all(func(place *env) error { return place.traces.found() }), all(checkLeaks),
		all(checkRecordable), all(checkKeeps), wait(func() error {
			open := openFiles()
			return all(func(place *env) error { return checkLeft(place, open) })
		})}
	var secrets []string
	for _, place := range places {
		place.host.Cache().Close()
		secrets = append(secrets, place.Secrets...)
	}
	slices.Sort(secrets)
	return errors.Join(append(errs, wait(e.own.left), e.own.told(slices.Compact(secrets)),
		wait(func() error { return running(packagesOf(e.handler), places) }))...)
}

// checkLeaks looks for secrets in what the handler has said.
func checkLeaks(e *env) error {
	var all []saying
	if len(e.Secrets) > 0 {
		all = append(e.host.sayings(), e.told...)
	}
	for _, secret := range e.Secrets {
		for how, form := range forms(secret) {
			for _, said := range all {
				if !strings.Contains(said.text, form) {
					continue
				}
				return advise(
					"name things by what identifies them, put no value of an attribute that may "+
						"be secret into a text, and give an error of the target through only "+
						"after it was looked at; Context.Secret keeps out what the handler has "+
						"learned itself",
					"a secret is in what the handler says, in %s%s", said, how)
			}
		}
	}
	return nil
}

// forms returns the texts in which a secret can stand, by what is to be said of them.
func forms(secret string) map[string]string {
	out := map[string]string{"": secret}
	add := func(how, text string) {
		if len(text) >= 4 && text != secret {
			out[", "+how] = text
		}
	}
	add("in hexadecimal", hex.EncodeToString([]byte(secret)))
	add("in %x", strings.ToUpper(hex.EncodeToString([]byte(secret))))
	add("in the form of a URL", url.QueryEscape(secret))
	add("in the form of a path", url.PathEscape(secret))
	if b, err := json.Marshal(secret); err == nil {
		add("in JSON", string(b[1:len(b)-1]))
	}
	add("as bytes in decimal", strings.Trim(fmt.Sprint([]byte(secret)), "[]"))
	q := fmt.Sprintf("%q", secret)
	add("in quotes", q[1:len(q)-1])
	for i, name := range []string{"in base64", "in base64 with what stands before it",
		"in base64 with more that stands before it"} {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, i), secret...))
		from := (i*8 + 5) / 6 // the first characters are of what stands before, too
		to := (i + len(secret)) * 8 / 6
		if to-from >= 6 {
			out[", "+name] = text[from:to]
		}
	}
	return out
}

// checkLeft looks for what a handler has to give back; open are the files that are open.
func checkLeft(e *env, open []string) error {
	if n := e.host.Cache().Lent(); n > 0 {
		return e.traces.by(loan, func(call string) error {
			return advise(
				"call what Borrow returns beside the value, once, on all ways: defer back()",
				"%d values that were borrowed from the cache were not given back, the last by %s",
				n, call)
		})
	}
	e.host.mu.Lock()
	opened := maps.Clone(e.host.opened)
	e.host.mu.Unlock()
	for _, call := range slices.Sorted(maps.Keys(opened)) {
		if n := opened[call]; n > 0 {
			return advise("close what Files().Open returns, on all ways",
				"%d uploaded files were opened in %s and not closed", n, cmp.Or(call, "a call"))
		}
	}
	for _, path := range below(e.dir, open) {
		return e.traces.by(path, func(call string) error {
			return advise("close every file that is opened, on all ways",
				"the file %s was opened in %s and not closed", strings.TrimPrefix(path, e.dir),
				call)
		})
	}
	return nil
}

// These are on the goroutines that handlers start: the mark of a place, and the call.
const (
	label       = "southbound-handler"
	labelOfCall = "southbound-call"
)

// running looks for goroutines that a handler has started and left behind: those whose stack has a
// function of the handler's package. What libraries keep going, such as connections that are idle,
// is not its fault.
func running(packages []string, places []*env) error {
	marks := make([]string, len(places))
	for i, place := range places {
		marks[i] = place.mark
	}
	where, call := marked(packages, marks)
	if where == "" {
		return nil
	}
	return advise(
		"wait for every goroutine before the call returns, and end it with the context of "+
			"the call",
		"a goroutine of the handler goes on after %s has ended, in %s", call, where)
}

// marked returns where a goroutine with one of the marks is, in one of the packages, and the call
// that has started it; "" when there is none.
func marked(packages, marks []string) (where, call string) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return "", ""
	}
	for _, one := range strings.Split(b.String(), "\n\n") {
		if !slices.ContainsFunc(marks, func(m string) bool { return strings.Contains(one, m) }) {
			continue
		}
		for _, line := range strings.Split(one, "\n") {
			fields := strings.Fields(line)
			if len(fields) < 3 || fields[0] != "#" {
				continue
			}
			function, _, _ := strings.Cut(fields[2], "+0x")
			if slices.ContainsFunc(packages,
				func(p string) bool { return strings.HasPrefix(function, p+".") }) {
				return function, starterOf(one)
			}
		}
	}
	return "", ""
}

// starterOf returns the call that has started a goroutine of a profile.
func starterOf(profile string) string {
	_, rest, _ := strings.Cut(profile, strconv.Quote(labelOfCall)+":")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "its call"
	}
	call, _ := strconv.Unquote(quoted)
	return call
}

// packagesOf returns the packages of a handler, and of those that it stands for.
func packagesOf(h provider.Handler) []string {
	var out []string
	if c, ok := h.(*provider.Choice); ok {
		for _, p := range c.Providers() {
			out = append(out, packagesOf(p.Handler)...)
		}
		return out
	}
	t := reflect.TypeOf(h)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil && t.PkgPath() != "" {
		out = append(out, t.PkgPath())
	}
	return out
}
