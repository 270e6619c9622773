package std

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// projectPlugins are those that read what the project and its modules bring.
func projectPlugins() []eval.Plugin {
	path := []eval.Param{{Name: "path", Type: "string"}}
	const where = "module/path is in the folder files of a module, ./path in that of the module " +
		"that calls, /path in that of the project."
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
				"made the first time, and kept in data/std/passwordfile.txt of the project.",
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

// problem says of a file by the path that the model has.
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

// passwords are the names and passwords of a file, a line each.
type passwords struct {
	path  string
	lines []string
}

func (e *Env) passwords(id string) (*passwords, string, error) {
	if strings.ContainsAny(id, "=\r\n") {
		return nil, "", fmt.Errorf("the name of a password has no = and is one line, unlike %q", id)
	}
	p := &passwords{path: filepath.Join(e.Dir, "data", "std", "passwordfile.txt")}
	text, err := read(p.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, "", err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		p.lines = append(p.lines, line)
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == id {
			return p, strings.TrimSpace(value), nil
		}
	}
	return p, "", nil
}

func password(c *eval.Context, a eval.Args) (types.Value, error) {
	p, found, err := of(c).passwords(a.Text(0))
	if err == nil && found == "" {
		err = fmt.Errorf("there is no password %s in %s", a.Text(0), p.path)
	}
	return asText(found, err)
}

func generatePassword(c *eval.Context, a eval.Args) (types.Value, error) {
	p, found, err := of(c).passwords(a.Text(0))
	if err != nil || found != "" {
		return asText(found, err)
	}
	n := a.Int(1)
	if n < 1 || n > 1000 {
		return nil, fmt.Errorf("a password has 1 to 1000 characters, not %d", a.Number(1))
	}
	made := random(int(n))
	p.lines = append(slices.Clip(p.lines), a.Text(0)+"="+made)
	return asText(made, p.save())
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

// save writes the file as a whole, for its owner alone.
func (p *passwords) save() error {
	if err := os.MkdirAll(filepath.Dir(p.path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.path), ".passwords-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(p.lines, "\n") + "\n")
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
