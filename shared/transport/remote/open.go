package remote

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// Starter runs commands on a machine. It is all that a transport has to implement.
type Starter interface {
	// Start runs a command by the user's shell. Its error concerns the connection.
	Start(ctx context.Context, command string) (Process, error)
}

// Process is a running command. Its output must be read to the end for Wait to return.
type Process struct {
	Stdin          io.WriteCloser
	Stdout, Stderr io.Reader
	// Wait returns how the command ended: the exit code, -1 if it is unknown.
	Wait func() int
	// Kill ends the command, or the channel to it. It may be called more than once, at any time.
	Kill func()
}

// Config defines how the program on a machine is started.
type Config struct {
	// Program is the path of an installed program; "" means that the program is uploaded.
	Program string
	// Dir is the directory of uploads, an absolute path; "" means the user's cache directory.
	Dir string
	// Programs are the programs that can be uploaded.
	Programs *Programs
	// Sudo is the user to become; "" means the login user. SudoPassword answers sudo's prompt; ""
	// means that sudo must not ask.
	Sudo, SudoPassword string
	// Beat is how often each end sends a sign of life; 0 means 15 s. After three missing ones the
	// other end is considered dead.
	Beat time.Duration
	// Before is the program of the previous connection, which is ended; the zero value: none.
	Before Running
	// Mine names the connecting client, in letters and digits. Its uploads run one at a time, so it
	// removes the remains of an earlier one.
	Mine string
}

const (
	startLimit  = 30 * time.Second // for a program to answer
	uploadLimit = 15 * time.Minute
	maxBanner   = 256 << 10 // bytes that a login may print
	maxStderr   = 4 << 10   // bytes kept of a command's error output
)

// prefix begins the lines that are addressed to this program.
const prefix = "southbound-remote "

// Open starts the program on a machine, and uploads it first if it is missing. The caller closes
// the connection.
func Open(ctx context.Context, s Starter, c Config) (*Conn, error) {
	for range 2 {
		line, p, err := c.start(ctx, s)
		if err != nil {
			return nil, err
		}
		moved(ctx)
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "start":
			ctx, cancel := patience.WithTimeout(ctx, startLimit)
			defer cancel()
			return newConn(ctx, p.out, p.Stdin, c.Beat, c.Before, p.Kill)
		case "need":
			p.Kill()
			if err := c.upload(ctx, s, rest); err != nil {
				return nil, err
			}
		case "unknown":
			p.Kill()
			return nil, c.unknown(rest)
		default:
			p.Kill()
			return nil, fault.New(fault.Damaged, "start on the machine", "it printed %q", line)
		}
	}
	return nil, provider.Errorf(provider.Terminal, "%w",
		fault.New(fault.Denied, "start on the machine",
			"the program was uploaded, and cannot be run from where it is").
			WithHint("is the file system mounted noexec? set `directory: PATH` to another place"))
}

// start runs the installed program, or the script that looks for the uploaded one. It returns the
// first line that is addressed to this program.
func (c *Config) start(ctx context.Context, s Starter) (string, *started, error) {
	ctx, cancel := patience.WithTimeout(ctx, startLimit)
	defer cancel()
	if c.Program != "" {
		return c.run(ctx, s, Quote(c.Program)+" remote")
	}
	programs, err := c.Programs.all()
	if err != nil {
		return "", nil, provider.Errorf(provider.Terminal, "%w", err)
	}
	return c.run(ctx, s, "/bin/sh -c "+Quote(startScript(programs, c.Dir, c.Mine)))
}

