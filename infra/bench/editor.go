package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"southbound/shared/lang/lsp/lsptest"
)

// projectFiles is the number of files of the model that an editor opens.
const projectFiles = 500

// runEditor measures only the requests of an editor.
func runEditor(bin string, runs int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "southbound-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return (&bench{bin: bin, dir: dir}).editor(runs)
}

// editor measures the waiting times of a user who edits a model in a project of many files.
func (b *bench) editor(runs int) error {
	dir := b.fresh()
	if err := writeProject(dir); err != nil {
		return err
	}
	var opened, told, evaluated, completed, found []time.Duration
	for range runs {
		e := &editing{dir: dir, bin: b.bin}
		for _, step := range []struct {
			out *[]time.Duration
			f   func() error
		}{
			{&opened, e.open}, {&evaluated, e.evaluated}, {&told, e.mistype}, {&told, e.correct},
			{&completed, e.complete}, {&found, e.references},
		} {
			began := time.Now()
			if err := step.f(); err != nil {
				return err
			}
			*step.out = append(*step.out, time.Since(began))
		}
		if err := e.close(); err != nil {
			return err
		}
	}
	fmt.Printf(
		"\n%-60s %9s %9s\n",
		"in an editor, a project of 500 files, 5,000 entities",
		"s",
		"goal s",
	)
	for _, r := range []struct {
		name string
		took []time.Duration
		goal string
	}{
		{"opened: from the start of the server to the first problems", opened, "1.0"},
		{"problems after a keystroke", told, "0.1"},
		{"problems of an evaluation, which waits for quiet", evaluated, ""},
		{"completion after a keystroke", completed, ""},
		{"references of an attribute in all files", found, ""},
	} {
		fmt.Printf("%-60s %9.3f %9s\n", r.name, median(r.took), r.goal)
	}
	return nil
}

// writeProject writes a main.cf that imports modules of some 130 lines each.
func writeProject(dir string) error {
	var main strings.Builder
	for i := range projectFiles - 1 {
		name := fmt.Sprintf("m%03d", i)
		fmt.Fprintf(&main, "import %s\n", name)
		model := filepath.Join(dir, "libs", name, "model")
		if err := os.MkdirAll(model, 0o700); err != nil {
			return err
		}
		err := os.WriteFile(filepath.Join(model, "_init.cf"), []byte(moduleText(i)), 0o600)
		if err != nil {
			return err
		}
	}
	main.WriteString("x = m000::E0(name=\"main\")\ny = x.name\n")
	return os.WriteFile(filepath.Join(dir, "main.cf"), []byte(main.String()), 0o600)
}

func moduleText(i int) string {
	var b strings.Builder
	if i > 0 {
		fmt.Fprintf(&b, "import m%03d\n", i-1)
	}
	for j := range 10 {
		fmt.Fprintf(&b, `entity E%[1]d:
    """
    Something.

    :attr name: its name
    """
    string name
    int size = 3
end
E%[1]d.next [0:1] -- E%[2]d.prev [0:1]
implementation i%[1]d for E%[1]d:
    std::count([self.name, "{{ self.name }}"])
end
implement E%[1]d using i%[1]d
x%[1]d = E%[1]d(name="m%[3]d")
`, j, (j+1)%10, i)
	}
	if i > 0 {
		fmt.Fprintf(&b, "y = m%03d::x0.name\n", i-1)
	}
	return b.String()
}

// editing is a session of an editor with main.cf.
type editing struct {
	*lsptest.Client
	ctx     context.Context
	stop    context.CancelFunc
	bin     string
	dir     string
	version int32
}

func (e *editing) main() string { return filepath.Join(e.dir, "main.cf") }

func (e *editing) open() error {
	const patience = time.Minute
	e.ctx, e.stop = context.WithTimeout(context.Background(), patience)
	var err error
	if e.Client, err = lsptest.Start(e.ctx, exec.Command(e.bin, "lsp")); err != nil {
		return err
	}
	if _, err := e.Hello(e.ctx, e.dir, nil); err != nil {
		return err
	}
	text, err := os.ReadFile(e.main())
	if err != nil {
		return err
	}
	if err := e.Open(e.ctx, e.main(), string(text)+"nothing::x\n"); err != nil {
		return err
	}
	e.version = 1
	return e.wait("unknown_namespace", "nothing is not imported")
}

// wait waits until the server reports one of the wanted problems of the current text, or no
// problems if want is empty.
func (e *editing) wait(want ...string) error {
	_, err := e.Diagnostics(e.ctx, e.main(), func(p protocol.PublishDiagnosticsParams) bool {
		got := strings.Join(lsptest.Messages(p), "\n")
		if v, _ := p.Version.Get(); v != e.version || (got == "") != (len(want) == 0) {
			return false
		}
		for _, w := range want {
			if strings.Contains(got, w) {
				return true
			}
		}
		return len(want) == 0
	})
	return err
}

// line replaces the last line.
func (e *editing) line(with string) error {
	e.version++
	at := protocol.Position{Line: projectFiles + 1}
	end := protocol.Position{Line: at.Line + 1}
	return e.Edit(e.ctx, e.main(), e.version, protocol.Range{Start: at, End: end}, with)
}

func (e *editing) evaluated() error {
	if err := e.line("x = 1\n"); err != nil {
		return err
	}
	return e.wait("double_set")
}

func (e *editing) mistype() error {
	if err := e.line("z = \n"); err != nil {
		return err
	}
	return e.wait("syntax")
}

func (e *editing) correct() error {
	if err := e.line("z = m001::Ex(name=\"a\")\n"); err != nil {
		return err
	}
	return e.wait("unknown_type")
}

func (e *editing) complete() error {
	if err := e.line("z = x.\n"); err != nil {
		return err
	}
	var p protocol.CompletionParams
	p.TextDocument.URI = uri.File(e.main())
	p.Position = protocol.Position{Line: projectFiles + 1, Character: 6}
	got, err := e.Completion(e.ctx, &p)
	if list, ok := got.(*protocol.CompletionList); err == nil && (!ok || len(list.Items) < 3) {
		return fmt.Errorf("the completion is %v", got)
	}
	return err
}

func (e *editing) references() error {
	var p protocol.ReferenceParams
	p.TextDocument.URI = uri.File(e.main())
	p.Position = protocol.Position{Line: projectFiles - 1, Character: 14}
	p.Context.IncludeDeclaration = true
	got, err := e.References(e.ctx, &p)
	if err == nil && len(got) < 3 {
		return fmt.Errorf("the references are %v", got)
	}
	return err
}

func (e *editing) close() error {
	defer e.stop()
	if code, err := e.Bye(e.ctx); err != nil || code != 0 {
		return fmt.Errorf("the server ended with %d: %w", code, err)
	}
	return nil
}
