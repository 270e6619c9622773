package modtool

import (
	"fmt"
	"net/url"
	"os"
	"strconv"

	"southbound/shared/lang/metadata"
	"southbound/shared/lang/project"
)

// withoutPassword returns the address of a repository without its password. The user name stays.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil || u.Scheme != "http" && u.Scheme != "https" {
		return address
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

// answer is a credential helper that prints a name and a password from two numbered variables.
const answer = `!f() { test "$1" = get && printf 'username=%%s\npassword=%%s\n' ` +
	`"$SOUTHBOUND_GIT_NAME_%[1]d" "$SOUTHBOUND_GIT_PASSWORD_%[1]d"; }; f`

// gitPasswords returns environment variables that pass the passwords in addresses of repositories
// to git, so that passwords are on no command line and in no clone.
func gitPasswords(repos []metadata.Repo) []string {
	var out []string
	n, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT")) // keep the existing configuration variables
	for _, r := range repos {
		u, err := url.Parse(r.Address(""))
		if err != nil || u.User == nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		password, there := u.User.Password()
		if !there {
			continue
		}
		where := url.URL{Scheme: u.Scheme, Host: u.Host, User: url.User(u.User.Username())}
		out = append(out,
			fmt.Sprintf("GIT_CONFIG_KEY_%d=credential.%s.helper", n, where.String()),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=", n)+fmt.Sprintf(answer, n),
			fmt.Sprintf("SOUTHBOUND_GIT_NAME_%d=%s", n, u.User.Username()),
			fmt.Sprintf("SOUTHBOUND_GIT_PASSWORD_%d=%s", n, password),
		)
		n++
	}
	if out == nil {
		return nil
	}
	return append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// passwordsAround returns the variables of gitPasswords for a module in a folder: those of the
// project around the folder; none if there is no project.
func passwordsAround(dir string) []string {
	around, err := project.Around(dir)
	if err != nil || around == "" {
		return nil
	}
	meta, _, err := project.ReadFile(around)
	if err != nil {
		return nil // the error is reported where the project is read
	}
	return gitPasswords(meta.Repos)
}
