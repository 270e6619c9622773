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
		"NODE_EXTRA_CA_CERTS", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS"}
}

// prefixes are those of variables that package managers and their like read.
func prefixes() []string {
	return []string{"XDG_", "APT_", "DEBIAN_", "DEBCONF_", "DPKG_", "PIP_", "PYENV_", "NPM_",
		"NVM_", "GEM_", "BUNDLE_", "RBENV_"}
}
