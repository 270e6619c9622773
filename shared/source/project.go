package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"southbound/shared/deploy"
)

const projectFile = "southbound.yaml"

// Project is what the project file says; zero fields are not said.
type Project struct {
	Dir         string // where the file is
	Environment string
	Data        string
	API         string
	Settings    *deploy.Settings
}

// FindProject reads southbound.yaml at the root of what is exported; without one it returns the zero Project. What is wrong with it is
// diag.Problems.
func FindProject(path string) (Project, error) {
	dir := path
	if info, err := os.Stat(path); path == "-" || err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if path == "" {
		dir = "."
	}
	file := filepath.Join(dir, projectFile)
	text, err := os.ReadFile(file) //nolint:gosec // beside what the user named
	if errors.Is(err, fs.ErrNotExist) {
		return Project{Dir: dir}, nil
	}
	if err != nil {
		return Project{}, pathError(file, err)
	}
	l := &loader{}
	p := Project{Dir: dir}
	if l.encoding(file, text) {
		for _, n := range l.parseYAML(file, text) {
			l.project(file, n, &p)
		}
	}
	return p, l.problems.Err()
}

func (l *loader) project(file string, n *node, p *Project) {
	t := &taker{loader: l, d: doc{name: file}}
	if n.kind != object {
		t.bad(n, "", "the project file is a map")
		return
	}
	t.known(n, []string{"environment", "data", "api", "settings"})
	p.Environment, p.Data, p.API = t.text(n, "environment"), t.text(n, "data"), t.text(n, "api")
	s := t.object(n, "settings")
	if s == nil {
		return
	}
	t.known(s, []string{"deploy_timer", "repair_timer", "retry_base", "retry_max", "keep_versions", "keep_actions"})
	p.Settings = &deploy.Settings{DeployTimer: t.timer(s.get("deploy_timer")), RepairTimer: t.timer(s.get("repair_timer")),
		RetryBase: t.duration(s.get("retry_base")), RetryMax: t.duration(s.get("retry_max")), KeepActions: t.duration(s.get("keep_actions"))}
	if k := s.get("keep_versions"); k != nil {
		v, ok := k.scalar.(int64)
		if !ok || v < 1 {
			t.bad(k, "", "keep_versions is a whole number from 1")
		}
		p.Settings.KeepVersions = int(v)
	}
}

func (t *taker) timer(n *node) string {
	if n == nil {
		return ""
	}
	text, _ := n.scalar.(string)
	if v, ok := n.scalar.(int64); ok {
		text = strconv.FormatInt(v, 10)
	}
	if err := deploy.CheckTimer(text); text == "" || err != nil {
		t.bad(n, `write seconds such as 600, or five fields such as "30 2 * * *"; 0 is off`, "this is no timer")
	}
	return text
}

func (t *taker) duration(n *node) time.Duration {
	if n == nil {
		return 0
	}
	text, _ := n.scalar.(string)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if v, err := strconv.Atoi(days); err == nil && v > 0 && v < 36500 {
			return time.Duration(v) * 24 * time.Hour
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.bad(n, "such as 2s, 10m or 30d", "this is no length of time")
	}
	return d
}
