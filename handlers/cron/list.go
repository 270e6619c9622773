package cron

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/pattern"
	"southbound/shared/provider"
)

// places are the places of jobs on the machine.
type places struct {
	spools []string // directories in which each crontab is named after its user
	files  []string // patterns of files whose lines name the user
}

func defaultPlaces() places {
	return places{
		spools: []string{"/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/var/spool/cron",
			"/etc/crontabs"},
		files: []string{"/etc/crontab", "/etc/cron.d/*"},
	}
}

// users returns the users that have a crontab, as far as this process may read that: the superuser
// sees all, other users only their own.
func (p places) users() []string {
	for _, dir := range p.spools {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		var out []string
		for _, e := range entries {
			if e.Type().IsRegular() {
				out = append(out, e.Name())
			}
		}
		return out
	}
	if me, err := user.Current(); err == nil {
		return []string{me.Username}
	}
	return nil
}

// paths returns the files that cron reads.
func (p places) paths() []string {
	var out []string
	for _, pattern := range p.files {
		found, _ := filepath.Glob(pattern) // the patterns are our own
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() &&
				validFile(path) {
				out = append(out, path)
			}
		}
	}
	return out
}

// validFile reports whether cron reads a file with such a name.
func validFile(path string) bool {
	return filepath.Base(filepath.Dir(path)) != "cron.d" ||
		fileName().MatchString(filepath.Base(path))
}

// List implements provider.Lister: the jobs of all crontabs and of the files that cron reads, or
// those of the file or the user that the request selects. An unmarked line is named by its command.
// A job of that name is this line, and leaves it unchanged until its attributes differ.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	if asked := ctx.Desired(); text(asked, "file") != "" || text(asked, "user") != "" {
		name := text(asked, "user")
		return h.listed(ctx, placeOf(asked), func(f provider.Found) error {
			if name != "" && f.Attributes["user"] != name {
				return nil
			}
			return found(f)
		})
	}
	if store, ok := h.Store.(store); ok {
		if _, err := exec.LookPath(store.crontab[0]); err == nil {
			for _, name := range h.places.users() {
				if err := h.listed(ctx, name, found); err != nil {
					return err
				}
			}
		}
	}
	for _, path := range h.places.paths() {
		if err := h.listed(ctx, path, found); err != nil {
			return err
		}
	}
	return nil
}

// listed lists the jobs of one place.
func (h handler) listed(
	ctx *provider.Context, place string, found func(provider.Found) error,
) error {
	t, err := h.Store.Read(ctx, place)
	if err != nil {
		return err
	}
	inFile := filepath.IsAbs(place)
	for _, p := range parts(textfile.LinesOf(t.Bytes), inFile) {
		attrs := parse(p.lines, inFile)
		attrs["name"], attrs["user"] = p.name, place
		if inFile {
			attrs["user"], attrs["file"] = p.user, place
			if p.user == "" {
				attrs["user"] = userOf(p.lines[len(p.lines)-1])
			}
		}
		if p.name == "" {
			attrs["name"], _ = attrs["command"].(string)
		}
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}

// part is a job in a crontab.
type part struct {
	name, user string   // "" for a line that is not a job of ours
	lines      []string // one at least
}

// parts returns the jobs of a crontab.
func parts(ls *textfile.Lines, inFile bool) []part {
	var out []part
	for i := 0; i < ls.Len(); i++ {
		of, ours := strings.CutPrefix(ls.At(i), beginJob)
		if !ours {
			if line := normal(ls.At(i), inFile); line != "" {
				out = append(out, part{lines: []string{line}})
			}
			continue
		}
		p := part{name: of}
		if name, user, inFile := cutLast(of, " of "); inFile {
			p.name, p.user = name, user
		}
		for i++; i < ls.Len() && ls.At(i) != endJob+of; i++ {
			p.lines = append(p.lines, ls.At(i))
		}
		if len(p.lines) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// userOf returns the user in a line that names one.
func userOf(line string) string {
	words := strings.Fields(strings.TrimPrefix(line, off))
	at := 5
	if len(words) > 0 && strings.HasPrefix(words[0], "@") {
		at = 1
	}
	if len(words) <= at {
		return ""
	}
	return words[at]
}

var (
	spaces   = pattern.Lazy(`[ \t]+`)
	fileName = pattern.Lazy(`\A[A-Za-z0-9_-]+\z`)
)

// normal returns a line of a job with single blanks between its fields, "" for any other line.
func normal(line string, inFile bool) string {
	line = strings.TrimLeft(line, " \t")
	words := 5
	switch {
	case line == "" || line[0] == '#':
		return ""
	case line[0] == '@':
		words = 1
	case !strings.ContainsAny(line[:1], "0123456789*"):
		return "" // a variable
	}
	all := words + 1
	if inFile {
		all++ // the user
	}
	fields := spaces().Split(line, all)
	if len(fields) < all || fields[all-1] == "" {
		return ""
	}
	if _, err := canonical(strings.Join(fields[:words], " ")); err != nil {
		return ""
	}
	return strings.Join(fields, " ")
}

// foreign returns the unmarked line that does the same as a job, -1 for none.
func (j job) foreign(ls *textfile.Lines) int {
	inFile := j.file != ""
	if len(j.lines) != 1 || normal(j.lines[0], inFile) == "" {
		return -1
	}
	return outside(ls, jobs(ls, inFile).Find(ls, lineKey+j.lines[0]))
}

// unmarked returns the unmarked line that has the name of a job, -1 for none or if the job itself
// exists. A line without markers is named by its command, as in List.
func (j job) unmarked(ls *textfile.Lines) int {
	if _, ours, err := j.block().Lines(ls); ours || err != nil {
		return -1
	}
	inFile := j.file != ""
	key := commandKey + j.name
	if inFile {
		key += userKey + j.user
	}
	return outside(ls, jobs(ls, inFile).Find(ls, key))
}

// The prefixes of the keys of a line, and the text before the user in a key.
const (
	lineKey    = "line "
	commandKey = "command "
	userKey    = "\nuser "
)

// jobs returns the index of the lines that are jobs: by their schedule and command, and by their
// command.
func jobs(ls *textfile.Lines, inFile bool) *textfile.Index {
	name := "jobs of a crontab"
	if inFile {
		name = "jobs of a file"
	}
	return ls.Index(name, func(line string) []string {
		if line = normal(line, inFile); line == "" {
			return nil
		}
		command, _ := parse([]string{line}, inFile)["command"].(string)
		if inFile {
			command += userKey + userOf(line)
		}
		return []string{lineKey + line, commandKey + command}
	})
}

// outside returns the first of some lines that is outside of all jobs, -1 for none.
func outside(ls *textfile.Lines, lines []int) int {
	end, next := "", 0
	for i := 0; next < len(lines) && i < ls.Len(); i++ {
		line := ls.At(i)
		of, begins := strings.CutPrefix(line, beginJob)
		found := i == lines[next]
		if found {
			next++
		}
		switch {
		case begins && end == "":
			end = endJob + of
		case end == "" && found:
			return i
		case line == end:
			end = ""
		}
	}
	return -1
}
