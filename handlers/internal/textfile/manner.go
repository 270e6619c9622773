package textfile

import (
	"context"
	"errors"
	"strings"
	"time"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/tool"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// Manner defines how a text file is changed.
type Manner struct {
	UID, GID, Mode int     // of a new file; -1 is the system's default
	Backup         string  // see backup
	Checks         []Check // of the new bytes, before they replace the old ones
}

// DefaultMode is the mode of a new file if the resource sets none.
const DefaultMode = 0o644

// secretMode is the DefaultMode of files with a secret.
const secretMode = 0o600

// ModeFor returns the mode of a new file if the resource sets none: a file with a secret is not
// readable by all users of the machine.
func ModeFor(ctx *provider.Context) int {
	if stored := ctx.Stored(); stored != nil && provider.HasSecret(stored.Attributes) {
		return secretMode
	}
	return DefaultMode
}

// AnyFile is the default manner: readable by all users.
func AnyFile() Manner { return Manner{UID: -1, GID: -1, Mode: DefaultMode} }

// also adds the settings of another resource for the same file.
func (m *Manner) also(other Manner) {
	if m.Backup == "" {
		m.Backup = other.Backup
	}
	for _, c := range other.Checks {
		known := false
		for _, have := range m.Checks {
			known = known || strings.Join(have, "\x00") == strings.Join(c, "\x00")
		}
		if !known {
			m.Checks = append(m.Checks, c)
		}
	}
}

// Check is a command that checks whether a file is valid, with placeholder in place of the file's
// path.
type Check []string

const (
	placeholder = "%"
	// maxCheck is how long a check may run.
	maxCheck = time.Minute
)

var errInvalid = errors.New("the new content is refused")

func isInvalid(err error) bool { return errors.Is(err, errInvalid) }

// CheckOf returns the command of an attribute, nil if there is none.
func CheckOf(v any) (Check, error) {
	var c Check
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		c = Check{"/bin/sh", "-c", v}
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
	return nil, provider.Errorf(provider.NeedsChange,
		"validate lacks the place for the path of the file")
}

// passes checks whether a file is valid whose final path is another one.
func (c Check) passes(ctx context.Context, file, path string) error {
	shell := len(c) == 3 && c[0] == "/bin/sh" && c[1] == "-c"
	argv := make([]string, len(c))
	for i, s := range c {
		to := file
		if shell && i == 2 {
			to = "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
		}
		argv[i] = strings.NewReplacer(placeholder+placeholder, placeholder, placeholder, to).
			Replace(s)
	}
	limit, cancel := patience.WithTimeout(ctx, maxCheck)
	defer cancel()
	_, err := tool.Run(limit, nil, argv...)
	var failed *tool.Error
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed) || failed.Code < 0:
		return provider.Errorf(provider.Retryable, "validate: %w", err)
	}
	output := strings.ReplaceAll(strings.ToValidUTF8(failed.LastOutput(), "?"), file, path)
	output = tool.Tail(strings.TrimSpace(output), maxRefusal)
	if output != "" {
		output = ": " + output
	}
	return provider.Errorf(provider.NeedsChange, "%w by validate (exit code %d)%s", errInvalid,
		failed.Code, output)
}

// maxRefusal limits how much of a check's output is shown.
const maxRefusal = 1000

// Valid runs all checks on the file at the hidden name of base.
func Valid(ctx context.Context, d *disk.Folder, checks []Check, base string) error {
	for _, c := range checks {
		if c == nil {
			continue
		}
		if err := d.Sys.Do("validate", func() error { return nil }); err != nil {
			return err
		}
		if err := c.passes(ctx, disk.Join(d.Path, disk.Leftover(base)),
			disk.Join(d.Path, base)); err != nil {
			return err
		}
	}
	return nil
}
