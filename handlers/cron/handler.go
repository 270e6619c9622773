package cron

import (
	"errors"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

type handler struct {
	textfile.Texts
	places places // of the list
}

// newHandler returns a handler; crontab is the program and its fixed arguments.
func newHandler(e textfile.Editor, crontab ...string) handler {
	return handler{textfile.Texts{Store: store{e, crontab}, Place: placeOf, Observe: observe,
		Differs: differs, Change: changed}, defaultPlaces()}
}

// properties are the attributes that are compared.
func properties() []string {
	return []string{"schedule", "command", "input", "environment", "enabled"}
}

// placeOf returns the place of a job, see store.
func placeOf(r provider.Resource) string {
	if path := text(r, "file"); path != "" {
		return path
	}
	return text(r, "user")
}

// The prefixes of the lines around a job.
const (
	beginJob = "# BEGIN job "
	endJob   = "# END job "
)

func (j job) block() textfile.Block {
	of := j.name
	if j.file != "" {
		of += " of " + j.user
	}
	return textfile.Block{Begin: beginJob + of, End: endJob + of}
}

// wantedOf is jobOf with its errors for people.
func wantedOf(r provider.Resource) (job, error) {
	j, err := jobOf(r)
	var m *mistake
	if errors.As(err, &m) && !r.Purged {
		return j, provider.Errorf(provider.NeedsChange, "%s: %w", m.attribute, err)
	}
	return j, nil
}

func observe(r provider.Resource, p *textfile.Page) (provider.Observation, error) {
	j, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	ls := p.Lines
	have, ok, err := j.block().Lines(ls)
	if err != nil {
		return provider.Observation{}, err
	}
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	at := -1
	if !ok {
		if i := j.unmarked(ls); i >= 0 {
			return observeUnmarked(r, normal(ls.At(i), j.file != ""), j.file != ""), nil
		}
		if at = j.foreign(ls); at < 0 || r.Purged {
			return provider.Observation{}, nil // a line that is not ours is not purged
		}
	}
	if slices.Equal(have, j.lines) || at >= 0 {
		for _, name := range properties() {
			if v := r.Attributes[name]; v != nil {
				obs.Attributes[name] = v
			}
		}
		if at >= 0 {
			obs.Attributes["lines"] = []any{strings.ToValidUTF8(ls.At(at), "?")}
		}
		return obs, nil
	}
	if len(have) > 0 {
		obs.Attributes = parse(have, j.file != "")
		// If the written lines are equal, the attributes are equal, whatever their form.
		for name, v := range parse(j.lines, j.file != "") {
			if want := r.Attributes[name]; want != nil && resource.Equal(v, obs.Attributes[name]) {
				obs.Attributes[name] = want
			}
		}
	}
	var lines []any
	for _, s := range have {
		lines = append(lines, strings.ToValidUTF8(s, "?"))
	}
	obs.Attributes["lines"] = lines
	return obs, nil
}

// observeUnmarked reads an unmarked line that has the name of a job. While the line is as desired,
// it is left unchanged, without markers around it.
func observeUnmarked(r provider.Resource, line string, inFile bool) provider.Observation {
	obs := provider.Observation{Exists: true, Attributes: parse([]string{line}, inFile)}
	if len(differing(r, obs)) > 0 {
		obs.Attributes["lines"] = []any{strings.ToValidUTF8(line, "?")}
	}
	return obs
}

// differing returns the properties of a job that differ.
func differing(desired provider.Resource, observed provider.Observation) map[string]diff.Diff {
	out := map[string]diff.Diff{}
	for _, name := range properties() {
		if want, is := desired.Attributes[name], observed.Attributes[name]; !resource.Equal(want,
			is) {
			out[name] = diff.Diff{Current: is, Desired: want}
		}
	}
	return out
}

// The expressions that parse the line of a job.
var (
	blanks           = pattern.Lazy(`\s+`)
	unescapedPercent = pattern.Lazy(`(^|[^\\])%`)
	variable         = pattern.Lazy(`\A([A-Za-z_][A-Za-z0-9_]*)='((?:[^']|'\\'')*)'; `)
	exported         = pattern.Lazy(`\Aexport [A-Za-z0-9_ ]+; `)
)

// parse reads attributes from the lines of a job, as far as the lines have our form.
func parse(have []string, inFile bool) map[string]any {
	out := map[string]any{}
	env := map[string]any{}
	for _, s := range have[:len(have)-1] {
		if name, value, ok := strings.Cut(s, "="); ok {
			env[name] = strings.Trim(value, `"`)
		}
	}
	line, isOff := strings.CutPrefix(have[len(have)-1], off)
	out["enabled"] = !isOff
	words := 5
	if strings.HasPrefix(line, "@") {
		words = 1
	}
	n := words + 1
	if inFile {
		n++ // the user
	}
	parts := blanks().Split(line, n)
	if len(parts) > words {
		out["schedule"] = strings.Join(parts[:words], " ")
	}
	body := parts[len(parts)-1]
	if at := unescapedPercent().FindStringIndex(body); at != nil {
		out["input"] = unescape(strings.ReplaceAll(strings.ReplaceAll(body[at[1]:], `\%`, "\x00"),
			"%", "\n"))
		body = body[:at[1]-1]
	}
	for m := variable().FindStringSubmatch(body); m != nil; m = variable().FindStringSubmatch(body) {
		env[m[1]] = unescape(strings.ReplaceAll(m[2], `'\''`, "'"))
		body = body[len(m[0]):]
	}
	body = exported().ReplaceAllString(body, "")
	out["command"] = unescape(body)
	if len(env) > 0 {
		out["environment"] = env
	}
	for name, v := range out { // the lines may have any form
		if s, ok := v.(string); ok && s == "" {
			delete(out, name)
		}
	}
	return out
}

func unescape(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(strings.ReplaceAll(s, `\%`, "%"), "\x00", "%"),
		"?")
}

// differs reports whether a job differs; see Diff.
func differs(_ provider.Resource, seen provider.Observation) bool {
	return seen.Attributes["lines"] != nil
}

// Diff implements provider.Differ: the lines are compared, and the attributes describe the
// differences.
func (handler) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	have := observed.Attributes["lines"]
	if have == nil {
		return nil, nil
	}
	out := differing(desired, observed)
	if len(out) == 0 {
		j, err := wantedOf(desired)
		if err != nil {
			return nil, err
		}
		out["lines"] = diff.Diff{Current: have, Desired: strings.Join(j.lines, "\n")}
	}
	return out, nil
}

// changed changes a crontab. A file that contained only the job is removed with it.
func changed(item provider.BatchChange, p *textfile.Page) error {
	j, err := wantedOf(item.Resource)
	if err != nil {
		return err
	}
	ls := p.Lines
	if item.Change == diff.Purged {
		held := ls.Len() > 0
		for i := j.unmarked(ls); i >= 0; i = j.unmarked(ls) {
			ls.Replace(i, i+1)
		}
		if err := j.block().Drop(ls); err != nil {
			return err
		}
		p.Exists = p.Exists && (!held || ls.Len() > 0)
		return nil
	}
	ls.Close() // cron ignores a last line without an end
	at := ls.Len()
	if _, ok, err := j.block().Lines(ls); err == nil && !ok {
		i := j.unmarked(ls)
		if i < 0 {
			i = j.foreign(ls)
		}
		if i >= 0 { // otherwise cron would run both
			ls.Replace(i, i+1)
			at = i
		}
	}
	p.Exists = true
	return j.block().Put(ls, at, j.lines...)
}
