// Command bench measures the program as a whole against a floor: a program that makes only the
// system calls that the work requires. All runs follow each other on one machine, in new
// directories. These are deleted at the end, because deletions between runs slow file systems down.
// It prints medians, and ratios to the floor.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/southbound", "the program")
	n := flag.Int("n", 10000, "resources")
	runs := flag.Int("runs", 5, "runs of each")
	large := flag.Bool("large", false, "also 100,000 resources")
	puppet := flag.Bool("puppet", false, "also Puppet, which must be installed")
	ssh := flag.Bool("ssh", false,
		"also a tenth of the files over ssh, to the server of OpenSSH, which must be installed")
	across := flag.Bool("across", false, "only chains of changes across agents")
	editor := flag.Bool("editor", false, "only requests of an editor")
	language := flag.Bool("models", false,
		"only models, beside the reference compiler, which is installed in the cache of the user "+
			"with python"+referencePython)
	python := flag.String("reference", "",
		"Python of an environment with the reference compiler, for -models")
	flag.Parse()
	if *language {
		if err := runModels(*bin, *python, *runs); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *editor {
		if err := runEditor(*bin, *runs); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *across {
		*n = 0
	}
	if err := run(*bin, *n, *runs, *large, *puppet, *ssh); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one execution of all measurements.
type bench struct {
	bin   string
	dir   string
	next  int
	floor string // the directory of files that the floor made
}

func run(bin string, n, runs int, large, puppet, ssh bool) error {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "southbound-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{bin: abs, dir: dir}
	fmt.Printf("%s, %d processors, %s; medians of %d\n\n", runtime.Version(), runtime.NumCPU(), bin,
		runs)
	if n == 0 {
		columns()
		return b.across(runs)
	}
	header()
	if err := b.files(n, runs); err != nil {
		return err
	}
	shapes := []struct {
		name string
		n    int
		make func(n int) string
		goal goal
	}{
		{"std::Null", n, independent, goal{ratio: 3}}, {"std::Null, chain", n / 10, chain, goal{}},
		{"std::Null, 10 layers", n, layers, goal{ratio: 4}},
		{"std::Null, ten an agent", n, manyAgents, goal{}},
	}
	if large {
		for _, s := range []int{0, 3} {
			shapes = append(shapes, shapes[s])
			shapes[len(shapes)-1].n, shapes[len(shapes)-1].goal = 10*n, goal{}
		}
	}
	for _, s := range shapes {
		if err := b.shape(fmt.Sprintf("%s, %d", s.name, s.n), s.make(s.n), n, runs,
			s.goal); err != nil {
			return err
		}
	}
	fmt.Println()
	columns()
	if err := b.across(min(runs, 3)); err != nil {
		return err
	}
	if err := b.editor(runs); err != nil {
		return err
	}
	if ssh {
		if err := b.ssh(n/10, runs); err != nil {
			return err
		}
	}
	if puppet {
		return b.puppet(n, min(runs, 3))
	}
	return nil
}

// fresh returns a new directory.
func (b *bench) fresh() string {
	b.next++
	d := filepath.Join(b.dir, fmt.Sprint(b.next))
	_ = os.MkdirAll(d, 0o700)
	return d
}

// files measures files. Each run of the program is next to one of the floor, so that other load of
// the machine affects both.
func (b *bench) files(n, runs int) error {
	var create, floorCreate, check, floorCheck, export, status []sample
	for range runs {
		dir := b.fresh()
		model, floor := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "floor")
		text := fileModel(filepath.Join(dir, "tree"), n)
		if err := os.WriteFile(model, []byte(text), 0o600); err != nil {
			return err
		}
		program := func(args ...string) func() (sample, error) {
			return func() (sample, error) {
				return b.measured(append(args, "--data", dir+"/data")...)
			}
		}
		for _, step := range []struct {
			out *[]sample
			f   func() (sample, error)
		}{
			{&floorCreate, func() (sample, error) {
				return within(func() error { return floorWrite(floor, n, floorWriters) })
			}},
			{&create, program("apply", model)},
			{&floorCheck, func() (sample, error) {
				return within(func() error { return floorRead(floor, n) })
			}},
			{&check, program("apply", model)},
			{&export, program("export", "--wait", model)},
			{&status, program("status")},
		} {
			one, err := step.f()
			if err != nil {
				return err
			}
			*step.out = append(*step.out, one)
		}
		b.floor = floor
	}
	row(fmt.Sprintf("%d files, create", n), create, floorCreate, goal{1.4, 160 << 20})
	row("the same, apply again", check, floorCheck, goal{2.3, 160 << 20})
	row("the same, export --wait again", export, nil, goal{})
	row("status", status, nil, goal{})
	return nil
}

// shape measures a model without files. Its floor is the check of as many files, in the same run.
func (b *bench) shape(name, model string, n, runs int, g goal) error {
	var took, floor []sample
	for range runs {
		dir := b.fresh()
		file := filepath.Join(dir, "site.yaml")
		if err := os.WriteFile(file, []byte(model), 0o600); err != nil {
			return err
		}
		least, err := within(func() error { return floorRead(b.floor, n) })
		if err != nil {
			return err
		}
		one, err := b.measured("apply", file, "--data", dir+"/data")
		if err != nil {
			return err
		}
		took, floor = append(took, one), append(floor, least)
	}
	if g.ratio == 0 {
		floor = nil
	}
	row(name, took, floor, g)
	return nil
}

func (b *bench) southbound(args ...string) error {
	out, err := exec.Command(b.bin, append(args, "--quiet")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("southbound %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// puppet applies the same files with Puppet.
func (b *bench) puppet(n, runs int) error {
	path, err := exec.LookPath("puppet")
	if err != nil {
		return errors.New("puppet is not installed; make bench-peers installs it")
	}
	var create, again []time.Duration
	for range runs {
		dir := b.fresh()
		var m strings.Builder
		fmt.Fprintf(&m, "file { '%s/tree': ensure => directory }\n", dir)
		for i := range n {
			fmt.Fprintf(&m,
				"file { '%s/tree/f%06d': ensure => file, mode => '0644', content => %q }\n", dir, i,
				text(i))
		}
		manifest := filepath.Join(dir, "site.pp")
		if err := os.WriteFile(manifest, []byte(m.String()), 0o600); err != nil {
			return err
		}
		for _, out := range []*[]time.Duration{&create, &again} {
			began := time.Now()
			if msg, err := exec.Command(path, "apply", manifest).CombinedOutput(); err != nil {
				return fmt.Errorf("puppet: %w: %.500s", err, msg)
			}
			*out = append(*out, time.Since(began))
		}
	}
	line(fmt.Sprintf("Puppet: %d files, create", n), create, nil)
	line("Puppet: the same again", again, nil)
	return nil
}

func columns() { fmt.Printf("%-60s %9s %9s %7s\n", "work", "s", "floor s", "ratio") }

func line(name string, took, floor []time.Duration) {
	if floor == nil {
		fmt.Printf("%-60s %9.3f\n", name, median(took))
		return
	}
	ratio := median(took) / median(floor)
	fmt.Printf("%-60s %9.3f %9.3f %7.2f\n", name, median(took), median(floor), ratio)
}

func median(d []time.Duration) float64 {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2].Seconds()
}

func text(i int) string { return strings.Repeat("x", 100) + fmt.Sprintf(" file %06d", i) }

func fileModel(root string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"southbound: 1\ndefaults: {agent: web1}\nresources:\n  - type: fs::Directory\n"+
			"    attributes: {path: %s}\n", root)
	for i := range n {
		fmt.Fprintf(&b,
			"  - type: fs::File\n    attributes:\n      path: %s/f%06d\n      content: %q\n"+
				"      mode: \"0644\"\n    requires: [\"fs::Directory[web1,path=%s]\"]\n",
			root, i, text(i), root)
	}
	return b.String()
}

func nulls(n int, requires func(i int) []int) string {
	var b strings.Builder
	b.WriteString("southbound: 1\ndefaults: {agent: web1}\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - type: std::Null\n    attributes:\n      name: n%06d\n", i)
		var ids []string
		for _, j := range requires(i) {
			ids = append(ids, fmt.Sprintf("%q", fmt.Sprintf("std::Null[web1,name=n%06d]", j)))
		}
		if len(ids) > 0 {
			fmt.Fprintf(&b, "    requires: [%s]\n", strings.Join(ids, ", "))
		}
	}
	return b.String()
}

func independent(n int) string { return nulls(n, func(int) []int { return nil }) }

func chain(n int) string {
	return nulls(n, func(i int) []int {
		if i == 0 {
			return nil
		}
		return []int{i - 1}
	})
}

func layers(n int) string {
	m := n / 10
	return nulls(n, func(i int) []int {
		if i < m {
			return nil
		}
		above := (i/m - 1) * m
		return []int{above + i%m, above + (i+1)%m}
	})
}

func manyAgents(n int) string {
	var b strings.Builder
	b.WriteString("southbound: 1\nresources:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {type: std::Null, agent: web%d, attributes: {name: n%06d}}\n", i/10, i)
	}
	return b.String()
}

// floorWriters is how many files the floor writes concurrently. A disk syncs many files in little
// more time than one.
const floorWriters = 16

// floorWrite makes the required system calls: for each file it creates a temporary name, writes the
// bytes, syncs and renames. At the end it syncs the directory.
func floorWrite(dir string, n, workers int) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				errs[w] = floorFile(dir, i)
			}
		})
	}
	wg.Wait()
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return errors.Join(append(errs, d.Sync())...)
}

func floorFile(dir string, i int) error {
	name := filepath.Join(dir, fmt.Sprintf("f%06d", i))
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text(i)); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func floorRead(dir string, n int) error {
	for i := range n {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("f%06d", i)))
		if err != nil {
			return err
		}
		if sha256.Sum256(b) != sha256.Sum256([]byte(text(i))) {
			return errors.New("a file differs")
		}
	}
	return nil
}
