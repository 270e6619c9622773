package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
)

// ProjectFile is the name of the project file.
const ProjectFile = "southbound.yaml"

// Project holds the content of the project file. Fields that the file does not set are zero.
type Project struct {
	Dir         string // the directory of the file, or where it would be
	Environment string
	Data        string
	API         string
	Settings    *state.Settings // nil: not set
}

// FindProject reads southbound.yaml in path if path is a directory, otherwise in the directory of
// path. Without a file it returns a Project with only Dir set. It returns problems in the file as
// diag.Problems.
func FindProject(path string) (Project, error) {
	if path == "" {
		path = "."
	}
	p := Project{Dir: path}
	if info, err := os.Stat(path); path == "-" || err == nil && !info.IsDir() {
		p.Dir = filepath.Dir(path)
	}
	file := filepath.Join(p.Dir, ProjectFile)
	// nonblocking: opening a pipe does not wait for a writer
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := os.Lstat(file); lerr == nil { // a dangling link
			return Project{}, pathError(file, err)
		}
		return p, nil
	}
	if errors.Is(err, fs.ErrPermission) && path == "-" {
		return p, nil
	}
	if err != nil {
		return Project{}, pathError(file, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return Project{}, fault.New(fault.Invalid, "", "%s is no file that could be read", file).
			WithHint("put the settings of the project there, or remove it")
	}
	r := newProjectReader(file)
	text, err := readAll(f, 0)
	if err != nil {
		r.unreadable(err)
		return Project{}, r.list.Err()
	}
	r.read(text, &p)
	if err := r.list.Err(); err != nil {
		return Project{}, err
	}
	return p, nil
}

// projectReader reads the project file.
type projectReader struct{ taker }

func newProjectReader(file string) *projectReader {
	return &projectReader{taker{part: &part{report: report{file: file}}, defaults: documentDefaults,
		texts: map[string]string{}}}
}

// read reads the text of a project file.
func (r *projectReader) read(text []byte, p *Project) {
	if text, ok := r.check(text); ok {
		r.project(r.parseYAML(r.directive(text)), p)
	}
}

func (r *projectReader) project(docs []node, p *Project) {
	if len(docs) == 0 {
		return
	}
	if len(docs) > 1 {
		r.add(docs[1].at, "keep one", "the project file holds more than one document")
	}
	n := &docs[0]
	if n.kind != object {
		r.add(n.at, "write it such as `environment: production`", "the project file is a map")
		return
	}
	for i := range n.items {
		switch m := &n.items[i]; m.key {
		case "environment":
			p.Environment = r.text(m)
			if p.Environment != "" && !state.ValidEnvironment(p.Environment) {
				r.add(m.at, "use letters, digits, - and _, at most 100",
					"%q cannot name an environment", p.Environment)
			}
		case "data":
			p.Data = r.text(m)
		case "api":
			p.API = r.text(m)
		case "settings":
			r.settings(m, p)
		case keyDefaults:
			r.readDefaults(m)
		case keySouthbound, keyResources, keyAgents:
			r.add(m.keyAt, "resources stand in a file of another name",
				"%q does not belong into the project file", m.key)
		default:
			r.unknown(m, []string{"environment", "data", "api", keyDefaults, "settings"})
		}
	}
}

func (r *projectReader) settings(n *node, p *Project) {
	if n.null() {
		return
	}
	if n.kind != object {
		r.add(n.at, "write it such as {repair_timer: 3600}", "settings is a map")
		return
	}
	s := &state.Settings{}
	p.Settings = s
	for i := range n.items {
		switch m := &n.items[i]; m.key {
		case "deploy_timer":
			s.DeployTimer = r.timer(m)
		case "repair_timer":
			s.RepairTimer = r.timer(m)
		case "retry_base":
			s.RetryBase = r.duration(m)
		case "retry_max":
			s.RetryMax = r.duration(m)
		case "keep_versions":
			s.KeepVersions = r.count(m)
		case "keep_actions":
			s.KeepActions = r.duration(m)
		case "strict":
			s.Strict = r.strict(m)
		default:
			r.unknown(m, []string{"deploy_timer", "repair_timer", "retry_base", "retry_max",
				"keep_versions", "keep_actions", "strict"})
		}
	}
	said := n.get("retry_max")
	switch _, longest := s.Backoff(); {
	case s.RetryBase <= longest:
	case said != nil && s.RetryMax != 0:
		r.add(said.at, "make it as long or longer", "retry_max is shorter than retry_base")
	case said == nil:
		r.add(n.get("retry_base").at, "set retry_max as well", "retry_base is longer than "+
			"retry_max, which is %.0fm by default", longest.Minutes())
	}
}

// strict reads the setting for handlers that report values of undeclared types.
func (r *projectReader) strict(n *node) provider.Strictness {
	switch text, _ := n.value.(string); text {
	case "off", "warning", "error":
		return provider.Strictness(text)
	}
	r.add(n.at, "write off, warning or error", "strict is one of three words")
	return ""
}

// timer reads a number of seconds or a cron expression.
func (r *projectReader) timer(n *node) string {
	const hint = `write seconds such as 600, or five fields in UTC such as "30 2 * * *"; 0 is off`
	text, ok := n.value.(string)
	if seconds, isInt := n.value.(int64); isInt && !n.zero {
		text, ok = strconv.FormatInt(seconds, 10), true
	}
	if !ok || text == "" || deploy.CheckTimer(text) != nil {
		r.add(n.at, hint, "%s is whole seconds or a cron expression", n.key)
	}
	return text
}

func (r *projectReader) count(n *node) int {
	v, ok := n.value.(int64)
	if !ok || n.zero || v < 1 || v > 1_000_000 {
		r.add(n.at, "write it such as 100", "%s is a whole number from 1 to 1000000", n.key)
	}
	return int(v)
}

// longest is the longest duration that a setting accepts, in days.
const longest = 36500

// duration parses a duration of time.ParseDuration, optionally preceded by days of 24 hours.
func (r *projectReader) duration(n *node) time.Duration {
	text, _ := n.value.(string)
	days, rest, ok := strings.Cut(text, "d")
	sum := time.Duration(0)
	if ok {
		count, err := strconv.ParseUint(days, 10, 32)
		if ok = err == nil && count <= longest; ok {
			sum, text = time.Duration(count)*24*time.Hour, rest // just checked
		}
	}
	if !ok || text != "" {
		d, err := time.ParseDuration(text)
		if ok = err == nil && d >= 0; ok {
			sum += d
		}
	}
	if !ok || sum <= 0 || sum > longest*24*time.Hour {
		r.add(n.at, "write it with its units, such as 2s, 10m or 30d", "%s is a length of time",
			n.key)
	}
	return sum
}
