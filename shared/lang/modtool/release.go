package modtool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/lang/pep440"
	"southbound/shared/pattern"
)

// Bump names the number of a version to raise.
type Bump int

// The numbers of a version, from the left.
const (
	NoBump Bump = iota
	Major
	Minor
	Patch
	Revision
)

// ReleaseOptions configure Release.
type ReleaseOptions struct {
	Dev       bool
	Bump      Bump
	Message   string
	Changelog string // a line for the changelog
	All       bool   // also commit all changed files
	Now       time.Time
}

// Release commits the module in the folder as a release, tags it, and then commits the next
// development version. With Dev, it only commits a development version.
func (t *Tool) Release(ctx context.Context, o ReleaseOptions) error {
	r := releases{t.folder(), t.Say}
	m, released, err := r.open(ctx, o.All, !o.Dev)
	if err != nil {
		return err
	}
	lowest := Patch
	if m.Meta.FourDigits {
		lowest = Revision
	}
	if o.Dev && o.Bump == NoBump {
		o.Bump = lowest
	}
	version := m.Version()
	if o.Bump != NoBump {
		if version, err = next(version, released, o.Bump); err != nil {
			return err
		}
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if o.Dev {
		message := firstOf(o.Changelog, o.Message, "Bump version to "+version.String())
		if err := r.commit(ctx, m, version, message, o, false); err != nil {
			return err
		}
		t.Say("%s is at %s", m.Name, version)
		return nil
	}
	version = version.Base()
	if slices.ContainsFunc(
		released,
		func(v pep440.Version) bool { return v.Compare(version) == 0 },
	) {
		return fault.New(fault.Conflict, "release the module", "there is a tag %s already",
			version).
			WithHint("--patch, --minor or --major raise the version")
	}
	message := firstOf(o.Message, o.Changelog, "Release version "+version.String())
	if err := r.commit(ctx, m, version, message, o, true); err != nil {
		return err
	}
	about := firstOf(sectionOf(m.Dir, version), "Release version "+version.String())
	if _, err := git(ctx, m.Dir, "tag", "-a", "--cleanup=verbatim", "-m", about, "--",
		version.String()); err != nil {
		return err
	}
	t.Say("%s %s is released: tag %s", m.Name, version, version)
	after, _, err := module.Open(m.Dir)
	if err != nil {
		return err
	}
	following, err := next(version, append(released, version), lowest)
	if err != nil {
		return err
	}
	return r.commit(
		ctx,
		after,
		following,
		"Bump version to next development version",
		ReleaseOptions{},
		false,
	)
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// releases manages the commits and tags of the module in a folder.
type releases struct {
	folder
	say func(format string, args ...any)
}

// open opens the module, and returns the versions that tags name. For a release, it fails if the
// server has commits that the release would lack.
func (r releases) open(
	ctx context.Context, all, release bool,
) (*module.Module, []pep440.Version, error) {
	m, warnings, err := module.Open(r.dir)
	r.warn(warnings)
	if err != nil {
		return nil, nil, err
	}
	if m.Version().HasEpoch() {
		return nil, nil, fault.New(
			fault.Unsupported,
			"release the module",
			"the version %s has an epoch",
			m.Version(),
		)
	}
	if _, err := git(ctx, m.Dir, "rev-parse", "--is-inside-work-tree"); err != nil {
		return nil, nil, fault.New(fault.Invalid, "release the module",
			"%s is not a git repository", m.Dir).
			WithHint("run git init there, and commit the module")
	}
	if err := r.uncommitted(ctx, m.Dir, all); err != nil {
		return nil, nil, err
	}
	if remote, err := git(ctx, m.Dir, "remote"); err == nil && remote != "" {
		if err := fetchTags(ctx, m); err != nil {
			return nil, nil, err
		}
		if behind, err := git(ctx, m.Dir, "log", "--oneline", "HEAD..@{upstream}"); release &&
			err == nil && behind != "" { // an error: the branch has no upstream
			return nil, nil, fault.New(fault.Conflict, "release the module",
				"there is something on the server that is not here:\n%s", last(behind)).
				WithHint("bring it in first, such as with `git pull --rebase`")
		}
	}
	versions, _, err := tags(ctx, m.Dir)
	versions = slices.DeleteFunc(versions, pep440.Version.IsPrerelease)
	return m, versions, err
}

// uncommitted refuses a release if changed files would not be part of it, unless all changes are
// committed. It reports the files that are not in git, and the changed files that the commit of the
// version includes.
func (r releases) uncommitted(ctx context.Context, dir string, all bool) error {
	left, err := git(ctx, dir, "status", "--porcelain", "--", ".")
	if err != nil {
		return err
	}
	own := map[string]bool{metadata.FileV1: true, metadata.FileV2: true, changelogFile: true}
	var strange []string
	for _, line := range strings.Split(left, "\n") {
		if len(line) < 4 {
			continue
		}
		file := line[3:]
		switch {
		case line[0] == '?':
			strange = append(strange, file)
		case line[0] != ' ':
		case own[filepath.Base(file)]:
			r.say("%s is changed: all of that is committed with the version", file)
		case !all:
			return fault.New(fault.Conflict, "release the module",
				"%s is changed and not committed", file).
				WithHint("commit it first, or use --all to commit all that is changed")
		}
	}
	if len(strange) > 0 {
		r.say("not in git, and not committed: %s; `git add` makes it a part",
			strings.Join(strange, ", "))
	}
	return nil
}

// number returns the index, from the left, of the number that a Bump raises.
func (b Bump) number() int { return int(b) - 1 }

// distance returns the largest change between two versions; NoBump if they are equal.
func distance(low, high pep440.Version) Bump {
	for b := Major; b <= Revision; b++ {
		x, _ := low.Release(b.number())
		y, _ := high.Release(b.number())
		if x != y {
			return b
		}
	}
	return NoBump
}

// next returns the development version that is at least a given change ahead of the last release.
// It returns the version itself if that is far enough ahead.
func next(version pep440.Version, released []pep440.Version, by Bump) (pep440.Version, error) {
	before, _ := pep440.Parse("0.0.0")
	for _, v := range released {
		if v.Compare(version) <= 0 && v.Compare(before) > 0 {
			before = v
		}
	}
	ahead := distance(before, version)
	if ahead != NoBump && ahead <= by {
		if version.IsDev() {
			return version, nil
		}
		by = Patch
	}
	out, err := raised(version, by)
	if err != nil {
		return out, err
	}
	for _, v := range released {
		if v.Compare(version) > 0 && v.Compare(out) <= 0 {
			return out, fault.New(fault.Conflict, "release the module",
				"%s, a release, is between the version %s and the next one, %s", v, version, out).
				WithHint("bring the branch up to date with the server")
		}
	}
	return out, nil
}

// raised returns the development version with a number raised.
func raised(version pep440.Version, by Bump) (pep440.Version, error) {
	length := max(3, min(version.Len(), 4))
	if by == Revision {
		length = 4
	}
	parts := make([]string, length)
	for i := range parts {
		n, ok := version.Release(i)
		if !ok {
			return version, fault.New(
				fault.Unsupported,
				"release the module",
				"the version %s is too large",
				version,
			)
		}
		switch {
		case i == by.number():
			n++
		case i > by.number():
			n = 0
		}
		parts[i] = strconv.Itoa(n)
	}
	return pep440.Parse(strings.Join(parts, ".") + ".dev0")
}

// commit writes a version into the module and its changelog, and commits both. If git fails, commit
// restores the files.
func (releases) commit(
	ctx context.Context,
	m *module.Module,
	version pep440.Version,
	message string,
	o ReleaseOptions,
	dated bool,
) error {
	log := filepath.Join(m.Dir, changelogFile)
	kept := map[string][]byte{}
	for _, file := range []string{m.Meta.File, log} {
		if text, err := os.ReadFile(file); err == nil {
			kept[file] = text
		}
	}
	if err := writeVersion(m, version); err != nil {
		return err
	}
	files := []string{filepath.Base(m.Meta.File)}
	if text, there := kept[log]; there || o.Changelog != "" {
		day := ""
		if dated {
			day = o.Now.UTC().Format(time.DateOnly)
		}
		text = changelog(text, m.Version(), version, o.Changelog, day)
		if err := Replace(log, text); err != nil {
			return err
		}
		files = append(files, changelogFile)
	}
	if err := commitFiles(ctx, m.Dir, files, message, o.All); err != nil {
		_, _ = git(ctx, m.Dir, append([]string{"reset", "-q", "--"}, files...)...)
		for file, text := range kept { // the error of git is returned
			_ = Replace(file, text)
		}
		if _, there := kept[log]; !there {
			_ = os.Remove(log)
		}
		return fault.Wrap(fault.KindOf(err), "commit the module "+m.Name, err)
	}
	return nil
}

// changelogFile is the changelog of a module.
const changelogFile = "CHANGELOG.md"

// commitFiles commits files with the staged changes, or with all changes, unless nothing has
// changed.
func commitFiles(ctx context.Context, dir string, files []string, message string, all bool) error {
	if _, err := git(ctx, dir, append([]string{"add", "--"}, files...)...); err != nil {
		return err
	}
	left, err := git(ctx, dir, "status", "--porcelain", "--untracked-files=no", "--", ".")
	if err != nil || left == "" {
		return err
	}
	args := []string{"commit", "-q", "-m", message}
	if all {
		args = append(args, "-a")
	}
	_, err = git(ctx, dir, args...)
	return err
}

var versionLine = pattern.Lazy(`(?m)^(version\s*:\s*['"]?)[^'"\s#]+(['"]?)`)

// writeVersion writes a version into the file of a module.
func writeVersion(m *module.Module, version pep440.Version) error {
	text, err := os.ReadFile(m.Meta.File)
	if err != nil {
		return fault.Wrap(fault.Invalid, "write the version", err)
	}
	if m.Generation == 1 {
		text = versionLine().ReplaceAll(text, []byte("${1}"+version.String()+"${2}"))
	} else {
		text = setOption(text, "metadata", "version", version.Base().String())
		text = setOption(text, "egg_info", "tag_build", version.Tag())
	}
	return Replace(m.Meta.File, text)
}

// changelog returns a changelog with a section for the release that a version leads to. It adds a
// line to the section, and the date if the version is released.
func changelog(text []byte, before, version pep440.Version, line, day string) []byte {
	log := string(text)
	if strings.TrimSpace(log) == "" {
		log = "# Changelog\n"
	}
	header := regexp.MustCompile(
		`(?m)^## [vV]?` + regexp.QuoteMeta(version.Base().String()) + `\s+-.*$`,
	)
	if !header.MatchString(log) {
		old := regexp.MustCompile(
			`(?m)^## [vV]?` + regexp.QuoteMeta(before.Base().String()) + `\s+- \?[ \t]*$`,
		)
		fresh := fmt.Sprintf("## v%s - ?", version.Base())
		if before.IsDev() && old.MatchString(log) {
			log = old.ReplaceAllLiteralString(log, fresh)
		} else {
			at := strings.Index(log, "\n## ")
			if at < 0 {
				at = len(strings.TrimRight(log, "\n"))
			}
			log = strings.TrimRight(log[:at], "\n") + "\n\n" + fresh + "\n\n" +
				strings.TrimLeft(log[at:], "\n")
		}
	}
	if line != "" {
		at := header.FindStringIndex(log)
		rest := strings.TrimLeft(log[at[1]:], "\n")
		log = log[:at[1]] + "\n\n- " + line + "\n" +
			map[bool]string{true: "", false: "\n"}[strings.HasPrefix(rest, "-")] + rest
	}
	if day != "" {
		log = header.ReplaceAllLiteralString(log, fmt.Sprintf("## v%s - %s", version.Base(), day))
	}
	return []byte(strings.TrimRight(log, "\n") + "\n")
}

// sectionOf returns the section of a version in the changelog; "" if there is none.
func sectionOf(dir string, version pep440.Version) string {
	text, err := os.ReadFile(filepath.Join(dir, changelogFile))
	if err != nil {
		return ""
	}
	header := regexp.MustCompile(`(?m)^## [vV]?` + regexp.QuoteMeta(version.String()) + `\s+-.*$`)
	at := header.FindIndex(text)
	if at == nil {
		return ""
	}
	section := string(text[at[1]:])
	if end := strings.Index(section, "\n## "); end >= 0 {
		section = section[:end]
	}
	return strings.TrimSpace(section)
}
