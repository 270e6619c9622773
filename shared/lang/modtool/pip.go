package modtool

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
	"southbound/shared/pattern"
)

// pipTool downloads packages from the indexes of a project, and runs pip to install them.
type pipTool struct {
	*Tool
	meta   *metadata.Project
	update bool     // also update installed packages
	pages  *index   // cached pages of indexes; nil before the first access
	lock   *os.File // on the environment; nil while unlocked
}

// hold locks the environment until release is called. It does nothing if p holds the lock already.
func (p *pipTool) hold(ctx context.Context, env string) (release func(), err error) {
	if p.lock != nil {
		return func() {}, nil
	}
	lock, err := lockEnvironment(ctx, env, p.Say)
	if err != nil {
		return nil, err
	}
	p.lock = lock
	return func() { p.lock.Close(); p.lock = nil }, nil
}

// pip installs packages into an environment, and creates it if it is missing. needs are the
// requirements; wanted has their places, if they are known. all reports whether they cover
// everything that the environment needs.
func (p *pipTool) pip(
	ctx context.Context, env string, all bool,
	needs []string, wanted, constraints []metadata.Requirement,
) error {
	limits := make([]string, 0, len(constraints))
	for _, c := range constraints {
		if len(c.Set) > 0 {
			limits = append(limits, c.Requirement.String())
		}
	}
	out, err := p.pipInto(ctx, env, all, func(dir string) ([]string, error) {
		args := []string{"install"}
		for _, list := range []struct {
			option, name string
			lines        []string
		}{{"-r", "requirements.txt", needs}, {"-c", "constraints.txt", limits}} {
			text := strings.Join(list.lines, "\n") + "\n"
			path := filepath.Join(dir, list.name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return nil, fault.Wrap(fault.Unavailable, "install packages", err)
			}
			args = append(args, list.option, path)
		}
		if p.update {
			args = append(args, "--upgrade")
		}
		p.Say("installing %s", hide(strings.Join(needs, ", ")))
		return args, nil
	})
	if problem, ok := quarrel(out, needs, wanted, constraints); ok && err != nil {
		return oneProblem(problem)
	}
	if err != nil || !all {
		return err
	}
	// pip has installed the modules that were unpacked before
	return fault.Wrap(fault.Unavailable, "install packages", os.RemoveAll(module.Pure(env)))
}

// pipInto runs pip to install packages into an environment, and creates it if it is missing. args
// writes the input files of pip into a folder, and returns its arguments. pipInto returns pip's
// standard output. It also repairs an interrupted installation, unless only that one covered
// everything that the environment needs.
func (p *pipTool) pipInto(
	ctx context.Context, env string, all bool, args func(dir string) ([]string, error),
) (out string, err error) {
	if err := environmentAt(env, nil, p.Tool).supported(ctx); err != nil {
		return "", err
	}
	release, err := p.hold(ctx, env)
	if err != nil {
		return "", err
	}
	defer release()
	interrupted, other := marked(env, all)
	if err := environmentAt(env, p.lock, p.Tool).ready(ctx); err != nil {
		return "", err
	}
	dir, err := beginInstall(env, all || other)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	begun := false
	line, err := args(dir)
	if err == nil {
		if interrupted {
			p.Say("an installation was interrupted; installing again")
			line = append(line, "--force-reinstall")
		}
		out, begun, err = p.runPip(ctx, env, dir, line)
	}
	if other || err != nil && (interrupted || begun) {
		return out, err // the next run repairs it
	}
	if wrong := os.Remove(filepath.Join(env, mark)); err == nil {
		err = fault.Wrap(fault.Unavailable, "install packages", wrong)
	}
	return out, err
}

// unsolved is uv's message for requirements without a solution.
const unsolved = "No solution found"

// untouched reports whether pip or uv failed on its own before it began to install.
func untouched(out string, err error) bool {
	said := err.Error()
	return strings.Contains(said, unsolved) ||
		strings.Contains(said, "ERROR: ") && !strings.Contains(out, "Installing collected packages")
}

