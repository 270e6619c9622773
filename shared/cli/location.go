package cli

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/api"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/schema"
)

// location is the environment and the home that a command works on. locate completes the values of
// flags.
type location struct {
	env     string
	named   bool // a flag, a variable or the project file names the environment
	data    string
	api     string // the address of a server; "": the embedded home
	project source.Project
	// projectDir is where commands without a path look for the project file; "": in the working
	// directory and its parents.
	projectDir string
	others     []string // projects in the working directory, if it is not in a project
}

// pick returns the first non-empty value: of a flag, an environment variable, the project file, or
// the default.
func pick(flag, variable, project, fallback string) string {
	for _, s := range []string{flag, os.Getenv(variable), project} {
		if s != "" {
			return s
		}
	}
	return fallback
}

// locate determines the environment and the data directory of a command that works on path ("" if
// it works on none).
func (l *location) locate(path string) error {
	if err := l.settle(path); err != nil {
		return err
	}
	if last := lastApplied(l.data); path == "" && !l.named && !l.remote() &&
		api.ValidEnvironment(last.Environment) {
		l.env = last.Environment
	}
	return nil
}

// settle is locate without the environment that was last applied in the data directory.
func (l *location) settle(path string) error {
	from := path
	if path == "" {
		from = l.projectAround(cmp.Or(l.projectDir, "."))
	}
	var err error
	if l.project, err = source.FindProject(from); err != nil {
		return err
	}
	projectData := l.project.Data
	if projectData != "" && !filepath.IsAbs(projectData) {
		projectData = filepath.Join(l.project.Dir, projectData)
	}
	l.named = pick(l.env, "SOUTHBOUND_ENVIRONMENT", l.project.Environment, "") != ""
	l.env = pick(l.env, "SOUTHBOUND_ENVIRONMENT", l.project.Environment, "default")
	if !api.ValidEnvironment(l.env) {
		return fault.New(fault.Usage, "", "%q cannot name an environment", l.env).
			WithHint("use letters, digits, - and _, at most 100")
	}
	if l.data = pick(l.data, "SOUTHBOUND_DATA", projectData, ""); l.data == "" {
		l.data = l.dataOf(path)
	}
	l.api = pick(l.api, "SOUTHBOUND_API", l.project.API, "")
	return nil
}

// remote reports whether the home is a server.
func (l *location) remote() bool { return l.api != "" }

// fresh reports whether the data directory does not exist yet.
func (l *location) fresh() bool {
	_, err := os.Stat(l.data)
	return errors.Is(err, fs.ErrNotExist)
}

// where returns the place of the environments that this program works on, for people.
func (l *location) where() string {
	if l.remote() {
		return l.api
	}
	if dir, err := filepath.Abs(l.data); err == nil {
		return dir
	}
	return l.data
}

// missing is the error for an environment that does not exist; names are the existing ones.
func (l *location) missing(names []string) error {
	where := l.where()
	if !l.remote() && l.fresh() {
		where += ", which does not exist"
	}
	e := fault.New(fault.NotFound, "", "there is no environment %q in %s", l.env, where)
	if similar := schema.Nearest(l.env, names); similar != "" {
		return e.WithHint("did you mean %q?", similar)
	}
	if len(l.others) > 1 {
		return e.WithHint("name a project with --project: %s", named(l.others))
	}
	if len(names) == 0 {
		return e.WithHint("`southbound apply PATH` makes it; --data or --project names another place")
	}
	return e.WithHint("`southbound environments` lists them; `southbound apply PATH` makes it")
}

// tokenFile is the file in a data directory with the token that clients must send to its server.
const tokenFile = "api-token"

// token returns the token to send to the server; "" if there is none. A token from a data directory
// is only sent to this machine.
func (l *location) token() (string, error) {
	if t := os.Getenv("SOUTHBOUND_TOKEN"); t != "" {
		return t, nil
	}
	if !api.Loopback(l.api) {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(l.data, tokenFile))
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), fault.Wrap(fault.Denied, "read token", err)
}

var errEnough = errors.New("enough")
