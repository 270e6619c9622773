// Package cron manages jobs that a cron daemon runs on the machine it runs on.
package cron

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diag"
	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Job declares cron::Job: a job in the crontab of a user, or in a file such as those in
// /etc/cron.d.
func Job() provider.Definition {
	const oneLine = `Pattern[/\A[^\r\n]+\z/]`
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{"file", "user"},
			Name:   "cron::Job",
			Description: "A cron job, in the crontab of a user or in a file such as /etc/cron.d/backup. It " +
				"stands between two marker lines with its name; all other lines stay byte for byte. " +
				"Jobs do not see each other's variables, except those that cron itself reads. An equal " +
				"line without markers is adopted, so that cron does not run both; such a line is named " +
				"by its command.",
			Attributes: []schema.Attribute{
				{Name: "name", Type: oneLine, Behaviour: schema.Namevar,
					Description: "its name, as in the marker lines. A line without markers is named by its " +
						"command"},
				{Name: "user", Type: `Pattern[/\A[^\s:#%-][^\s:#%]*\z/]`, Default: "root",
					Behaviour: schema.Namevar, Description: "the user it runs as"},
				{Name: "file", Type: `Optional[Pattern[/\A\//]]`, Behaviour: schema.Parameter,
					Description: "a file whose lines name the user, such as /etc/cron.d/backup; absent: the " +
						"crontab of the user. A change does not move the job: purge it at its old place"},
				{Name: "schedule", Type: oneLine,
					Description: `when it runs: "*/5 8-18 * * mon-fri", or @reboot, @hourly, @daily, @weekly, @monthly, @yearly`},
				{Name: "command", Type: oneLine,
					Description: "the shell command; % needs no backslash"},
				{Name: "input", Type: "Optional[String]", Description: "the standard input of the command"},
				{Name: "environment", Type: "Optional[Hash[String[1],String]]", OneLine: true,
					Description: "variables of this job; variables that cron itself reads, such as MAILTO, also " +
						"apply to later lines of the file, and require file"},
				{Name: "enabled", Type: "Boolean", Default: true,
					Description: "false: it is a comment and does not run"},
				{Name: "lines", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "the lines found, if they differ from the desired ones"},
			},
			Features: []string{"batch", "noop", "discover"},
			Machine:  true,
			Validate: validate,
			Thing:    thingOf,
			Keeps:    schema.KeepsPaths("file"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "acct::User",
					Keys: map[string]string{"name": "$user"}},
				{Kind: schema.Require, Type: "fs::File", Keys: map[string]string{"path": "$file"}},
				{Kind: schema.Require, Type: "fs::Directory",
					Keys: map[string]string{"path": "${file|dir}"}},
			},
		},
		Handler: newHandler(textfile.Editor{}, "crontab"),
	}
}

// thingOf names a job by its markers, in the file or the crontab that contains it.
func thingOf(attrs map[string]any) schema.Thing {
	name, hasName := attrs["name"].(string)
	user, hasUser := attrs["user"].(string)
	if !hasName || !hasUser {
		return schema.Thing{}
	}
	where := "the crontab of " + user
	if attrs["file"] != nil {
		file := schema.CleanPath(attrs["file"])
		if file == "" {
			return schema.Thing{}
		}
		where = fmt.Sprintf("%s, for %s", file, user)
	}
	return schema.NewThing(fmt.Sprintf("the job %q in %s", name, where))
}

// readByCron are the variables for cron itself, or for how it starts a command.
func readByCron() []string {
	return strings.Fields("MAILTO MAILFROM SHELL CRON_TZ TZ RANDOM_DELAY CONTENT_TYPE " +
		"CONTENT_TRANSFER_ENCODING CRON_WITHIN_RANGE NO_MAIL_OUTPUT HOME LOGNAME")
}

func validate(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	add := func(attribute, hint, format string, args ...any) {
		out = append(out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
			Hint: hint})
	}
	for _, name := range []string{"command", "input", "environment"} {
		if provider.HasSecret(attrs[name]) {
			add(name,
				"put it into a file that only its user can read, and read that file in the command",
				"a secret of a job can be seen by everybody on the machine while it runs")
		}
	}
	path, inFile := attrs["file"].(string)
	switch {
	case inFile && (filepath.Clean(path) != path || path == "/"):
		add("file", "write "+filepath.Clean(path), "the path %q is not in its shortest form", path)
	case inFile && filepath.Dir(path) == "/etc/cron.d" && !validFile(path):
		add("file", "use letters, digits, _ and -", "cron does not look at a file with the name %q",
			filepath.Base(path))
	}
	if _, err := jobOf(provider.Resource{Attributes: literals(attrs)}); err != nil {
		attribute := "command"
		if e, ok := err.(*mistake); ok {
			attribute = e.attribute
		}
		add(attribute, "see the description of the type", "%s", err)
	}
	return out
}

