package postgresql

import (
	"context"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"southbound/shared/fault"
)

// Directories are the directories in which a server of this machine has its socket. This is the one
// in PGHOST, which psql also uses, or else the defaults of Debian, Red Hat and PostgreSQL itself.
func Directories() []string {
	if dir := os.Getenv("PGHOST"); filepath.IsAbs(dir) {
		return []string{dir}
	}
	return []string{"/var/run/postgresql", "/run/postgresql", "/tmp"}
}

const socketName = ".s.PGSQL."

// Here returns a connection to the server of this machine, by its socket in one of the directories,
// as `psql` connects there. The system identifies the connecting user to the server (`peer`). The
// superuser connects as the user that runs the server. The caller closes the connection.
// Unavailable: there is no server. NotFound: there are several and none on the usual port.
func Here(directories []string) (*Conn, error) {
	path, err := socket(directories)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "find the server of this machine", err)
	}
	as := os.Geteuid()
	if s, ok := info.Sys().(*syscall.Stat_t); ok && as == 0 {
		as = int(s.Uid)
	}
	account, err := user.LookupId(strconv.Itoa(as))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "find who runs the server of this machine", err)
	}
	// hook of tests, after socket has listed the sockets
	port, _ := strconv.ParseInt(strings.TrimPrefix(filepath.Base(path), socketName), 10, 64)
	in := &session{
		settings: &settings{host: filepath.Dir(path), port: port, user: account.Username,
			database: "postgres", tls: tlsNone, timeout: 10},
		sessions: &Sessions{}, peer: as,
	}
	return &Conn{session: in, done: in.Close}, nil
}

// socket returns the path of the socket on the usual port, or of the only one.
func socket(directories []string) (string, error) {
	seen := map[string]bool{}
	var found []string
	for _, dir := range directories {
		paths, _ := filepath.Glob(filepath.Join(dir, socketName+"*")) // the pattern is valid
		for _, path := range paths {
			resolved, err := filepath.EvalSymlinks(path)
			if port := strings.TrimPrefix(filepath.Base(path), socketName); err != nil ||
				seen[resolved] || !isPort(port) {
				continue
			}
			if strings.HasSuffix(path, "5432") {
				return path, nil
			}
			seen[resolved] = true
			found = append(found, path)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return "", fault.New(fault.NotFound, "connect",
			"there are several servers, none of them on port 5432: %s", strings.Join(found, ", ")).
			WithHint("name one by an agent {transport: postgresql, host: DIRECTORY, port: PORT}")
	}
	return "", fault.New(fault.Unavailable, "connect", "there is no socket of PostgreSQL in %s",
		strings.Join(directories, ", ")).
		WithHint("start the server, or describe it as an agent {transport: postgresql, host: ...}")
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// dialAs connects to a socket as a user of this machine.
func dialAs(uid int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if uid == os.Geteuid() {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return dialFrom(ctx, uid, network, address)
	}
}
