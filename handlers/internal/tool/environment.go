package tool

import (
	"os"
	"slices"
	"strings"
)

// handedOn returns the variables of this process that programs get: what says where things are, how
// servers are reached, and what is meant for package managers. The others may be secrets of the
// form env:NAME, or the token of the API. A daemon that is started, or a script of a package, would have
// them all.
func handedOn() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names(), strings.ToUpper(name)) &&
			!slices.ContainsFunc(prefixes(), func(prefix string) bool {
				return strings.HasPrefix(strings.ToUpper(name), prefix)
			})
	})
}

func names() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TERM", "TMPDIR", "TEMP",
		"TMP",
		"LD_LIBRARY_PATH", "VIRTUAL_ENV", "SVDIR",
		"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
		"NETRC", "GNUPGHOME", "JAVA_HOME", "PKG_CONFIG_PATH",
		"CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS"} // pip and npm compile, too
}

// prefixes are those of variables that package managers and their like read.
func prefixes() []string {
	return []string{"XDG_", "APT_", "DEBIAN_", "DEBCONF_", "DPKG_", "DNF", "PIP_", "PYENV_", "NPM_",
		"NVM_", "GEM_", "BUNDLE_", "RBENV_"}
}

// Git returns the variables with which git reaches servers: pip and npm get packages by it. What
// they are is nothing for a daemon, which could log in elsewhere with the keys of an agent.
func Git() []string {
	var out []string
	for _, name := range []string{"SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO"} {
		if v, ok := os.LookupEnv(name); ok {
			out = append(out, name+"="+v)
		}
	}
	return out
}