// literals are the attributes whose values are already known.
func literals(attrs map[string]any) map[string]any {
	out := map[string]any{"schedule": "@daily", "command": "true", "user": "root"}
	for name, v := range attrs {
		if len(resource.References(v)) == 0 {
			out[name] = v
		}
	}
	return out
}

// mistake is an error of an attribute.
type mistake struct{ attribute, text string }

// Error returns the text.
func (m *mistake) Error() string { return m.text }

func wrong(attribute, format string, args ...any) error {
	return &mistake{attribute, fmt.Sprintf(format, args...)}
}

// job is a job in the form of a crontab.
type job struct {
	name, user, file string
	lines            []string // between the markers
}

// off is the prefix of a disabled line.
const off = "#off "

// jobOf returns the lines of a resource.
func jobOf(r provider.Resource) (job, error) {
	j := job{name: text(r, "name"), user: text(r, "user"), file: text(r, "file")}
	schedule, err := canonical(text(r, "schedule"))
	if err != nil {
		return j, wrong("schedule", "%s", err)
	}
	own, shell, err := j.variables(r)
	if err != nil {
		return j, err
	}
	command := strings.TrimSpace(text(r, "command"))
	if command == "" || strings.ContainsAny(command, "\r\n") {
		return j, wrong("command", "the command is one line of text")
	}
	body, err := escaped("command", shell+command)
	if err != nil {
		return j, err
	}
	if s := text(r, "input"); s != "" {
		input, err := escaped("input", strings.ReplaceAll(s, "\n", "\x00"))
		if err != nil || strings.Contains(s, "\r") {
			return j,
				wrong("input",
					"a carriage return, or a backslash before %%, cannot be given to a "+
						"command by cron")
		}
		body += "%" + strings.ReplaceAll(strings.TrimSuffix(input, "\x00"), "\x00", "%")
	}
	line := schedule + " "
	if j.file != "" {
		line += j.user + " "
	}
	line += body
	if len(line) > maxLine {
		return j,
			wrong("command", "the line has %d bytes; cron reads %d: put the command into a script",
				len(line), maxLine)
	}
	if on, ok := r.Attributes["enabled"].(bool); ok && !on {
		line = off + line
	}
	j.lines = append(own, line)
	return j, nil
}

// maxLine is the longest line that cron reads completely.
const maxLine = 998

// escaped escapes % in a text, so that cron passes it on unchanged. A backslash before a % cannot
// be distinguished from the escape.
func escaped(attribute, s string) (string, error) {
	if strings.Contains(s, `\%`) {
		return "",
			wrong(attribute,
				`%s needs no backslash before %%; for one that the command has to see, use a script`,
				attribute)
	}
	return strings.ReplaceAll(s, "%", `\%`), nil
}

var variableName = pattern.Lazy(`\A[A-Za-z_][A-Za-z0-9_]*\z`)

// variables returns cron's variables as lines, and the others as the beginning of a command.
func (j job) variables(r provider.Resource) (own []string, shell string, err error) {
	env, _ := r.Attributes["environment"].(map[string]any)
	var names []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		value, _ := env[name].(string)
		switch {
		case !variableName().MatchString(name):
			return nil, "", wrong("environment", "%q cannot name a variable", name)
		case strings.ContainsAny(value, "\r\n\x00\""):
			return nil, "",
				wrong("environment", "the value of %s has an end of line or a quotation mark in it",
					name)
		case !slices.Contains(readByCron(), name):
			names = append(names, name)
			shell += name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'; "
		case j.file == "":
			return nil, "",
				wrong("environment",
					"%s would also apply to unmanaged jobs in the crontab; give the job a "+
						"file of its own", name)
		default:
			own = append(own, name+`="`+value+`"`)
		}
	}
	if names != nil {
		shell += "export " + strings.Join(names, " ") + "; "
	}
	return own, shell, nil
}

// text returns the value of a text attribute, "" for any other value.
func text(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}
