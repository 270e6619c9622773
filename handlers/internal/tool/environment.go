package tool

import (
	"os"
	"slices"
	"strings"
)

// handedOn returns the variables of this process that programs receive: those for paths, and those
// for reaching servers. Other variables may be secrets of the form env:NAME, or the token of the
// API. They must not reach a daemon that is started, or a script of a package.
func handedOn() []string {
	return variables(func(name string) bool {
		return slices.Contains(names(), name) || begins(name, "XDG_", "PYENV_", "NVM_", "RBENV_")
	})
}

// variables returns those variables of this process whose names, in capitals, wanted accepts.
func variables(wanted func(name string) bool) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !wanted(strings.ToUpper(name))
	})
}

func begins(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes,
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func names() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TERM", "TMPDIR", "TEMP",
		"TMP",
		"LD_LIBRARY_PATH", "VIRTUAL_ENV", "SVDIR",
		"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
		"NETRC", "GNUPGHOME", "GEM_HOME", "GEM_PATH", "JAVA_HOME", "PKG_CONFIG_PATH",
		"CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"} // pip and npm compile, too
}

// Settings returns the variables whose names begin with a prefix: those for one program, such as
// PIP_ for pip. They may hold credentials, so no other program receives them, nor does a program of
// another user.
func Settings(prefixes ...string) []string {
	return variables(func(name string) bool { return begins(name, prefixes...) })
}

// ProxyLogin reports whether a variable, as NAME=value, has credentials for a proxy.
func ProxyLogin(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return strings.HasSuffix(strings.ToUpper(name), "_PROXY") && strings.Contains(value, "@")
}

// Git returns the variables with which git reaches servers: pip and npm fetch packages with it. A
// daemon must not receive them, since it could log in to other servers with the keys of an agent.
func Git() []string {
	var out []string
	for _, name := range []string{"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO"} {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}