// upload uploads a program to the machine; need is its hash, and the compression that the machine
// supports.
func (c *Config) upload(ctx context.Context, s Starter, need string) error {
	ctx, cancel := patience.WithTimeout(ctx, uploadLimit)
	defer cancel()
	hash, packed, _ := strings.Cut(need, " ")
	programs, err := c.Programs.all()
	if err != nil {
		return err
	}
	for _, p := range programs {
		if p.hash != hash {
			continue
		}
		_, run, err := c.run(ctx, s, "/bin/sh -c "+
			Quote(uploadScript(p, c.Dir, packed == "gzip", c.Mine)))
		if err != nil {
			return err
		}
		defer run.Kill()
		defer context.AfterFunc(ctx, run.Kill)()
		sent := sendProgram(moving{run.Stdin, func() { moved(ctx) }}, p.path, packed == "gzip")
		_ = run.Stdin.Close()
		line, err := run.line(ctx)
		switch {
		case err != nil:
			return fault.Wrap(orUnavailable(err), "upload the program", err)
		case line != "uploaded":
			return fault.New(fault.Damaged, "upload the program", "the machine printed %q", line)
		}
		return fault.Wrap(fault.Unavailable, "upload the program", sent)
	}
	return fault.New(fault.Damaged, "upload the program",
		"there is no program for the platform that the machine reports")
}

// moving calls moved after each write.
type moving struct {
	io.Writer
	moved func()
}

// Write implements io.Writer.
func (w moving) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	w.moved()
	return n, err
}

func sendProgram(w io.Writer, path string, packed bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if !packed {
		_, err = io.Copy(w, f)
		return err
	}
	// each write is a packet, and the compressor writes little at a time
	whole := bufio.NewWriterSize(w, 256<<10)
	z, err := gzip.NewWriterLevel(whole, gzip.BestSpeed)
	if err != nil {
		return err
	}
	_, err = io.Copy(z, f)
	return errors.Join(err, z.Close(), whole.Flush())
}

// started is a command whose output and errors are watched.
type started struct {
	Process
	out     *bufio.Reader
	stderr  tail          // the end of standard error
	banner  tail          // on standard output, before the lines for this program
	refused chan struct{} // closed when sudo asks again for a password
	ended   chan struct{} // closed when stderr has ended
}

// run starts a command, as another user if configured, and returns the first line that is addressed
// to this program.
func (c *Config) run(ctx context.Context, s Starter, command string) (string, *started, error) {
	prompt := ""
	if c.Sudo != "" {
		ask := "-n"
		if c.SudoPassword != "" {
			raw := make([]byte, 8)
			_, _ = rand.Read(raw) // it never fails
			prompt = "southbound-password-" + hex.EncodeToString(raw) + ":"
			ask = "-S -p " + prompt
		}
		command = "sudo " + ask + " -H -u " + Quote(c.Sudo) + " -- " + command
	}
	p, err := s.Start(ctx, command)
	if err != nil {
		return "", nil, err
	}
	st := &started{Process: p, out: bufio.NewReaderSize(p.Stdout, 64<<10),
		refused: make(chan struct{}), ended: make(chan struct{})}
	st.stderr.prompt = prompt
	go func() {
		defer close(st.ended)
		st.watch(c.SudoPassword)
	}()
	line, err := st.line(ctx)
	if err != nil {
		st.Kill()
		return "", nil, err
	}
	return line, st, nil
}

// watch reads a command's error output, and answers sudo.
func (s *started) watch(password string) {
	buf := make([]byte, 1024)
	for {
		n, err := s.Stderr.Read(buf)
		for range s.stderr.add(buf[:n]) {
			if s.stderr.prompts() == 1 {
				_, _ = io.WriteString(s.Stdin, password+"\n")
				continue
			}
			select {
			case <-s.refused:
			default:
				close(s.refused)
			}
			s.Kill()
		}
		if err != nil {
			return
		}
	}
}

// line returns the next line that is addressed to this program, without the prefix.
func (s *started) line(ctx context.Context) (string, error) {
	stop := context.AfterFunc(ctx, s.Kill)
	defer stop()
	for read := 0; read < maxBanner; {
		text, err := s.out.ReadSlice('\n')
		read += len(text)
		// The output of a login need not end with a line break.
		if _, rest, ours := bytes.Cut(text, []byte(prefix)); ours && err == nil {
			return string(bytes.TrimRight(rest, "\r\n")), nil
		}
		s.banner.add(text)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", s.why(ctx, err)
		}
	}
	return "", fault.New(fault.Damaged, "start on the machine",
		"it prints a lot before the program starts").
		WithHint("remove output from the login scripts of the user")
}
