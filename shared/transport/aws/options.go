package aws

import (
	"fmt"
	"net/url"
	"regexp"

	"southbound/shared/diag"
	"southbound/shared/transport/option"
)

// Options are those of an agent with the transport aws.
type Options struct {
	Region     string // required
	Role       string // ARN of the role to assume; "": the credentials of the process itself
	ExternalID string // what the role's trust policy asks for; with Role only
	Profile    string // of the shared configuration files, where the credentials come from
	Endpoint   string // of all services, for emulators and private endpoints
}

// field is one of the options as documents have it.
type field struct {
	name    string
	pattern *regexp.Regexp
	hint    string
	field   func(o *Options) *string
}

func known() []field {
	return []field{
		{"region", regexp.MustCompile(`^[a-z]{2,}(-[a-z]+)+-\d+$`), "write it such as eu-central-1", func(o *Options) *string { return &o.Region }},
		{"role", regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:role/[\w+=,.@/-]+$`), "write its ARN, such as arn:aws:iam::123456789012:role/deploy", func(o *Options) *string { return &o.Role }},
		{"external_id", regexp.MustCompile(`^[\w+=,.@:/-]{2,}$`), "it has at least 2 letters, digits and + = , . @ : / - _", func(o *Options) *string { return &o.ExternalID }},
		{"profile", regexp.MustCompile(`^[^\s\[\]]+$`), "it is the name of a profile of the AWS configuration files", func(o *Options) *string { return &o.Profile }},
		{"endpoint", regexp.MustCompile(`^https?://[^/?#]+/?$`), "write it such as http://127.0.0.1:4566", func(o *Options) *string { return &o.Endpoint }},
	}
}

// Check returns what is wrong with options; Attribute of a problem is the name of one. References
// are right.
func Check(options map[string]any) []diag.Problem {
	_, problems := read(options)
	return problems
}

// parse reads options whose references are resolved.
func parse(options map[string]any) (Options, error) {
	out, problems := read(options)
	return out, option.Refuse(problems)
}

func read(options map[string]any) (Options, []diag.Problem) {
	var out Options
	var problems []diag.Problem
	var names []string
	for _, o := range known() {
		names = append(names, o.name)
		value, given := options[o.name]
		if !given || option.IsReference(value) {
			continue
		}
		text, ok := value.(string)
		if !ok || !o.pattern.MatchString(text) {
			problems = append(problems, diag.Problem{Attribute: o.name, Message: fmt.Sprintf("the value of %s is not valid", o.name), Hint: o.hint})
			continue
		}
		*o.field(&out) = text
	}
	problems = append(problems, option.Unknown("aws", options, names)...)
	if _, ok := options["region"]; !ok {
		problems = append(problems, diag.Problem{Message: "an agent with the transport aws needs a region", Hint: "write it such as {transport: aws, region: eu-central-1}"})
	}
	if _, ok := options["role"]; !ok && options["external_id"] != nil {
		problems = append(problems, diag.Problem{Attribute: "external_id", Message: "an external_id is of no use without a role", Hint: "say which role is to be assumed"})
	}
	if u, err := url.Parse(out.Endpoint); out.Endpoint != "" && (err != nil || u.User != nil) {
		problems = append(problems, diag.Problem{Attribute: "endpoint", Message: "the value of endpoint is not valid", Hint: "write it such as http://127.0.0.1:4566, without a user"})
	}
	return out, problems
}
