package providercmd

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/internal/flock"
	"southbound/shared/internal/locked"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const adopting = "provider adopt"

// adoption holds the flags of adopt.
type adoption struct {
	out    string
	model  bool
	skip   bool
	agents []string
	bridge string
}

func (c *Commands) adoptCommand() *cobra.Command {
	var a adoption
	cmd := &cobra.Command{Use: "adopt FILE", Short: "Take over the objects of a state file",
		Long: "adopt reads a state file of Terraform or OpenTofu, format 4, and makes its objects resources: " +
			"it writes a document that describes them, and stores their states in the environment, sealed. " +
			"It changes no object and not the state file; FILE may be -, the standard input. It requires " +
			"the providers in southbound.lock. Afterwards, complete the agents, set the variables that the " +
			"command prints, and check with `southbound plan` that all resources are as described. " +
			"Manage the objects with one program only: no longer apply the former configuration.\n\n" +
			"A sensitive value is no part of the document; a reference to a variable or to an output of " +
			"another resource stands for it. If one object cannot be adopted, nothing is, unless --skip is " +
			"given; data sources do not count. Files that exist and resources that the environment knows are " +
			"left unchanged, and the command fails.",
		Example: "  southbound provider adopt terraform.tfstate\n" +
			"  terraform state pull | southbound provider adopt - --agent db --out site\n" +
			"  southbound provider adopt terraform.tfstate --agent aws=main --agent aws.west=west\n" +
			"  southbound provider adopt terraform.tfstate --model --skip",
		Args: usage.ExactArgs(1, "a state file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.adopt(cmd.Context(), args[0], a)
		}}
	f := cmd.Flags()
	f.StringVar(&a.out, "out", ".", "directory of the new file")
	f.BoolVar(&a.model, "model", false, "write a model, main.cf, instead of a document, adopted.yaml")
	f.BoolVar(&a.skip, "skip", false, "leave objects that cannot be adopted, and adopt the others")
	f.StringArrayVar(&a.agents, "agent", nil,
		"name of the agent, or PROVIDER=NAME, PROVIDER.ALIAS=NAME for each (default: the provider's name)")
	f.StringVar(&a.bridge, "bridge", "", "bridge of the providers (default: the only one)")
	return usage.MessageFlag(cmd)
}

func (c *Commands) adopt(ctx context.Context, file string, a adoption) error {
	p, err := c.project()
	if err != nil {
		return err
	}
	plan, err := c.planAdoption(ctx, p, file, a)
	if err != nil {
		return err
	}
	if err := c.refused(plan, a.skip); err != nil {
		return err
	}
	name, write := "adopted.yaml", documentOf
	if a.model {
		name, write = "main.cf", modelOf
	}
	text, err := write(plan)
	if err != nil {
		return err
	}
	w, err := stage(ctx, filepath.Join(a.out, name), text)
	if err != nil {
		return err
	}
	defer w.remove()
	if err := c.Session.Reach(ctx); err != nil {
		return err
	}
	states := make([]deploy.AdoptedState, len(plan.Resources))
	for i := range plan.Resources {
		r := &plan.Resources[i]
		states[i] = deploy.AdoptedState{ID: r.ID, State: r.Kept, Outputs: r.Outputs}
	}
	if err := c.Session.Home.AdoptStates(ctx, c.Env, states); err != nil {
		return err
	}
	if err := w.install(); err != nil {
		for i := range states {
			_, _ = c.Session.Home.ForgetState(context.WithoutCancel(ctx), c.Env, states[i].ID)
		}
		return err
	}
	c.adopted(plan, w.path)
	return nil
}

// planAdoption plans the adoption of the things in a state file.
func (c *Commands) planAdoption(
	ctx context.Context, p *locked.Project, file string, a adoption,
) (*provider.Adoption, error) {
	of, err := bridge(p, a.bridge)
	if err != nil {
		return nil, err
	}
	adopter, is := p.Bridges[of].Packages.(provider.Adopter)
	if !is {
		return nil, fault.New(fault.Unsupported, adopting, "the bridge %s reads no state files", of)
	}
	q := provider.AdoptQuery{}
	if q.Agents, err = agentNames(a.agents); err != nil {
		return nil, err
	}
	if q.State, err = c.readFile(file); err != nil {
		return nil, err
	}
	entries, err := p.List()
	if err != nil {
		return nil, err
	}
	for i := range entries {
		e := &entries[i]
		if e.Bridge != of || e.Declaration == nil {
			continue
		}
		one := provider.Package{Name: e.Name, Address: e.Address, Version: e.Version, Hashes: e.Hashes}
		for _, t := range e.Declaration.Types() {
			one.Types = append(one.Types, t.Type)
		}
		q.Packages = append(q.Packages, one)
	}
	return adopter.Adopt(ctx, q)
}