// runPip runs pip; or uv, if it is installed and pip's own configuration is not needed. Temporary
// files go to dir. It returns the standard output, and whether the program may have begun to
// install.
func (p *pipTool) runPip(
	ctx context.Context, env, dir string, args []string,
) (out string, begun bool, err error) {
	variables, system := p.pipEnvironment()
	variables = append(variables, "TMPDIR="+dir)
	name, full := python(env), append(
		[]string{"-m", "pip", "--disable-pip-version-check", "--no-input"},
		args...)
	if uv, err := exec.LookPath("uv"); err == nil && !system {
		name, full = uv, append([]string{"pip"}, args...)
		full = append(full, "--python", python(env))
		if again := slices.Index(full, "--force-reinstall"); again >= 0 {
			full[again] = "--reinstall"
		}
	}
	log := filepath.Join(dir, "pip.log")
	if name == python(env) {
		full = append(full, "--log", log)
	}
	out, err = program{dir: p.Dir, env: variables, lock: p.lock}.run(ctx, name, full...)
	if err == nil {
		return out, true, nil
	}
	output, _ := os.ReadFile(log) // uv writes no log
	return out, !untouched(out, err), pipError(out, string(output), err)
}

// pipError converts an error of pip or uv to a message with a hint. It adds the pages of indexes
// that pip could not fetch according to its log.
func pipError(out, log string, err error) error {
	const doing = "install packages of Python"
	missed := unread(log)
	said := repeated().ReplaceAllString(err.Error(), "")
	switch {
	case strings.Contains(said, unsolved):
		return fault.New(fault.Invalid, doing, "%s", said).
			WithHint("change one of these constraints")
	case refused(out) || refused(said) || refused(missed):
		return fault.New(fault.Denied, doing, "the index refuses: %s%s", said, missed).
			WithHint("put a name and password for it into the file .netrc of your home " +
				"directory, and see that they may read its packages")
	case unreached(missed):
		return fault.New(fault.KindOf(err), doing, "the index cannot be reached%s", missed).
			WithHint("see that this machine reaches the index, or name another in pip of " +
				"project.yml; --no-python installs models only")
	case missed != "":
		return fault.New(fault.KindOf(err), doing, "%s%s", said, missed)
	}
	return fault.New(fault.KindOf(err), doing, "%s", said)
}

// repeated matches the lines in which pip reports a retry.
var repeated = pattern.Lazy(`WARNING: Retrying \(.*\n?`)

// unreached reports whether an index could not be reached at all.
func unreached(missed string) bool { return strings.Contains(missed, ": connection error: ") }

// unfetched matches the lines in pip's log about a page that it could not fetch, with the reason.
var unfetched = pattern.Lazy(`Could not fetch URL (\S+): (.+?)(?: - skipping)?(?:\n|$)`)

// maxUnread is the maximum number of pages in an error.
const maxUnread = 5

