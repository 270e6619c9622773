package packages

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// pin is a distribution at one version.
type pin struct{ name, version string }

// moduleDistribution begins the names of distributions that are modules of models. Their code travels
// with versions, but some bring a library besides. Those in editable form are left out.
const moduleDistribution = "inmanta-module-"

var separators = pattern.Lazy(`[-_.]+`)

// normal returns the normalized name of a distribution, as in PEP 503.
func normal(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// installed returns the distributions of a virtual environment, sorted, without modules of models in editable form.
// It reads their metadata and starts no Python.
func installed(env string) ([]pin, error) {
	metas, _ := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages", "*.dist-info",
		"METADATA"))
	if len(metas) == 0 {
		return nil, fault.New(fault.NotFound, doing, "%s: no package is installed there", env).
			WithHint("install the packages of the project: `southbound project install`")
	}
	seen := map[pin]bool{}
	var out []pin
	for _, file := range metas {
		p, err := read(file)
		if err != nil {
			return nil, err
		}
		from := source(filepath.Dir(file))
		if seen[p] || from != "" && strings.HasPrefix(p.name, moduleDistribution) {
			continue
		}
		if from != "" {
			return nil, fault.New(fault.Invalid, doing, "package %s %s: it was installed from %s, "+
				"and functions get packages of an index only", p.name, p.version, from).
				WithHint("publish the package on the index of the project, or serve the agents " +
					"with `southbound agent run`")
		}
		seen[p] = true
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b pin) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// read returns the distribution that a METADATA file describes.
func read(file string) (pin, error) {
	f, err := os.Open(file)
	if err != nil {
		return pin{}, fault.Wrap(fault.Unavailable, doing, err)
	}
	defer func() { _ = f.Close() }()
	var p pin
	for lines := bufio.NewScanner(f); lines.Scan() && lines.Text() != ""; {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "Name":
			p.name = normal(strings.TrimSpace(value))
		case "Version":
			p.version = strings.TrimSpace(value)
		}
	}
	if p.name == "" || p.version == "" {
		return p, fault.New(fault.Invalid, doing, "%s: it names no distribution", file).
			WithHint("install the package again")
	}
	return p, nil
}

// source returns the folder or the address that a distribution was installed from; "": an index.
func source(info string) string {
	text, err := os.ReadFile(filepath.Join(info, "direct_url.json"))
	if err != nil {
		return ""
	}
	var direct struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(text, &direct) // without an address the file says enough
	if direct.URL == "" {
		return "a file"
	}
	if i := strings.LastIndexByte(direct.URL, '@'); i >= 0 { // before it may be a password
		scheme, _, _ := strings.Cut(direct.URL, "://")
		return scheme + "://" + direct.URL[i+1:]
	}
	return direct.URL
}
