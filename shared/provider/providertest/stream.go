package providertest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// stream is what calls write to the standard output of the process, or to its standard error.
type stream struct {
	name  string
	file  *os.File  // where it goes meanwhile
	to    *os.File  // where it goes then
	wrote []writing // in order
}

// writing is what one call has written: up to where, counted from the beginning.
type writing struct {
	call string
	end  int64
}

func newStream(dir, name string, to *os.File) (*stream, error) {
	file, err := os.Create(filepath.Join(dir, name))
	return &stream{name: name, file: file, to: to}, err
}

// note remembers which call has written what was not there before.
func (s *stream) note(call string) {
	begin := int64(0)
	if n := len(s.wrote); n > 0 {
		begin = s.wrote[n-1].end
	}
	if end, err := s.file.Seek(0, io.SeekCurrent); err == nil && end > begin {
		s.wrote = append(s.wrote, writing{call, end})
	}
}

// callAt returns the call that has written a part, "" when it is not known.
func (s *stream) callAt(offset int) string {
	for _, w := range s.wrote {
		if int64(offset) < w.end {
			return w.call
		}
	}
	return ""
}

// told looks for secrets in what was written, shows the rest to whoever runs the test, and ends.
func (s *stream) told(secrets []string) error {
	defer s.file.Close()
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	b, err := io.ReadAll(s.file)
	if err != nil || len(b) == 0 {
		return nil
	}
	for _, secret := range secrets {
		for how, form := range forms(secret) {
			if at := strings.Index(string(b), form); at >= 0 {
				return traced(s.callAt(at), false, func(call string) error {
					return advise(
						"print nothing: the standard output of the process is that of a command, "+
							"and its standard error the log of a server; Context.Info and its "+
							"like are for what a run has to say, and keep secrets out",
						"a secret is in what %s writes to %s%s", call, s.name, how)
				})
			}
		}
	}
	_, _ = s.to.Write(b)
	return nil
}
