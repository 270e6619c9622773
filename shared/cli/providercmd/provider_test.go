package providercmd

import (
	"bytes"
	"context"
	"path"
	"strings"
	"testing"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// shelf has one type of each package.
type shelf struct{ missing bool }

// Add implements provider.Packages.
func (s *shelf) Add(_ context.Context, q provider.PackageQuery) (provider.Package, error) {
	version := "1.2.0"
	if exact, is := strings.CutPrefix(q.Constraint, "= "); is {
		version = exact
	}
	name := q.Name
	if name == "" {
		name = path.Base(q.Address)
	}
	return provider.Package{Name: name, Address: "example.org/a/" + path.Base(q.Address), Version: version,
		Constraint: q.Constraint, Hashes: []string{"h1:x"}, Types: []schema.Type{{
			Name: "tf::" + name + "::Thing", Description: "A thing.", Transports: []string{"terraform"},
			Attributes: []schema.Attribute{{Name: "label", Type: "String[1]", Behaviour: schema.Namevar,
				Description: "Its name."}}}},
		Problems: diag.Problems{{Resource: "x_odd", Message: "it is odd"}}}, nil
}

// Verify implements provider.Packages.
func (s *shelf) Verify(_ context.Context, p provider.Package) error {
	if s.missing {
		return fault.New(fault.NotFound, "find provider", "%s is not installed", p.Address)
	}
	return nil
}

// bench runs commands in a project.
type bench struct {
	t     *testing.T
	shelf *shelf
	dir   string
	of    []provider.Definition
}

func newBench(t *testing.T) *bench {
	s := &shelf{}
	return &bench{t, s, t.TempDir(), []provider.Definition{{Bridge: &provider.Bridge{Name: "tf", Packages: s,
		Handler: func(schema.Type) (provider.Handler, error) { return nil, nil }}}}}
}

// run runs a command line without the name of the program, and returns its output and messages.
func (b *bench) run(asJSON bool, line string) (out, messages string, err error) {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	c := &Commands{Console: &output.Console{Out: &stdout, Err: &stderr, JSON: asJSON},
		Location: &home.Location{ProjectDir: b.dir}, Program: &home.Program{Definitions: b.of}}
	cmd := c.ProviderCommand()
	cmd.SetArgs(strings.Fields(line)[1:])
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(b.t.Context())
	return stdout.String(), stderr.String(), err
}

func (b *bench) prints(line, want string) {
	b.t.Helper()
	out, _, err := b.run(false, line)
	if err != nil || out != want {
		b.t.Errorf("%s: %q, %v, want %q", line, out, err, want)
	}
}

func TestProviderCommands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.prints("provider list", "")
	const added = " one 1.2.0 (example.org/a/one, unsigned)\n  tf::one::Thing\n"
	b.prints("provider add a/one", "added"+added)
	b.prints("provider add a/one", "unchanged:"+added)
	b.prints("provider list", "one              1.2.0        example.org/a/one (1 type)\n")
	b.prints("provider verify", "one              1.2.0        as locked\n")
	b.prints("provider install", "one              1.2.0\n")
	b.prints("provider update", "unchanged:"+added)
	b.prints("provider remove one", "removed one 1.2.0\n")
	b.prints("provider list", "")
}

func TestProviderCommandsInJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const entry = `"name":"one","bridge":"tf","address":"example.org/a/one","version":"1.2.0","hashes":["h1:x"]`
	for line, want := range map[string]string{
		"1 provider add a/one": "{" + entry + `,"types":["tf::one::Thing"],"changed":true,` +
			`"problems":["x_odd: it is odd"]}`,
		"2 provider list":       "{" + entry + `,"types":["tf::one::Thing"]}`,
		"3 provider verify":     "{" + entry + `,"types":["tf::one::Thing"]}`,
		"4 provider remove one": "{" + entry + "}",
	} {
		b := b
		if line[0] != '1' {
			b = newBench(t)
			if _, _, err := b.run(false, "provider add a/one"); err != nil {
				t.Fatal(err)
			}
		}
		if out, _, err := b.run(true, line[2:]); err != nil || strings.TrimSpace(out) != want {
			t.Errorf("%s: %s, %v, want %s", line, out, err, want)
		}
	}
}

func TestProviderErrors(t *testing.T) {
	t.Parallel()
	for line, x := range map[string]struct {
		kind fault.Kind
		says string
	}{
		"provider remove two":           {fault.NotFound, "no provider \"two\""},
		"provider update two":           {fault.NotFound, "no provider \"two\""},
		"provider install two":          {fault.NotFound, "no provider \"two\""},
		"provider verify":               {fault.Refused, "1 of 1 provider cannot be used"},
		"provider add a/two --bridge x": {fault.Usage, `no bridge "x"`},
		"provider add b/two --name one": {fault.Conflict, "another provider one"},
	} {
		b := newBench(t)
		if _, _, err := b.run(false, "provider add a/one"); err != nil {
			t.Fatal(err)
		}
		b.shelf.missing = true
		if _, _, err := b.run(false, line); !fault.Is(err, x.kind) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", line, err)
		}
	}
	b := newBench(t)
	b.of = nil
	if _, _, err := b.run(false, "provider add a/one"); !fault.Is(err, fault.Unsupported) {
		t.Errorf("without a bridge: %v", err)
	}
	_, messages, err := newBench(t).run(false, "provider add a/one")
	if err != nil || !strings.Contains(messages, "not usable: x_odd: it is odd") {
		t.Errorf("%s, %v", messages, err)
	}
}