// agentNames reads the flags --agent.
func agentNames(flags []string) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range flags {
		key, name, both := strings.Cut(f, "=")
		if !both {
			key, name = "", f
		}
		if _, twice := out[key]; twice || name == "" || both && key == "" {
			return nil, fault.New(fault.Usage, adopting, "--agent %.100q is given twice, or has no name", f).
				WithHint("write --agent NAME, or --agent PROVIDER=NAME for each provider")
		}
		out[key] = name
	}
	return out, nil
}

// maxStateFile is the size in bytes of the largest state file.
const maxStateFile = 256 << 20

// readFile reads a state file; "-" is the standard input.
func (c *Commands) readFile(file string) ([]byte, error) {
	from := c.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fault.Wrap(fault.Usage, adopting, err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxStateFile+1))
	return text, fault.Wrap(fault.Usage, adopting, err)
}

// refused returns the error of an adoption that has nothing to adopt, or that leaves objects which
// another program would go on managing.
func (c *Commands) refused(plan *provider.Adoption, skip bool) error {
	managed := 0
	for _, l := range plan.Left {
		if !l.Reads {
			managed++
		}
	}
	if len(plan.Resources) > 0 && (skip || managed == 0) {
		return nil
	}
	c.left(plan)
	if len(plan.Resources) == 0 {
		return fault.New(fault.Refused, adopting, "the state file has no object that can be adopted")
	}
	return fault.New(fault.Refused, adopting, "%d of %s cannot be adopted", managed,
		output.Plural(managed+len(plan.Resources), "object")).
		WithHint("correct the reasons, or adopt the others with --skip")
}

// maxListed is how many lines of one kind are shown to people.
const maxListed = 50

// listed shows the first of n lines, and the number of the others.
func (c *Commands) listed(n int, line func(i int)) {
	for i := range min(n, maxListed) {
		line(i)
	}
	if n > maxListed {
		c.Complain("and %d more, which --json shows", n-maxListed)
	}
}

func (c *Commands) left(plan *provider.Adoption) {
	c.listed(len(plan.Left), func(i int) {
		l := &plan.Left[i]
		text := l.Source + ": " + l.Reason
		if l.Hint != "" && !l.Reads {
			text += "; " + l.Hint
		}
		c.Complain("left out: %s", text)
	})
}

// adoptedLine is the result of adopt in JSON.
type adoptedLine struct {
	File      string         `json:"file"`
	Agents    []agentLine    `json:"agents"`
	Resources []resourceLine `json:"resources"`
	Left      []leftLine     `json:"left,omitempty"`
	Variables []variableLine `json:"variables,omitempty"`
}

type (
	agentLine struct {
		Name   string `json:"name"`
		Source string `json:"source"`
		Note   string `json:"note,omitempty"`
	}
	resourceLine struct {
		ID     resource.ID `json:"id"`
		Source string      `json:"source"`
		Notes  []string    `json:"notes,omitempty"`
	}
	leftLine struct {
		Source string `json:"source"`
		Reason string `json:"reason"`
		Hint   string `json:"hint,omitempty"`
	}
	variableLine struct {
		Name      string      `json:"name"`
		ID        resource.ID `json:"id"`
		Attribute string      `json:"attribute"`
	}
)

