package home

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/schema"
)

// Location is the environment and the home that a command works on. locate completes the values of
// flags.
type Location struct {
	Env     string
	Named   bool // a flag, a variable or the project file names the environment
	Data    string
	API     string // the address of a server; "": the embedded home
	Project source.Project
	// ProjectDir is where commands without a path look for the project file; "": in the working
	// directory and its parents.
	ProjectDir string
	others     []string // projects in the working directory, if it is not in a project
}

// Pick returns the first non-empty value: of a flag, an environment variable, the project file, or
// the default.
func Pick(flag, variable, project, fallback string) string {
	for _, s := range []string{flag, os.Getenv(variable), project} {
		if s != "" {
			return s
		}
	}
	return fallback
}

// Locate determines the environment and the data directory of a command that works on path ("" if
// it works on none).
func (l *Location) Locate(path string) error {
	if err := l.Settle(path); err != nil {
		return err
	}
	if last := lastApplied(l.Data); path == "" && !l.Named && !l.Remote() &&
		api.ValidEnvironment(last.Environment) {
		l.Env = last.Environment
	}
	return nil
}

// Settle is locate without the environment that was last applied in the data directory.
func (l *Location) Settle(path string) error {
	from := path
	if path == "" {
		from = l.projectAround(cmp.Or(l.ProjectDir, "."))
	}
	var err error
	if l.Project, err = source.FindProject(from); err != nil {
		return err
	}
	projectData := l.Project.Data
	if projectData != "" && !filepath.IsAbs(projectData) {
		projectData = filepath.Join(l.Project.Dir, projectData)
	}
	l.Named = Pick(l.Env, "SOUTHBOUND_ENVIRONMENT", l.Project.Environment, "") != ""
	l.Env = Pick(l.Env, "SOUTHBOUND_ENVIRONMENT", l.Project.Environment, "default")
	if !api.ValidEnvironment(l.Env) {
		return fault.New(fault.Usage, "", "%q cannot name an environment", l.Env).
			WithHint("use letters, digits, - and _, at most 100")
	}
	if l.Data = Pick(l.Data, "SOUTHBOUND_DATA", projectData, ""); l.Data == "" {
		l.Data = l.dataOf(path)
	}
	l.API = Pick(l.API, "SOUTHBOUND_API", l.Project.API, "")
	return nil
}

// Remote reports whether the home is a server.
func (l *Location) Remote() bool { return l.API != "" }

// Fresh reports whether the data directory does not exist yet.
func (l *Location) Fresh() bool {
	_, err := os.Stat(l.Data)
	return errors.Is(err, fs.ErrNotExist)
}

// Where returns the place of the environments that this program works on, for people.
func (l *Location) Where() string {
	if l.Remote() {
		return l.API
	}
	if dir, err := filepath.Abs(l.Data); err == nil {
		return dir
	}
	return l.Data
}

// Missing is the error for an environment that does not exist; names are the existing ones.
func (l *Location) Missing(names []string) error {
	where := l.Where()
	if !l.Remote() && l.Fresh() {
		where += ", which does not exist"
	}
	e := fault.New(fault.NotFound, "", "there is no environment %q in %s", l.Env, where)
	if similar := schema.Nearest(l.Env, names); similar != "" {
		return e.WithHint("did you mean %q?", similar)
	}
	if len(l.others) > 1 {
		return e.WithHint("name a project with --project: %s", output.Named(l.others))
	}
	if len(names) == 0 {
		return e.WithHint("`southbound apply PATH` makes it; --data or --project names another place")
	}
	return e.WithHint("`southbound environments` lists them; `southbound apply PATH` makes it")
}

// TokenFile is the file in a data directory with the token that clients must send to its server.
const TokenFile = "api-token"

// ReadTokenFile is the file with the token of clients that may only read.
const ReadTokenFile = "api-token-read-only"

// Token returns the token to send to the server; "" if there is none. A token from a data directory
// is only sent to this machine.
func (l *Location) Token() (string, error) {
	if t := os.Getenv("SOUTHBOUND_TOKEN"); t != "" {
		return t, nil
	}
	if !api.Loopback(l.API) {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(l.Data, TokenFile))
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), fault.Wrap(fault.Denied, "read token", err)
}

// ErrEnough ends a listing whose caller needs no further items.
var ErrEnough = errors.New("enough")
