package fs

import (
	"context"
	"errors"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Manner says how a text file is changed.
type Manner struct {
	UID, GID, Mode int     // what a file gets that is made; -1 is as the system has it
	backup         string  // see backup
	checks         []check // of the new bytes, before they take the place of the old ones
}

// AnyFile is what is made when nobody asks for more: readable for all.
func AnyFile() Manner { return Manner{UID: -1, GID: -1, Mode: defaultMode} }

// also adds what another resource asks for of the same file.
func (m *Manner) also(other Manner) {
	if m.backup == "" {
		m.backup = other.backup
	}
	for _, c := range other.checks {
		known := false
		for _, have := range m.checks {
			known = known || strings.Join(have, "\x00") == strings.Join(c, "\x00")
		}
		if !known {
			m.checks = append(m.checks, c)
		}
	}
}

// mannerOf is the manner that a resource asks for.
func mannerOf(r provider.Resource) (Manner, error) {
	m := AnyFile()
	m.backup = suffixOf(r)
	c, err := checkOf(r.Attributes["validate"])
	if c != nil {
		m.checks = []check{c}
	}
	return m, err
}

// check is a command that is asked whether a file is valid, with placeholder where the path of the
// file goes.
type check []string

const (
	placeholder = "%"
	// maxCheck is how long a check may take.
	maxCheck = time.Minute
)

var errInvalid = errors.New("the new content is refused")

func isInvalid(err error) bool { return errors.Is(err, errInvalid) }

func validateAttribute() schema.Attribute {
	return schema.Attribute{Name: "validate", Type: "Optional[Variant[String[1],Array[String,1]]]", Behaviour: schema.Parameter,
		Description: `a command that is asked, before the new content takes the place of the old one, whether it is valid, with % where the path of a file with it goes: ` +
			`[visudo, -cf, "%"]. A list is run as it is, text by /bin/sh -c; %% is a single %. When it fails, nothing is changed. It is not asked in dry runs`}
}

func validCheck(attrs map[string]any) []diag.Problem {
	v := attrs["validate"]
	if v == nil {
		return nil
	}
	if provider.HasSecret(v) {
		return []diag.Problem{{Attribute: "validate", Message: "a secret in a command line can be seen by everybody on the machine", Hint: "let the command read it from a file"}}
	}
	if _, err := checkOf(v); err != nil && len(resource.References(v)) == 0 {
		return []diag.Problem{{Attribute: "validate", Message: err.Error(), Hint: `write % where its path goes: "visudo -cf %"`}}
	}
	return nil
}

// checkOf returns the command of an attribute, nil when there is none.
func checkOf(v any) (check, error) {
	var c check
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		c = check{"/bin/sh", "-c", v}
	case []any:
		for _, e := range v {
			s, _ := e.(string)
			c = append(c, s)
		}
	}
	for _, s := range c {
		if strings.Contains(strings.ReplaceAll(s, placeholder+placeholder, ""), placeholder) {
			return c, nil
		}
	}
	return nil, provider.Errorf(provider.NeedsChange, "validate does not say where the path of the file goes")
}

// passes asks whether a file is valid that is to have another path.
func (c check) passes(ctx context.Context, file, path string) error {
	shell := len(c) == 3 && c[0] == "/bin/sh" && c[1] == "-c"
	argv := make([]string, len(c))
	for i, s := range c {
		to := file
		if shell && i == 2 {
			to = "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
		}
		argv[i] = strings.NewReplacer(placeholder+placeholder, placeholder, placeholder, to).Replace(s)
	}
	limit, cancel := context.WithTimeout(ctx, maxCheck)
	defer cancel()
	_, err := tool.Run(limit, nil, argv...)
	var failed *tool.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed) || failed.Code < 0:
		return provider.Errorf(provider.Retryable, "validate: %w", err)
	}
	said := strings.ReplaceAll(strings.ToValidUTF8(failed.Said(), "?"), file, path)
	said = tool.Tail(strings.TrimSpace(said), maxRefusal)
	if said != "" {
		said = ": " + said
	}
	return provider.Errorf(provider.NeedsChange, "%w by validate (exit code %d)%s", errInvalid, failed.Code, said)
}

// maxRefusal bounds what is shown of what a check said.
const maxRefusal = 1000

// valid asks all checks about the file under the hidden name of base.
func (d *folder) valid(ctx context.Context, checks []check, base string) error {
	for _, c := range checks {
		if c == nil {
			continue
		}
		if err := d.sys.do("validate", func() error { return nil }); err != nil {
			return err
		}
		if err := c.passes(ctx, join(d.path, leftover(base)), join(d.path, base)); err != nil {
			return err
		}
	}
	return nil
}
