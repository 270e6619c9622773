package fs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/provider"
)

// rule describes the lines that a resource manages in a file.
type rule struct {
	path                 string
	wanted               any      // line or block, in the resource's form
	line                 string   // when isLine
	block                []string // when isBlock
	isLine, isBlock      bool
	match, after, before *expression
	multiple             string
	start, create        bool
	purged               bool
	markers              textfile.Block
}

var errSeveral = errors.New("several lines match")

func ruleOf(r provider.Resource) (*rule, error) {
	u := &rule{path: text(r, "path"), multiple: text(r, "multiple"),
		start: text(r, "position") == "start", create: yes(r, "create"), purged: r.Purged}
	for _, p := range []struct {
		name string
		into **expression
	}{{"match", &u.match}, {"after", &u.after}, {"before", &u.before}} {
		if s := text(r, p.name); s != "" {
			re, err := expressionOf(s)
			if err != nil {
				return nil, provider.Errorf(provider.NeedsChange, "%s cannot be used: %w", p.name,
					err)
			}
			*p.into = re
		}
	}
	for mark, into := range map[string]*string{"BEGIN": &u.markers.Begin, "END": &u.markers.End} {
		*into = strings.NewReplacer("{mark}", mark, "{name}", text(r, "name")).
			Replace(text(r, "marker"))
	}
	switch s := ""; {
	case r.Attributes["block"] != nil:
		s, u.isBlock = r.Attributes["block"].(string)
		u.wanted, u.block = s, blockLines(s)
		if !u.isBlock || u.markers.Begin == u.markers.End ||
			slices.Contains(u.block, u.markers.Begin) || slices.Contains(u.block, u.markers.End) {
			return nil, provider.Errorf(provider.NeedsChange,
				"the block must be text without its own markers, and the markers must differ")
		}
	case r.Attributes["line"] != nil:
		u.line, u.isLine = r.Attributes["line"].(string)
		u.wanted = u.line
		if !u.isLine || strings.ContainsAny(u.line, "\r\n") {
			return nil, provider.Errorf(provider.NeedsChange,
				"line must be a single line of text; for several there is block")
		}
	case u.match == nil && r.Purged: // only a block is identified by its name alone
		u.isBlock = true
	case u.match == nil:
		return nil, provider.Errorf(provider.NeedsChange,
			"neither line nor block is set; set one of them")
	case !r.Purged:
		return nil, provider.Errorf(provider.NeedsChange,
			"match alone selects lines to remove; set line as well, or purged: true")
	}
	return u, nil
}

// blockLines splits a block into its lines; a line end at the end is ignored.
func blockLines(s string) []string {
	if s == "" {
		return nil
	}
	out := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i := range out {
		out[i] = strings.TrimSuffix(out[i], "\r")
	}
	return out
}

// explain converts a problem of the file into an error for people.
func (u *rule) explain(err error) error {
	if errors.Is(err, errSeveral) {
		return provider.Errorf(provider.NeedsChange,
			"%w in %s; make match stricter, or set multiple", err, u.path)
	}
	return err
}

// concerned returns the lines that are this line, or will become it.
func (u *rule) concerned(ls *textfile.Lines) []int {
	return ls.Find(func(s string) bool {
		return u.isLine && s == u.line || u.match.matches(s)
	})
}

// goes returns the lines that are removed with this one.
func (u *rule) goes(ls *textfile.Lines) []int {
	return ls.Find(func(s string) bool {
		if u.isLine {
			return s == u.line
		}
		return u.match.matches(s)
	})
}

// observe describes the current lines.
func (u *rule) observe(ls *textfile.Lines) (provider.Observation, error) {
	obs := provider.Observation{Exists: true, Attributes: map[string]any{}}
	if u.isBlock {
		have, ok, err := u.markers.Lines(ls)
		if err != nil || !ok {
			return provider.Observation{}, err
		}
		obs.Attributes["block"] = u.wanted
		if !slices.Equal(have, u.block) {
			obs.Attributes["block"] = strings.ToValidUTF8(strings.Join(have, "\n"), "?")
		}
		return obs, nil
	}
	if u.purged {
		if len(u.goes(ls)) == 0 {
			return provider.Observation{}, nil
		}
		return obs, nil
	}
	targets, extra, err := u.targets(ls)
	if err != nil || len(targets) == 0 {
		return provider.Observation{}, err
	}
	obs.Attributes["line"] = u.wanted
	for _, i := range targets {
		if s := ls.At(i); s != u.line {
			obs.Attributes["line"] = strings.ToValidUTF8(s, "?")
			break
		}
	}
	if len(extra) > 0 {
		obs.Attributes["extra"] = int64(len(extra))
	}
	return obs, nil
}

// targets returns the lines that must become line, and the surplus ones to remove.
func (u *rule) targets(ls *textfile.Lines) (targets, extra []int, err error) {
	found := u.concerned(ls)
	if u.match == nil || len(found) < 2 {
		return found, nil, nil
	}
	switch u.multiple {
	case "first":
		return found[:1], nil, nil
	case "last":
		return found[len(found)-1:], nil, nil
	case "all":
		return found, nil, nil
	case "single":
		return found[:1], found[1:], nil
	}
	return nil, nil, fmt.Errorf("%w: %s", errSeveral, textfile.Places(found))
}

// put brings lines to their desired state.
func (u *rule) put(ls *textfile.Lines) error {
	if u.isBlock {
		return u.markers.Put(ls, u.at(ls), u.block...)
	}
	targets, extra, err := u.targets(ls)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		at := u.at(ls)
		ls.Replace(at, at, u.line)
	}
	for _, i := range targets {
		if ls.At(i) != u.line {
			ls.Replace(i, i+1, u.line)
		}
	}
	for _, i := range slices.Backward(extra) {
		ls.Replace(i, i+1)
	}
	return nil
}

// at returns the line before which new lines are inserted.
func (u *rule) at(ls *textfile.Lines) int {
	at := ls.Len()
	if u.start {
		at = 0
	}
	if u.after != nil {
		if found := ls.Find(u.after.matches); len(found) > 0 {
			at = found[len(found)-1] + 1
		}
	}
	if u.before != nil {
		if found := ls.Find(u.before.matches); len(found) > 0 {
			at = found[0]
		}
	}
	return at
}

// drop removes lines.
func (u *rule) drop(ls *textfile.Lines) error {
	if u.isBlock {
		return u.markers.Drop(ls)
	}
	for _, i := range slices.Backward(u.goes(ls)) {
		ls.Replace(i, i+1)
	}
	return nil
}
