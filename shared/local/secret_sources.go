package local

import (
	"context"
	"os"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

var (
	_ state.Secrets        = (*Secrets)(nil)
	_ state.SecretVersions = (*Secrets)(nil)
)

// found is a secret that was read. version is "" if its source has no versions; then the version is
// a keyed hash of the value.
type found struct{ value, version string }

// source reads the secrets of one scheme.
type source struct {
	// slow is set if values are remembered, because reading one takes a request or a program.
	slow bool
	// versions is set if a reference with a version means that version, and not the newest value.
	versions bool
	// read returns a secret. version is the one that the reference names, or "".
	read func(ctx context.Context, name, version string) (found, error)
}

// source returns the source of a scheme.
func (s *Secrets) source(scheme string) (source, error) {
	switch scheme {
	case "env":
		return plain(readVariable), nil
	case "file":
		return plain(readSecret), nil
	case "sops":
		return plain(s.sops.Read), nil
	case "vault":
		return source{slow: true, versions: true, read: s.readVault}, nil
	case "command":
		return source{slow: true, read: s.readCommand}, nil
	}
	return source{}, fault.New(fault.Unsupported, "resolve secret",
		"secrets of %q cannot be read on one machine", scheme).
		WithHint("use a secret of this machine, such as env:NAME or file:PATH; ssm and " +
			"secretsmanager are for the AWS home")
}

// plain is a source without versions.
func plain(read func(name string) (string, error)) source {
	return source{read: func(_ context.Context, name, _ string) (found, error) {
		value, err := read(name)
		return found{value: value}, err
	}}
}

// Resolve implements state.Secrets.
func (s *Secrets) Resolve(
	ctx context.Context, ref resource.Secret,
) (value, version string, err error) {
	got, err := s.find(ctx, ref, valueAge)
	return got.value, got.version, err
}

// Version implements state.SecretVersions. A variable or a file has the version that its reference
// names.
func (s *Secrets) Version(ctx context.Context, ref resource.Secret) (string, error) {
	if kind, _ := resource.SecretSourceOf(ref.Source); ref.Version != "" && !kind.Setup {
		return ref.Version, nil
	}
	got, err := s.find(ctx, ref, versionAge)
	return got.version, err
}

// CheckSecret returns an error if a secret of this machine cannot be read. It does not need a home.
func CheckSecret(ctx context.Context, ref resource.Secret) error {
	_, err := newSecrets(nil, "").find(ctx, ref, 0)
	return err
}

// find returns a secret with its version.
func (s *Secrets) find(
	ctx context.Context, ref resource.Secret, age time.Duration,
) (found, error) {
	scheme, name, _ := strings.Cut(ref.Source, ":")
	from, err := s.source(scheme)
	if err != nil {
		return found{}, err
	}
	read := func() (found, error) {
		got, err := from.read(ctx, name, ref.Version)
		if err == nil && got.version == "" && s.home != nil {
			got.version, err = s.version(ref.Source, got.value)
		}
		if err != nil {
			return found{}, err
		}
		return got, nil
	}
	if !from.slow {
		return read()
	}
	key := resource.Secret{Source: ref.Source}
	if from.versions {
		key = ref
	}
	return s.memory.find(ctx, key, ref.Version, age, read)
}

func (s *Secrets) readVault(ctx context.Context, name, version string) (found, error) {
	got, err := s.vault.Read(ctx, name, version)
	return found{got.Text, got.Version}, err
}

// commandsVariable permits commands in documents of clients.
const commandsVariable = "SOUTHBOUND_SECRET_COMMANDS"

func (s *Secrets) readCommand(ctx context.Context, name, _ string) (found, error) {
	if s.home != nil && s.home.clients.Load() && os.Getenv(commandsVariable) != "yes" {
		return found{}, fault.New(fault.Denied, "resolve secret",
			"this process runs no commands for secrets, because its documents come from clients").
			WithHint("use another source, or set %s=yes for this process", commandsVariable)
	}
	argv, hint := resource.SecretCommand(name)
	if hint != "" {
		return found{}, fault.New(fault.Invalid, "resolve secret", "this is no command").
			WithHint("%s", hint)
	}
	value, err := s.command.Read(ctx, argv)
	return found{value: value}, err
}
