package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitlink is the mode of a submodule in a commit or in the index.
const gitlink = "160000"

// link is a submodule in a commit.
type link struct{ path, commit string }

// links returns the submodules of a commit, or of the index if that is "".
func (g *checkout) links(commit string) ([]link, error) {
	args := []string{"ls-files", "-s", "-z"}
	if commit != "" {
		args = []string{"ls-tree", "-r", "-z", commit}
	}
	out, err := g.ask(g.path, args...)
	if err != nil {
		return nil, err
	}
	var links []link
	for _, line := range fields(out) {
		about, name, _ := strings.Cut(line, "\t")
		words := strings.Fields(about)
		if len(words) == 3 && words[0] == gitlink {
			id := words[1]
			if commit != "" {
				id = words[2] // after the kind of object
			}
			links = append(links, link{name, id})
		}
	}
	return links, nil
}

// linksCutOff reports whether a move of a submodule, or of one within it, is unfinished.
func (g *checkout) linksCutOff() (bool, error) {
	links, err := g.links("")
	if err != nil {
		return false, err
	}
	for _, l := range links {
		sub := (&change{*g}).submodule(l)
		if sub == nil {
			continue
		}
		m, err := sub.cutMove()
		if err != nil {
			return false, err
		}
		if m != nil {
			m.close()
			return true, nil
		}
		if cutOff, err := sub.linksCutOff(); err != nil || cutOff {
			return cutOff, err
		}
	}
	return false, nil
}

// clone clones a missing submodule, without its files: git keeps no record while it checks files
// out. A submodule without an index is one whose files were never checked out.
func (g *change) clone(l link) error {
	args := []string{"submodule", "-q", "update", "--init"}
	if g.depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", g.depth))
	}
	update, err := g.updateSetting(l)
	if err != nil {
		return err
	}
	as := *g
	as.config = append(slices.Clone(g.config), update...)
	return as.do(g.path, append(args, "--", l.path)...)
}

// updateSetting returns a setting with which git updates no files of a submodule. It returns none
// if the submodule is excluded by its settings.
func (g *checkout) updateSetting(l link) ([]string, error) {
	set := map[string]string{}
	for _, from := range [][]string{{"--file", ".gitmodules"}, {"--local"}} {
		args := append(append([]string{"config", "-z"}, from...), "--get-regexp",
			`^submodule\..*\.(path|update)$`)
		out, err := g.ask(g.path, args...)
		var f *failure
		if errors.As(err, &f) { // there are none
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, line := range fields(out) {
			key, value, _ := strings.Cut(line, "\n")
			set[key] = value
		}
	}
	for key, value := range set {
		name, is := strings.CutSuffix(key, ".path")
		if is && value == l.path && set[name+".update"] != "none" && !strings.Contains(name, "=") {
			return []string{name + ".update=!true"}, nil
		}
	}
	return nil, nil
}

// submodule returns the checkout of a submodule, nil if it is missing.
func (g *change) submodule(l link) *change {
	at := filepath.Join(g.path, l.path)
	if info, err := os.Lstat(at); err != nil || !info.IsDir() {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(at, ".git")); err != nil {
		return nil
	}
	sub := *g
	sub.path, sub.revision, sub.source, sub.extra = at, l.commit, "origin", nil
	return &sub
}
