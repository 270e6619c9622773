// Package acct manages the users and groups of the machine it runs on, those in /etc/passwd and
// /etc/group, with the programs of shadow-utils.
package acct

import (
	"fmt"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const (
	nameType = `Pattern[/\A[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?\z/]`
	idType   = "Optional[Integer[0,4294967294]]"
	daysType = "Optional[Integer[-1,99999]]"
)

func duplicateAttribute() schema.Attribute {
	return schema.Attribute{Name: "duplicate", Type: "Boolean", Default: false,
		Behaviour: schema.Parameter, Description: "whether another group or user may have the same number"}
}

// Group declares acct::Group.
func Group() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "acct::Group",
			Description: "A group of users in /etc/group.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: nameType, Behaviour: schema.Namevar, Description: "its name"},
				{Name: "gid", Type: idType,
					Description: "its number; absent: the system chooses one"},
				{Name: "system", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether the system chooses a number of the range for services"},
				{Name: "members", Type: "Optional[Array[" + nameType + "]]",
					Description: "all members, except users whose primary group it is; absent: the groups of " +
						"users decide. The users must exist. For users that require this group, set " +
						"their groups instead"},
				{Name: "exact_members", Type: "Boolean", Default: true, Behaviour: schema.Parameter,
					Description: "whether members lists all members; false: other members are left unchanged, and a " +
						"member that was added is removed when it leaves the list"},
				duplicateAttribute(),
			},
			Features: []string{"batch", "noop", "facts", "discover"},
			Machine:  true,
			Thing:    schema.ByIdentity("name"),
		},
		Handler: group{},
	}
}

// User declares acct::User.
func User() provider.Definition {
	const path = `Optional[Pattern[/\A\/[^:\x00-\x1f\x7f]*\z/]]`
	return provider.Definition{
		Type: schema.Type{
			Name: "acct::User",
			Description: "A user in /etc/passwd. Attributes that are not set are left unchanged. A purge " +
				"removes the user, and with manage_home also the home directory with its contents; the " +
				"group of the same name is removed by the rules of the system.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: nameType, Behaviour: schema.Namevar, Description: "the name"},
				{Name: "uid", Type: idType,
					Description: "the number; absent: the system chooses one"},
				{Name: "group", Type: "Optional[Variant[" + nameType + ",Integer[0,4294967294]]]",
					Description: "the primary group, by name or number; absent: a group of the same name, or " +
						"the system's default"},
				{Name: "groups", Type: "Optional[Array[" + nameType + "]]",
					Description: "other groups of the user; a group that was added is removed when it leaves " +
						"the list"},
				{Name: "exact_groups", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether groups lists all groups; false: other groups are left unchanged"},
				{Name: "comment", Type: `Optional[Pattern[/\A[^:\x00-\x1f\x7f]*\z/]]`,
					Description: "the full name, or a description"},
				{Name: "home", Type: path, Description: "the home directory"},
				{Name: "shell", Type: path,
					Description: "the login shell; /usr/sbin/nologin for users that never log in"},
				{Name: "password", Type: "Optional[String[1]]", OneLine: true, Sensitive: true,
					Description: `the crypt(3) hash of the password, as in /etc/shadow, preferably a secret; "!" or "*": no password is accepted`},
				{Name: "locked", Type: "Optional[Boolean]",
					Description: "whether the password is locked: no password is accepted until it is unlocked, " +
						"then the former one. A user without an entry in /etc/shadow is locked. Keys " +
						"stay valid; expire the user to disable them"},
				{Name: "min_days", Type: daysType,
					Description: "days before a password can be changed; -1: not set"},
				{Name: "max_days", Type: daysType,
					Description: "days after which a password must be changed; -1: never"},
				{Name: "warn_days", Type: daysType,
					Description: "days before that with a warning at login; -1: not set"},
				{Name: "inactive_days", Type: daysType,
					Description: "days after that on which a login can still change it; -1: unlimited"},
				{Name: "expires", Type: `Optional[Pattern[/\A(\d{4}-\d\d-\d\d|never)\z/]]`,
					Description: `the day from which there are no more logins: 2027-12-31, or never`},
				{Name: "system", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether the system chooses a number of the range for services"},
				{Name: "manage_home", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "create the home directory, move it when home changes, and remove it with the " +
						"user"},
				{Name: "authorized_keys", Type: `Optional[Array[Pattern[/\A[^#\s][^\r\n]*\z/]]]`,
					Description: "keys for ssh logins: lines of .ssh/authorized_keys"},
				{Name: "exact_keys", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether authorized_keys lists all keys; false: other lines of the file stay"},
				duplicateAttribute(),
				{Name: "no_home", Type: "Optional[Boolean]", Behaviour: schema.ReadOnly,
					Description: "true if the managed home directory is missing"},
			},
			Features: []string{"batch", "noop", "facts", "discover"},
			Machine:  true,
			Validate: validUser,
			Thing:    schema.ByIdentity("name"),
			Keeps: func(attrs map[string]any) []schema.Kept {
				if attrs["manage_home"] != true && attrs["authorized_keys"] == nil {
					return nil
				}
				return schema.KeepsTrees("home")(attrs)
			},
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "acct::Group",
					Keys: map[string]string{"name": "$groups"}},
				{Kind: schema.Require, Type: "acct::Group",
					Keys: map[string]string{"name": "$group"}},
			},
		},
		Handler: user{},
	}
}

func validUser(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	if hash, ok := attrs["password"].(string); ok && !isHash(hash) {
		out = append(out,
			diag.Problem{Attribute: "password", Message: "the password is not the hash of one",
				Hint: "make one with mkpasswd or openssl passwd -6, and give it as a secret"})
	}
	if s, ok := attrs["expires"].(string); ok {
		if _, err := days(s); err != nil {
			out = append(out,
				diag.Problem{Attribute: "expires", Message: fmt.Sprintf("%q is not a date", s),
					Hint: "write 2027-12-31, or never"})
		}
	}
	return out
}

// isHash reports whether a text is a valid entry of /etc/shadow and not a plain-text password.
func isHash(s string) bool {
	if s == "" || strings.ContainsAny(s, ": \t\r\n\x00") {
		return false
	}
	// A hash has the name of the algorithm, its parameters or salt, and the digest. A single $ is
	// not enough: a password may begin with a $, too.
	return s[0] == '!' || s[0] == '*' || s[0] == '$' && strings.Count(s, "$") >= 3
}

// days returns the form of a day in /etc/shadow: days since 1970, or an empty text.
func days(s string) (string, error) {
	if s == "never" {
		return "", nil
	}
	t, err := time.Parse(time.DateOnly, s)
	return fmt.Sprint(t.Unix() / (24 * 60 * 60)), err
}

// list returns the texts of a list.
func list(v any) []string {
	var out []string
	items, _ := v.([]any)
	for _, e := range items {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func text(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

func yes(r provider.Resource, name string) bool {
	b, _ := r.Attributes[name].(bool)
	return b
}
