package aws

import (
	"context"
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// The types of parameters.
const (
	plainText  = "String"
	secureText = "SecureString"
)

const (
	tierStandard    = "Standard"
	tierAdvanced    = "Advanced"
	tierIntelligent = "Intelligent-Tiering"
	maxStandard     = 4096 // bytes of a value
	maxAdvanced     = 8192
	maxLevels       = 15
)

// parameter is the handler of aws::ssm::Parameter.
type parameter struct{}

// Parameter declares aws::ssm::Parameter.
func Parameter() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{"name"},
			Name:   "aws::ssm::Parameter",
			Description: "A parameter of the Systems Manager Parameter Store. Each change of its value, " +
				"description, tier, key or pattern makes a new version. A SecureString takes its value " +
				"from a secret, and is decrypted only for the comparison. Attributes that are not set " +
				"are left unchanged.",
			Transports: []string{"aws"},
			Attributes: []schema.Attribute{
				{Name: "name", Type: `Pattern[/\A(\/[a-zA-Z0-9_.-]+)+\z/, /\A[a-zA-Z0-9_.-]+\z/]`,
					Behaviour:   schema.Namevar,
					Description: "its name: a path such as /site/db/password, or a single word"},
				{Name: "value", Type: "String[1]",
					Description: "the value; {secret: ...} for a SecureString, texts separated by commas for a " +
						"StringList"},
				{Name: "kind", Type: "Enum['String','StringList','SecureString']",
					Default: plainText, Behaviour: schema.InitOnly,
					Description: "the type in Parameter Store; SecureString is encrypted"},
				{Name: "description", Type: "Optional[String[0,1024]]",
					Description: "a description"},
				{Name: "tier", Type: "Optional[Enum['Standard','Advanced','Intelligent-Tiering']]",
					Description: "Standard holds 4 KB, Advanced 8 KB for a price; Intelligent-Tiering chooses. " +
						"An Advanced parameter cannot become Standard again"},
				{Name: "key", Type: "Optional[String[1,256]]",
					Description: "the KMS key of a SecureString: alias/NAME, an id or an ARN; default " +
						"alias/aws/ssm"},
				{Name: "data_type",
					Type:        "Optional[Enum['text','aws:ec2:image','aws:ssm:integration']]",
					Description: "the data type against which AWS checks the value"},
				{Name: "allowed_pattern", Type: "Optional[String[1,1024]]",
					Description: "a regular expression that values must match"},
				{Name: "tags", Type: fmt.Sprintf(tagsType, 50),
					Description: "all tags; {} for none"},
				{Name: "version", Type: "Optional[Integer[1]]", Behaviour: schema.ReadOnly,
					Description: "the version, which grows with each change"},
				{Name: "arn", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the ARN"},
			},
			Features: []string{"batch", "facts", "discover"},
			Validate: validParameter,
			Thing:    schema.ByIdentity("name"),
		},
		Handler: parameter{},
	}
}

// validParameter checks the rules about several attributes.
func validParameter(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	bad := func(attribute, message, hint string) {
		out = append(out, diag.Problem{Attribute: attribute, Message: message, Hint: hint})
	}
	name, _ := attrs["name"].(string)
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.ToLower(name), "/"), "/")
	if strings.HasPrefix(first, "aws") || strings.HasPrefix(first, "ssm") {
		bad("name", "names that begin with aws or ssm are taken",
			"begin with a name of your own, such as /site")
	}
	if strings.Count(name, "/") > maxLevels {
		bad("name", fmt.Sprintf("the name has more than %d levels", maxLevels), "leave out some")
	}
	text, literal := attrs["value"].(string)
	tier, _ := attrs["tier"].(string)
	switch secret := provider.HasSecret(attrs["value"]); {
	case attrs["kind"] == secureText && literal:
		bad("value", "the value of a SecureString stands in the document",
			`write {secret: "env:NAME"}, or another secret`)
	case attrs["kind"] != secureText && secret:
		bad("value", "a secret would be stored in the open", "add `kind: SecureString`")
	case len(text) > maxAdvanced:
		bad("value", fmt.Sprintf("the value is longer than %d bytes", maxAdvanced),
			"keep it elsewhere, and its place here")
	case len(text) > maxStandard && tier == tierStandard:
		bad("value", fmt.Sprintf("the value is longer than %d bytes", maxStandard),
			"set `tier: Advanced`, or Intelligent-Tiering")
	}
	if attrs["key"] != nil && attrs["kind"] != secureText {
		bad("key", "a key is of no use without encryption", "add `kind: SecureString`")
	}
	return out
}

// content are the attributes that are set together, in a new version.
func content() []string {
	return []string{"value", "kind", "description", "tier", "key", "data_type", "allowed_pattern"}
}

// Diff implements provider.Differ.
func (parameter) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return differences(desired.Attributes, observed.Attributes, append(content(), "tags")), nil
}

// Read implements provider.Handler.
func (p parameter) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, p, req)
}

// ReadBatch implements provider.BatchReader: one request for each 50 descriptions, and one for each
// 10 values.
func (parameter) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	if len(items) == 0 {
		return out
	}
	api, err := ssmClient(items[0].Context)
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	rd := &reading{ctx: ctx, api: api, items: items}
	rd.all()
	for i := range items {
		out[i] = rd.of(&items[i])
	}
	return out
}

// Facts implements provider.FactReader.
func (p parameter) Facts(
	ctx *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	r := req.Resource
	r.Purged = true // its value is not needed
	obs, err := p.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil || !obs.Exists {
		return nil, err
	}
	out := map[string]any{}
	for _, name := range []string{"version", "arn"} {
		if v := obs.Attributes[name]; v != nil {
			out[name] = fmt.Sprint(v)
		}
	}
	return out, nil
}

// secretOf returns the value of a resource if it is a secret.
func secretOf(r provider.Resource) string {
	if text(r, "kind") != secureText {
		return ""
	}
	return text(r, "value")
}

// sameTier returns the desired tier if the found tier is a result of it.
func sameTier(want any, have string) any {
	if want == tierIntelligent && have != "" {
		return want
	}
	if have == "" {
		have = tierStandard
	}
	return have
}
