package std

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// projectPlugins returns the plugins that read files of the project and its modules.
func projectPlugins() []eval.Plugin {
	path := []eval.Param{{Name: "path", Type: "string"}}
	const where = "module/path is in the folder files of a module, ./path in that of the module " +
		"that calls, /path in that of the project. A link may not lead out of a module."
	return []eval.Plugin{
		templatePlugin(),
		{
			Name: "std::source", Doc: "Returns the text of the file at path: " + where,
			Result: "string", InContext: true, Params: path, Call: source,
		},
		{
			Name: "std::file", Doc: "Returns a mark that stands for the file at path: " + where,
			Result: "string", InContext: true, Params: path, Call: fileMark,
		},
		{
			Name: "std::list_files", Doc: "Returns the names of the files in the folder path.",
			Result: "list", InContext: true, Params: path, Call: listFiles,
		},
		{
			Name: "std::generate_password", Result: "string", InContext: true,
			Doc: "Returns the password of the name pw_id. One of length letters and digits is " +
				"made the first time, and kept in data/std/passwordfile.txt of the project; for " +
				"orders of services in AWS, in the table.",
			Params: []eval.Param{
				{Name: "pw_id", Type: "string"},
				{Name: "length", Type: "int", Default: int64(20)},
			}, Call: generatePassword,
		},
		{
			Name: "std::password", Result: "string", InContext: true, Call: password,
			Doc:    "Returns the password of the name pw_id, which has to exist.",
			Params: []eval.Param{{Name: "pw_id", Type: "string"}},
		},
	}
}

func source(c *eval.Context, a eval.Args) (types.Value, error) {
	name, err := of(c).file(c, a.Text(0))
	if err != nil {
		return nil, err
	}
	text, err := read(name)
	return asText(text, problem(err, a.Text(0)))
}

// problem replaces the path of a missing file by the path in the model.
func problem(err error, path string) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no file %s", path)
	}
	return err
}

func fileMark(c *eval.Context, a eval.Args) (types.Value, error) {
	name, err := of(c).file(c, a.Text(0))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("there is no file %s", a.Text(0))
	}
	return "imp-module-source:file://" + name, nil
}

func listFiles(c *eval.Context, a eval.Args) (types.Value, error) {
	name, err := of(c).file(c, a.Text(0))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, problem(err, a.Text(0))
	}
	out := &types.List{}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(name, e.Name())); err == nil && !info.IsDir() {
			out.Items = append(out.Items, e.Name())
		}
	}
	return out, nil
}

// PasswordsIn returns the passwords in a file of the folder data, which only its owner can read.
// The result must not be used by several compiles concurrently.
func PasswordsIn(data string) Passwords {
	return &passwords{path: filepath.Join(data, "std", "passwordfile.txt")}
}

// passwords are the passwords in a file, with one name and password a line.
type passwords struct {
	path  string
	lines []string
}

// Password implements Passwords: it reads the file.
func (p *passwords) Password(_ context.Context, id string) (string, error) {
	text, err := read(p.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	p.lines = nil
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		p.lines = append(p.lines, line)
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == id {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}

// Make implements Passwords. The caller has called Password, which has returned "".
func (p *passwords) Make(_ context.Context, id, made string) (string, error) {
	p.lines = append(slices.Clip(p.lines), id+"="+made)
	return made, p.save()
}

// passwords returns the store of passwords, and the password with this name; "" if there is none.
func (e *Env) passwords(ctx context.Context, id string) (Passwords, string, error) {
	if strings.ContainsAny(id, "=\r\n") {
		return nil, "", fmt.Errorf("the name of a password has no = and is one line, unlike %q", id)
	}
	p := e.Passwords
	if p == nil {
		p = PasswordsIn(filepath.Join(e.Dir, "data"))
	}
	found, err := p.Password(ctx, id)
	return p, found, err
}

func password(c *eval.Context, a eval.Args) (types.Value, error) {
	p, found, err := of(c).passwords(c.Ctx, a.Text(0))
	if err != nil || found != "" {
		return asText(found, err)
	}
	if file, ok := p.(*passwords); ok {
		return nil, fmt.Errorf("there is no password %s in %s", a.Text(0), file.path)
	}
	return nil, fmt.Errorf("there is no password %s in this environment", a.Text(0))
}

func generatePassword(c *eval.Context, a eval.Args) (types.Value, error) {
	p, found, err := of(c).passwords(c.Ctx, a.Text(0))
	if err != nil || found != "" {
		return asText(found, err)
	}
	n := a.Int(1)
	if n < 1 || n > 1000 {
		return nil, fmt.Errorf("a password has 1 to 1000 characters, not %d", a.Number(1))
	}
	made, err := p.Make(c.Ctx, a.Text(0), random(int(n)))
	return asText(made, err)
}

func random(n int) string {
	const set = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	out := make([]byte, n)
	for i := range out {
		j, _ := rand.Int(rand.Reader, big.NewInt(int64(len(set)))) // never fails
		out[i] = set[j.Int64()]
	}
	return string(out)
}

// save replaces the file atomically. Only its owner can read the file.
func (p *passwords) save() error {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(p.path, []byte(strings.Join(p.lines, "\n")+"\n"), 0o600,
		renameio.WithTempDir(filepath.Dir(p.path)), renameio.WithStaticPermissions(0o600))
}
