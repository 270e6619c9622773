package cron

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"time"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/textfile"
	"southbound/shared/child"
	"southbound/shared/provider"
)

// store contains the jobs. A place that begins with / is a file. Any other place is the crontab of
// the user of that name, which only the program crontab may read and write.
type store struct {
	textfile.Editor
	crontab []string
}

// Read implements textfile.Store.
func (s store) Read(ctx *provider.Context, place string) (textfile.Text, error) {
	if strings.HasPrefix(place, "/") {
		return s.Editor.Read(ctx, place)
	}
	text, err := s.run(ctx, place, "", "-l")
	var failed *failure
	if errors.As(err, &failed) &&
		(strings.Contains(failed.output, "no crontab for") ||
			strings.Contains(failed.output, "No such file or directory")) {
		return textfile.Text{}, nil
	}
	return textfile.Text{Exists: err == nil, Bytes: text}, err
}

// Edit implements textfile.Store.
func (s store) Edit(
	ctx *provider.Context, place string, m textfile.Manner,
	change func(textfile.Text) (textfile.Text, error),
) error {
	if strings.HasPrefix(place, "/") {
		return s.Editor.Edit(ctx, place, m, change)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := s.Read(ctx, place)
	if err != nil {
		return err
	}
	after, err := change(before)
	switch {
	case err != nil || after.Bytes == before.Bytes:
		return err
	case after.Bytes == "":
		_, err = s.run(ctx, place, "", "-r")
	default:
		_, err = s.run(ctx, place, after.Bytes, "-")
	}
	return err
}

// lock prevents other handlers from changing a crontab between this handler's read and its write.
func (s store) lock(ctx context.Context) (unlock func(), err error) {
	path, err := exec.LookPath(s.crontab[0])
	if err != nil {
		return nil, missing(err)
	}
	return disk.Lock(ctx, path)
}

func missing(err error) error {
	return provider.Errorf(provider.Retryable,
		"there is no program crontab: %w; install cron, or give the job a file in /etc/cron.d", err)
}

// failure holds the output of a failed crontab.
type failure struct{ output string }

// Error returns the output.
func (f *failure) Error() string { return "crontab: " + f.output }

// afterTerm is how long crontab may take to end after SIGTERM.
const afterTerm = 2 * time.Second

// run runs crontab for a user.
func (s store) run(ctx context.Context, name, input string, args ...string) (string, error) {
	argv := append([]string{}, s.crontab[1:]...)
	if me, err := user.Current(); err != nil || me.Username != name {
		argv = append(argv, "-u", name)
	}
	cmd := exec.Command(s.crontab[0], append(argv, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.Dir = "/"
	err := child.Run(ctx, cmd, afterTerm)
	var exit *exec.ExitError
	var cut *child.Ended
	switch {
	case errors.As(err, &cut):
		return "", provider.Errorf(provider.Retryable, "crontab: %w", cut.Cause)
	case errors.Is(err, exec.ErrNotFound):
		return "", missing(err)
	case errors.As(err, &exit):
		return "", provider.Errorf(provider.Retryable, "%w",
			&failure{strings.TrimSpace(strings.ToValidUTF8(stderr.String(), "?"))})
	case err != nil:
		return "", provider.Errorf(provider.Retryable, "crontab: %w", err)
	}
	return stdout.String(), nil
}
