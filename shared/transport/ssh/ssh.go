// Package ssh is the transport ssh: agents that are machines with an ssh server. Handlers of things
// on a machine run there, see package remote.
//
//	Sessions ── one login for agents with the same options, through bastions (dial)
//	   └── remote.Machine ── puts this program there if it is missing, and starts it (by sudo)
//	          └── Conn ── forwards a handler's calls, several at once, over one channel
//
// The machine has to prove possession of one of its known keys (hostkeys). The login uses the keys
// that the options name or, for processes of users, the keys in ssh-agent (keys).
package ssh

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/transport/internal/pool"
	"southbound/shared/transport/remote"
)

// Wait is the longest time that Connect waits, for a login and an upload.
const Wait = remote.MaxWait

// Conn is the connection of an agent. It implements provider.Remote. It is safe for concurrent use.
type Conn struct {
	machine *remote.Machine
	program string
	done    func()
	once    sync.Once
}

// Program implements provider.Programmed: it identifies the program on the machine.
func (c *Conn) Program() string { return c.program }

// Handler implements provider.Remote.
func (c *Conn) Handler(t schema.Type, h provider.Handler) (provider.Handler, error) {
	return c.machine.Handler(t, h)
}

// Verify logs in and starts the program on the machine, unless that is already done.
func (c *Conn) Verify(ctx context.Context) error {
	_, err := c.machine.Conn(ctx)
	return err
}

// Facts returns the machine's facts: os, arch, hostname, user and, on Linux, distribution, version
// and init.
func (c *Conn) Facts(ctx context.Context) (map[string]string, error) {
	conn, err := c.machine.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return maps.Clone(conn.Facts), nil
}

// Close returns the connection. It may be called more than once.
func (c *Conn) Close() error {
	c.once.Do(c.done)
	return nil
}

// Sessions keep state for agents across runs: one login with one program for agents with the same
// options. The zero value is ready to use.
type Sessions struct {
	// Programs are the programs to upload to machines; nil: this program.
	Programs *remote.Programs
	// Retry is how long an unreachable machine is retried, see remote.Machine; 0 means 30 s.
	Retry time.Duration
	// Function reports that this process is a function. It has no credentials of a user to log in
	// with, see ByRunner, and it sleeps between runs, so that no login outlives its use. Guarded
	// prevents agents from using its own addresses, which serve its runtime and its credentials.
	Function, Guarded bool

	once sync.Once
	pool pool.Pool[string, *session]
}

// session is shared by agents with the same options.
type session struct{ machine *remote.Machine }

// Close ends the program on the machine.
func (in *session) Close() { _ = in.machine.Close() }

// Connect returns a connection for an agent, whose options have their references resolved, after it
// is established. If the options are wrong, the error is Invalid and terminal. If the machine
// cannot be reached, it is Unavailable. If the machine rejects the login or its key is wrong, it is
// Denied and terminal.
func (s *Sessions) Connect(ctx context.Context, options map[string]any) (*Conn, error) {
	in, give, err := s.take(options)
	if err != nil {
		return nil, err
	}
	c := &Conn{machine: in.machine, done: give}
	conn, err := in.machine.Conn(ctx)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.program = conn.Facts[remote.FactProgram]
	return c, nil
}

func (s *Sessions) take(options map[string]any) (*session, func(), error) {
	if s.Function && ByRunner(options) {
		return nil, nil, refuse()
	}
	key, err := pool.KeyOf(options)
	if err != nil {
		return nil, nil, err
	}
	s.once.Do(func() {
		if s.Function {
			s.pool.Idle = -1
		}
		if s.Programs == nil {
			s.Programs = &remote.Programs{}
		}
	})
	return s.pool.Take(key, func() (*session, error) {
		parsed, err := parse(options)
		if err != nil {
			return nil, provider.Errorf(provider.Terminal, "%w", err)
		}
		parsed.guarded = s.Guarded
		return &session{machine: &remote.Machine{Retry: s.Retry, Open: parsed.opener(s.Programs)}},
			nil
	})
}

// Close closes all sessions, used or not.
func (s *Sessions) Close() error {
	s.pool.Close()
	return nil
}

// opener returns the function that logs in and starts the program; one goroutine at a time calls
// it.
func (s *settings) opener(
	programs *remote.Programs,
) func(ctx context.Context) (*remote.Conn, error) {
	mine, beat := rand.Text(), time.Duration(s.interval)*time.Second
	var before remote.Running
	return func(ctx context.Context) (*remote.Conn, error) {
		c, err := s.dial(ctx)
		if err != nil {
			return nil, err
		}
		watching, unwatch := context.WithCancel(context.WithoutCancel(ctx))
		c.watch(watching, beat)
		conn, err := remote.Open(ctx, c,
			remote.Config{Program: s.program, Dir: s.directory, Programs: programs, Sudo: s.sudo,
				SudoPassword: s.sudoPassword,
				Beat:         beat, Before: before, Mine: mine})
		if err != nil {
			unwatch()
			c.close()
			return nil, err
		}
		before = conn.Running
		context.AfterFunc(conn.Context(), func() {
			unwatch()
			c.close()
		})
		return conn, nil
	}
}

// watch closes the logins if nothing was received from the last machine for three beats, also
// during an upload of a program, which may take long. A server answers even an unknown request, so
// a live server always sends something.
func (c *chain) watch(ctx context.Context, beat time.Duration) {
	last, pulse := c.last(), c.pulse
	pulse.Every(beat)
	go func() {
		t := time.NewTicker(beat)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if _, _, err := last.SendRequest("keepalive@openssh.com", true, nil); err != nil {
					return
				}
			}
		}
	}()
	go func() {
		<-pulse.Silent(ctx)
		if ctx.Err() == nil {
			c.close()
		}
	}()
}

// Start implements remote.Starter.
func (c *chain) Start(ctx context.Context, command string) (remote.Process, error) {
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	session, err := c.last().NewSession()
	if err != nil {
		return remote.Process{}, fault.Wrap(fault.Unavailable, "run a command", err)
	}
	in, err1 := session.StdinPipe()
	out, err2 := session.StdoutPipe()
	bad, err3 := session.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return remote.Process{}, fault.Wrap(fault.Internal, "run a command", err)
	}
	if err := session.Start(command); err != nil {
		_ = session.Close()
		return remote.Process{}, fault.Wrap(fault.Unavailable, "run a command", err)
	}
	kill := sync.OnceFunc(func() { _ = session.Close() })
	wait := sync.OnceValue(func() int {
		var exit *ssh.ExitError
		switch err := session.Wait(); {
		case err == nil:
			return 0
		case errors.As(err, &exit):
			return exit.ExitStatus()
		}
		return -1
	})
	return remote.Process{Stdin: in, Stdout: out, Stderr: bad, Wait: wait, Kill: kill}, nil
}
