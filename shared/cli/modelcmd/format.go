package modelcmd

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/syntax"
)

// Formatter is fmt: it writes models in the canonical form.
type Formatter struct{ *output.Console }

// FmtCommand returns the command fmt.
func (f *Formatter) FmtCommand() *cobra.Command {
	check := false
	cmd := &cobra.Command{
		Use: "fmt [PATH]", Short: "Format models: .cf files",
		Long: "fmt formats the files of models, and names each file that it changed. Meaning and " +
			"comments stay. PATH is a file, a directory with all *.cf files below it, or - for " +
			"standard input (default: the working directory). Files with syntax errors stay as they " +
			"are, and the exit code is 2. With --check it changes nothing " +
			"and exits with 5 if a file is not formatted.",
		Example: "  southbound fmt\n  southbound fmt model/_init.cf\n  southbound fmt --check\n" +
			"  southbound fmt - < main.cf",
		Args: usage.AtMostOne("one path"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			if path == "-" {
				return f.formatInput()
			}
			return f.format(path, check)
		}}
	cmd.Flags().BoolVar(&check, "check", false,
		"change nothing; exit with 5 if a file is not formatted")
	return cmd
}

// formatInput writes standard input, formatted, to standard output.
func (f *Formatter) formatInput() error {
	text, err := io.ReadAll(io.LimitReader(f.Stdin, syntax.MaxText+1))
	if err != nil {
		return fault.Wrap(fault.Unavailable, "read standard input", err)
	}
	out, problems := syntax.Formatted(string(text))
	if err := modelProblems("-", problems).Err(); err != nil {
		return err
	}
	_, err = f.Output().Write([]byte(out))
	return err
}

// format formats the files below a path. It skips invalid files, and returns their problems after
// the other files are written.
func (f *Formatter) format(path string, check bool) error {
	files, err := modelFiles(path)
	if err != nil {
		return err
	}
	var problems diag.Problems
	formatted := map[string]string{}
	for _, file := range files {
		text, err := readModel(file)
		if err != nil {
			return err
		}
		out, wrong := syntax.Formatted(text)
		wrongs := modelProblems(file, wrong)
		problems = append(problems, wrongs...)
		if wrongs.Err() == nil && out != text {
			formatted[file] = out
		}
	}
	for _, file := range files {
		out, differs := formatted[file]
		if !differs {
			continue
		}
		if !check {
			if err := replaceFile(file, out); err != nil {
				return err
			}
		}
		f.changedFile(file)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if check && len(formatted) > 0 {
		f.Code = output.Changed
	}
	return nil
}

func (f *Formatter) changedFile(file string) {
	if f.JSON {
		f.Line(map[string]string{"file": file})
		return
	}
	f.Printf("%s\n", file)
}

// modelFiles returns the files of models below a path: the file itself, or all *.cf files of a
// directory. Names that begin with a dot are omitted, such as virtual environments of Python.
func modelFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read models", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var out []string
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.Type().IsRegular() && filepath.Ext(file) == ".cf":
			out = append(out, file)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		return nil, fault.New(fault.Invalid, "read models", "there is no *.cf file below %s", path).
			WithHint("name a file, or a directory with models")
	}
	return out, fault.Wrap(fault.Invalid, "read models", err)
}

// readModel reads a file of a model.
func readModel(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, "read models", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, syntax.MaxText+1))
	return string(text), fault.Wrap(fault.Invalid, "read "+file, err)
}

// replaceFile replaces an existing file, or the file that a link names, atomically. The file keeps its
// mode.
func replaceFile(file, text string) error {
	target, err := filepath.EvalSymlinks(file)
	if err == nil {
		err = renameio.WriteFile(target, []byte(text), 0o666, renameio.WithTempDir(filepath.Dir(target)))
	}
	return fault.Wrap(fault.Unavailable, "write "+file, err)
}

// modelProblems are the errors among the problems of a text, for people and editors.
func modelProblems(file string, problems []syntax.Problem) diag.Problems {
	at := func(p syntax.Pos) diag.Pos {
		return diag.Pos{File: file, Line: int(p.Line), Column: int(p.Column)}
	}
	var out diag.Problems
	for _, p := range problems {
		if p.Warning {
			continue
		}
		q := diag.Problem{Pos: at(p.Pos), Code: p.Code, Message: p.Message, Hint: p.Hint}
		for _, r := range p.Related {
			q.Related = append(q.Related, diag.Related{Pos: at(r.Pos), Message: r.Message})
		}
		out.Add(q)
	}
	return out
}
