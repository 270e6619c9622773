package aws

import (
	"net/url"

	"southbound/shared/diag"
	"southbound/shared/transport/internal/options"
)

// Options are the options of an agent with the transport aws.
type Options struct {
	Region     string // required
	Role       string // ARN of the role to assume; "": the credentials of the process itself
	ExternalID string // required by the role's trust policy; with Role only
	Profile    string // of the shared configuration files, which hold the credentials
	Endpoint   string // of all services, for emulators and private endpoints
}

// declared are all options, in the order for documentation.
func declared() []options.Option {
	return []options.Option{
		{Name: "region", Type: `Pattern[/\A[a-z]{2,}(-[a-z]+)+-\d+\z/]`,
			Example: "{transport: aws, region: eu-central-1}",
			Hint:    "write it such as eu-central-1"},
		{Name: "role", Type: `Optional[Pattern[/\Aarn:[a-z-]+:iam::\d{12}:role\/[\w+=,.@\/-]+\z/]]`,
			Hint: "write its ARN, such as arn:aws:iam::123456789012:role/deploy"},
		{Name: "external_id", Type: `Optional[Pattern[/\A[\w+=,.@:\/-]{2,}\z/]]`,
			Hint: "it has at least 2 letters, digits and + = , . @ : / - _"},
		{Name: "profile", Type: `Optional[Pattern[/\A[^\s\[\]]+\z/]]`,
			Hint: "it is the name of a profile of the AWS configuration files"},
		{Name: "endpoint", Type: `Optional[Pattern[/\Ahttps?:\/\/[^\/?#]+\/?\z/]]`,
			Hint: "write it such as http://127.0.0.1:4566"},
	}
}

// Check returns the problems of options; Attribute of a problem is the name of an option.
// References are accepted.
func Check(given map[string]any) []diag.Problem {
	_, r := read(given)
	return r.Problems()
}

// parse reads options whose references are resolved.
func parse(given map[string]any) (Options, error) {
	out, r := read(given)
	return out, r.Err()
}

func read(given map[string]any) (Options, *options.Reader) {
	r := options.Read("aws", declared(), given)
	out := Options{
		Region: r.Text("region"), Role: r.Text("role"), ExternalID: r.Text("external_id"),
		Profile: r.Text("profile"), Endpoint: r.Text("endpoint"),
	}
	if r.Given("external_id") && !r.Given("role") {
		r.Bad("external_id", "name the role to assume",
			"an external_id is of no use without a role")
	}
	if u, err := url.Parse(out.Endpoint); out.Endpoint != "" && (err != nil || u.User != nil) {
		r.Bad("endpoint", "write it such as http://127.0.0.1:4566, without a user",
			"the value of endpoint is not valid")
	}
	return out, r
}
