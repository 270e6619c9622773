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
		Behaviour: schema.Parameter, Description: "whether another one may have the same number"}
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
					Description: "its number; left out, the system chooses one"},
				{Name: "system", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether the number that the system chooses is one for services"},
				{Name: "members", Type: "Optional[Array[" + nameType + "]]",
					Description: "all users that are in it beside those whose primary group it " +
						"is; left out, that is for the users to say. They must exist: of users " +
						"that require this group, say it with their groups"},
				{Name: "exact_members", Type: "Boolean", Default: true, Behaviour: schema.Parameter,
					Description: "whether members are all of them; false: others may be " +
						"in it, too, and a member that was added goes again when it is taken " +
						"out of the list"},
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
			Description: "A user in /etc/passwd. What is not said stays as it is. Purged, the " +
				"user goes, and with manage_home what is in the home directory, too; the group " +
				"of the same name goes as the system has it.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: nameType, Behaviour: schema.Namevar, Description: "the name"},
				{Name: "uid", Type: idType,
					Description: "the number; left out, the system chooses one"},
				{Name: "group", Type: "Optional[Variant[" + nameType + ",Integer[0,4294967294]]]",
					Description: "the primary group, by name or number; left out, one of the " +
						"same name, or as the system has it"},
				{Name: "groups", Type: "Optional[Array[" + nameType + "]]",
					Description: "other groups the user is in; a group that was added goes again " +
						"when it is taken out of the list"},
				{Name: "exact_groups", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether groups are all of them; false: the user may be in more"},
				{Name: "comment", Type: `Optional[Pattern[/\A[^:\x00-\x1f\x7f]*\z/]]`,
					Description: "the full name, or what the user is for"},
				{Name: "home", Type: path, Description: "the home directory"},
				{Name: "shell", Type: path,
					Description: "what runs at a login: /usr/sbin/nologin for users that never do"},
				{Name: "password", Type: "Optional[String[1]]", OneLine: true, Sensitive: true,
					Description: `the hash of the password, as in /etc/shadow, better a secret; "!" or "*": no password fits`},
				{Name: "locked", Type: "Optional[Boolean]",
					Description: "whether the password is locked: none fits until it is " +
						"unlocked, and then it is the one it was. A user without an entry in " +
						"/etc/shadow is locked. Keys are not locked by it: for " +
						"that, let the user have expired"},
				{Name: "min_days", Type: daysType,
					Description: "days for which a password cannot be changed; -1: not said"},
				{Name: "max_days", Type: daysType,
					Description: "days after which a password has to be changed; -1: never"},
				{Name: "warn_days", Type: daysType,
					Description: "days before that on which a login warns of it; -1: not said"},
				{Name: "inactive_days", Type: daysType,
					Description: "days after that for which a login can still change it; -1: " +
						"for ever"},
				{Name: "expires", Type: `Optional[Pattern[/\A(\d{4}-\d\d-\d\d|never)\z/]]`,
					Description: `the day from which there are no more logins: 2027-12-31, or never`},
				{Name: "system", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether the number that the system chooses is one for services"},
				{Name: "manage_home", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "makes the home directory, moves it when home changes, and " +
						"removes it with the user"},
				{Name: "authorized_keys", Type: `Optional[Array[Pattern[/\A[^#\s][^\r\n]*\z/]]]`,
					Description: "keys that may log in over ssh: lines of .ssh/authorized_keys"},
				{Name: "exact_keys", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether authorized_keys are all of them; false: what else is " +
						"in the file stays"},
				duplicateAttribute(),
				{Name: "no_home", Type: "Optional[Boolean]", Behaviour: schema.ReadOnly,
					Description: "true when the home directory is missing that should be managed"},
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

// isHash reports whether a text is what can stand in /etc/shadow and is not a password in clear.
func isHash(s string) bool {
	if s == "" || strings.ContainsAny(s, ": \t\r\n\x00") {
		return false
	}
	// The name of the algorithm, its parameters or salt, and what it comes to: a password may begin
	// with a $, too.
	return s[0] == '!' || s[0] == '*' || s[0] == '$' && strings.Count(s, "$") >= 3
}

// days returns what stands in /etc/shadow for a day: days since 1970, or nothing.
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
