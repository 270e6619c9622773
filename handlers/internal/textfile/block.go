package textfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/provider"
)

// Block is a part of a text between two lines, its markers. They differ.
type Block struct{ Begin, End string }

var errUnpaired = errors.New("the markers do not form a pair")

// Lines returns the lines of the block without the markers; ok reports whether it exists. A marker
// without the other, or more than one pair, is an error that needs a person.
func (b Block) Lines(ls *Lines) (have []string, ok bool, err error) {
	from, to, err := b.at(ls)
	if err != nil || from < 0 {
		return nil, false, err
	}
	for i := from + 1; i < to; i++ {
		have = append(have, ls.At(i))
	}
	return have, true, nil
}

// Put sets the lines of the block; if there is none, Put inserts it before the line with number at.
func (b Block) Put(ls *Lines, at int, want ...string) error {
	if b.Begin == b.End || slices.Contains(want, b.Begin) || slices.Contains(want, b.End) {
		return provider.Errorf(provider.NeedsChange,
			"the text between %q and %q cannot contain one of them", b.Begin, b.End)
	}
	from, to, err := b.at(ls)
	if err != nil {
		return err
	}
	all := slices.Concat([]string{b.Begin}, want, []string{b.End})
	if from < 0 {
		from, to = at, at-1
	}
	ls.Replace(from, to+1, all...)
	return nil
}

// Drop removes the block and its markers.
func (b Block) Drop(ls *Lines) error {
	from, to, err := b.at(ls)
	if err == nil && from >= 0 {
		ls.Replace(from, to+1)
	}
	return err
}

// at returns the lines of the markers; from < 0: there is no block.
func (b Block) at(ls *Lines) (from, to int, err error) {
	begins, ends := ls.Equal(b.Begin), ls.Equal(b.End)
	switch {
	case len(begins) == 0 && len(ends) == 0:
		return -1, -1, nil
	case len(begins) == 1 && len(ends) == 1 && begins[0] < ends[0]:
		return begins[0], ends[0], nil
	}
	return -1, -1, provider.Errorf(provider.Terminal,
		"%w: begin at %s, end at %s; a %q needs one %q after it", errUnpaired, Places(begins),
		Places(ends), b.Begin, b.End)
}

func Places(at []int) string {
	if len(at) == 0 {
		return "no line"
	}
	var out []string
	for _, i := range at[:min(len(at), 10)] {
		out = append(out, fmt.Sprint(i+1))
	}
	return "line " + strings.Join(out, ", ")
}