// unread returns the lines of pip's log about pages that it could not fetch. pip's own message only
// states that the package does not exist.
func unread(log string) string {
	var out []string
	for _, m := range unfetched().FindAllStringSubmatch(log, -1) {
		line := "\n" + hide(m[1]) + ": " + because(hide(m[2]))
		if !slices.Contains(out, line) && len(out) < maxUnread {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// because removes the names of pip's internal objects from a connection error, and keeps the
// reason.
func because(text string) string {
	before, _, found := strings.Cut(text, "HTTP")
	if !found || !strings.Contains(text, "Max retries exceeded") {
		return text
	}
	for _, sep := range []string{">: ", "): "} {
		if i := strings.LastIndex(text, sep); i >= 0 {
			return before + strings.TrimRight(text[i+len(sep):], `'")`)
		}
	}
	return text
}

// refusal matches messages of pip and uv about missing credentials or permissions.
var refusal = pattern.Lazy(
	`(?i)\b(401|403) (client )?(error|unauthorized|forbidden)|\berror (401|403)\b`)

func refused(text string) bool { return refusal().MatchString(text) }

// pipEnvironment returns the environment variables for pip. Addresses and passwords are passed
// there, not on the command line. system reports whether pip's own configuration applies.
func (p *pipTool) pipEnvironment() (variables []string, system bool) {
	index := p.index()
	system = p.meta.Pip.UseSystem || !index.named
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		own := strings.HasPrefix(name, "PIP_") || strings.HasPrefix(name, "UV_")
		if keep := name == "PIP_CACHE_DIR" || name == "PIP_CERT" ||
			name == "UV_CACHE_DIR"; system ||
			!own ||
			keep {
			variables = append(variables, v)
		}
	}
	if !system {
		variables = append(variables, "PIP_CONFIG_FILE="+os.DevNull, "UV_NO_CONFIG=1")
	}
	if index.named {
		variables = append(
			variables,
			"PIP_INDEX_URL="+index.urls[0],
			"UV_DEFAULT_INDEX="+index.urls[0],
		)
		if extra := index.urls[1:]; len(extra) > 0 || !system {
			variables = append(variables, "PIP_EXTRA_INDEX_URL="+strings.Join(extra, " "),
				"UV_INDEX="+strings.Join(extra, " "), "UV_INDEX_STRATEGY=unsafe-best-match")
		}
	}
	if wantsPre(p.meta) {
		variables = append(variables, "PIP_PRE=1", "UV_PRERELEASE=allow")
	}
	return variables, system
}

// InstallModule installs the module in a folder into the environment of the project that the
// working directory is in, or of the folder itself: in editable form, or as a copy of its current
// state.
func (t *Tool) InstallModule(ctx context.Context, path string, editable bool) error {
	m, warnings, err := module.Open(path)
	t.warn(warnings)
	if err != nil {
		return err
	}
	if m.Generation == 1 {
		return fault.New(fault.Invalid, "install the module",
			"%s is a module V1, which is not installed", m.Name).
			WithHint("put it, or a link to it, on the modulepath; or convert it with " +
				"`southbound module v1tov2`")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		return fault.Wrap(fault.Usage, "install the module", err)
	}
	env := filepath.Join(t.Dir, module.EnvDir)
	if editable && !hasPython(env) && !m.HasCode() {
		return link(env, m, t.Say)
	}
	meta := metadata.NoProject(t.Dir)
	if fileThere(meta.File) {
		if meta, err = t.folder().open(); err != nil {
			return err
		}
	}
	p := &pipTool{Tool: t, meta: meta}
	_, err = p.pipInto(ctx, env, !fileThere(meta.File), func(dir string) ([]string, error) {
		if editable {
			return []string{"install", "-e", full}, nil
		}
		files, err := t.Build(path, BuildOptions{Output: dir, Wheel: true})
		return append([]string{"install", "--force-reinstall"}, files...), err
	})
	if err == nil && editable {
		t.Say("%s is installed in editable form", m.Name)
	}
	return err
}

// link installs a module in editable form, without Python.
func link(env string, m *module.Module, say func(format string, args ...any)) error {
	const doing = "install the module"
	full, err := filepath.Abs(m.Dir)
	if err != nil {
		return fault.Wrap(fault.Usage, doing, err)
	}
	site := module.Pure(env)
	if err = os.MkdirAll(site, 0o755); err == nil {
		err = removePackage(site, m.Name)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	if err := Replace(filepath.Join(site, "__editable__."+m.Name+".pth"),
		[]byte(full+"\n")); err != nil {
		return err
	}
	say("%s is installed in editable form", m.Name)
	return nil
}

// pytestNeed is the required version of pytest for tests of modules.
const pytestNeed = "pytest >=7"

// InstallTests installs pytest and the requirements of a module into an environment; "" is the one
// of the folder. It does not install the module itself, whose files are used in place.
func (t *Tool) InstallTests(ctx context.Context, m *module.Module, env string) error {
	if env == "" {
		env = filepath.Join(t.Dir, module.EnvDir)
	}
	meta := metadata.NoProject(t.Dir)
	if fileThere(meta.File) {
		var err error
		if meta, err = t.folder().open(); err != nil {
			return err
		}
	}
	needs := []string{pytestNeed, library}
	for _, r := range m.Meta.Requires {
		if m.Generation == 2 || r.Module == "" {
			needs = append(needs, r.Requirement.String())
		}
	}
	p := &pipTool{Tool: t, meta: meta}
	return p.pip(ctx, env, !fileThere(meta.File), needs, nil, nil)
}