// adopted prints the result.
func (c *Commands) adopted(plan *provider.Adoption, path string) {
	if c.JSON {
		line := adoptedLine{File: path}
		for _, a := range plan.Agents {
			line.Agents = append(line.Agents, agentLine{a.Name, a.Source, a.Note})
		}
		for i := range plan.Resources {
			r := &plan.Resources[i]
			line.Resources = append(line.Resources, resourceLine{r.ID, r.Source, r.Notes})
		}
		for _, l := range plan.Left {
			line.Left = append(line.Left, leftLine{l.Source, l.Reason, l.Hint})
		}
		for _, v := range plan.Variables {
			line.Variables = append(line.Variables, variableLine(v))
		}
		c.Line(line)
		return
	}
	c.left(plan)
	c.Printf("adopted %s into %s\n", output.Plural(len(plan.Resources), "object"), path)
	for _, a := range plan.Agents {
		if a.Note != "" {
			c.Printf("agent %s: %s\n", a.Name, a.Note)
		}
	}
	c.listed(len(plan.Variables), func(i int) {
		v := &plan.Variables[i]
		c.Printf("set %s to %s of %s\n", v.Name, v.Attribute, v.ID)
	})
	var notes []string
	for i := range plan.Resources {
		for _, n := range plan.Resources[i].Notes {
			notes = append(notes, string(plan.Resources[i].ID)+": "+n)
		}
	}
	c.listed(len(notes), func(i int) { c.Printf("%s\n", notes[i]) })
	c.Say("`southbound plan %s` compares the objects with the description", filepath.Dir(path))
}

// staged is a new file that is complete, under a temporary name. It holds the lock of its directory: of
// two adoptions at the same time, the later one would otherwise find the file of the earlier one, and
// remove the states that both have stored.
type staged struct {
	path, temporary string
	made            string // the directory that was made for it; "": it was there
	lock            *os.File
}

// stagedPrefix begins the temporary names.
const stagedPrefix = ".adopted-"

// stage writes a new file under a temporary name. It returns Usage if the file exists. The caller calls
// remove.
func stage(ctx context.Context, path string, text []byte) (*staged, error) {
	made := ""
	switch err := os.Mkdir(filepath.Dir(path), 0o755); { // documents are not secret
	case err == nil:
		made = filepath.Dir(path)
	case !os.IsExist(err):
		return nil, fault.Wrap(fault.Usage, adopting, err)
	}
	w := &staged{path: path, made: made}
	if err := w.begin(ctx); err != nil {
		w.remove()
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), stagedPrefix)
	if err != nil {
		w.remove()
		return nil, fault.Wrap(fault.Usage, adopting, err)
	}
	w.temporary = f.Name()
	_, err = f.Write(text)
	for _, step := range []func() error{f.Sync, func() error { return f.Chmod(0o644) }, f.Close} {
		if failed := step(); err == nil {
			err = failed
		}
	}
	if err != nil {
		w.remove()
		return nil, fault.Wrap(fault.Unavailable, adopting, err)
	}
	return w, nil
}

// begin takes the lock of the directory, and removes files of killed commands. It returns Usage if the
// new file exists.
func (w *staged) begin(ctx context.Context) error {
	dir := filepath.Dir(w.path)
	var err error
	if w.lock, err = os.Open(dir); err != nil {
		return fault.Wrap(fault.Usage, adopting, err)
	}
	if err := flock.Lock(ctx, w.lock, func() {}); err != nil {
		return err
	}
	left, _ := fs.Glob(os.DirFS(dir), stagedPrefix+"*") // the pattern is valid
	for _, name := range left {
		_ = os.Remove(filepath.Join(dir, name))
	}
	if _, err := os.Lstat(w.path); err == nil {
		return exists(w.path)
	}
	return nil
}

func exists(path string) error {
	return fault.New(fault.Usage, adopting, "%s is there already", path).
		WithHint("name another directory with --out, or move the file")
}

// install gives the file its name, unless another file has got it.
func (w *staged) install() error {
	err := os.Link(w.temporary, w.path)
	if os.IsExist(err) {
		return exists(w.path)
	}
	return fault.Wrap(fault.Unavailable, adopting, err)
}

// remove removes the temporary name, and the directory if nothing else is in it. It releases the lock.
func (w *staged) remove() {
	if w.temporary != "" {
		_ = os.Remove(w.temporary)
	}
	if w.lock != nil {
		defer func() { _ = w.lock.Close() }()
	}
	if w.made != "" {
		_ = os.Remove(w.made)
	}
}

// comment returns a line that a comment can have: one line of printable text.
func comment(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return '?'
		}
		return r
	}, s))
}

// requirements returns the requirements of a resource in a stable order.
func requirements(r *provider.Adopted) []string {
	out := make([]string, len(r.Requires))
	for i, id := range r.Requires {
		out[i] = string(id)
	}
	slices.Sort(out)
	return out
}
