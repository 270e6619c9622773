package secrets

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The schemes of references.
const (
	schemeSSM     = "ssm"
	schemeManager = "secretsmanager"
	schemeMachine = "machine" // env:, file: and others, see resource.SecretSource
)

// reference is a parsed reference to a secret.
type reference struct {
	scheme   string
	name     string // or an ARN
	region   string // of an ARN
	selector string // version, label or stage; "": the newest
	key      string // member of a JSON object
}

// The patterns of names and versions are compiled on first use. Their counted repetitions take 2 ms
// to compile, and other commands should not wait for that.
var (
	parameterName = pattern(`^/?[\w.-]+(/[\w.-]+)*$`)
	parameterARN  = pattern(`^arn:[a-z-]+:ssm:([a-z0-9-]+):\d{12}:parameter/([\w.-]+/?)+$`)
	managedName   = pattern(`^[\w/+=.@-]{1,512}$`)
	managedARN    = pattern(
		`^arn:[a-z-]+:secretsmanager:([a-z0-9-]+):\d{12}:secret:[\w/+=.@-]{1,512}$`)
	number    = pattern(`^[1-9]\d{0,18}$`)
	label     = pattern(`^[\w.-]{1,100}$`)
	versionID = pattern(`^[\w-]{32,64}$`)
	stage     = pattern(`^[\w/+=.@-]{1,256}$`)
)

func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// parse parses a reference. The forms are ssm:NAME, ssm:NAME:VERSION, secretsmanager:ID,
// secretsmanager:ID#KEY.
func parse(ref resource.Secret) (reference, error) {
	scheme, rest, _ := strings.Cut(ref.Source, ":")
	kind, _ := resource.SecretSourceOf(ref.Source)
	switch {
	case kind.Machine:
		return reference{scheme: schemeMachine}, nil
	case scheme == schemeSSM:
		return parseParameter(rest, ref.Version)
	case scheme == schemeManager:
		return parseManaged(rest, ref.Version)
	}
	return reference{}, fault.New(fault.Unsupported, "resolve secret", "there are no secrets of %q",
		scheme).
		WithHint("write %s", resource.SecretForms())
}

func parseParameter(name, version string) (reference, error) {
	r := reference{scheme: schemeSSM}
	rest := name
	if strings.HasPrefix(name, "arn:") { // an ARN contains colons
		_, rest, _ = strings.Cut(name, "/")
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		r.selector = rest[i+1:]
		name = name[:len(name)-len(rest)+i]
	}
	r.name, r.selector = name, cmp.Or(version, r.selector)
	if m := parameterARN().FindStringSubmatch(name); m != nil {
		r.region = m[1]
	} else if !parameterName().MatchString(name) {
		return r, malformed("ssm:"+name, "write ssm:/name, ssm:/name:VERSION, or an ARN")
	}
	if r.selector != "" && !label().MatchString(r.selector) {
		return r, malformed("ssm:"+name, "its version is a number or a label")
	}
	return r, nil
}

func parseManaged(id, version string) (reference, error) {
	r := reference{scheme: schemeManager, selector: version}
	r.name, r.key, _ = strings.Cut(id, "#")
	if m := managedARN().FindStringSubmatch(r.name); m != nil {
		r.region = m[1]
	} else if !managedName().MatchString(r.name) {
		return r, malformed("secretsmanager:"+r.name,
			"write secretsmanager:id, secretsmanager:id#key for a member of a JSON object, or an "+
				"ARN")
	}
	if version != "" && !stage().MatchString(version) {
		return r, malformed("secretsmanager:"+r.name,
			"its version is the id of one, or a stage such as AWSPREVIOUS")
	}
	return r, nil
}

func malformed(source, hint string) error {
	return fault.New(fault.Invalid, "resolve secret", "%q names no secret", source).
		WithHint("%s", hint)
}

// exact reports whether the reference names one version, and not a label or a stage.
func (r *reference) exact() bool {
	if r.scheme == schemeSSM {
		return number().MatchString(r.selector)
	}
	return versionID().MatchString(r.selector)
}

// text returns a key that identifies the reference. Its parts contain no line breaks.
func (r *reference) text() string {
	return strings.Join([]string{r.scheme, r.name, r.selector, r.key}, "\n")
}

// shown returns the reference for display.
func (r *reference) shown() string {
	out := r.scheme + ":" + r.name
	if r.selector != "" {
		out += " version " + r.selector
	}
	return out
}

// fault returns an error of AWS with a kind and the name of the secret.
func (r *reference) fault(err error) error {
	kind := awserr.Kind(err)
	e := &fault.Error{Kind: kind, Op: "resolve secret " + r.shown(), Err: said{err}}
	switch {
	case fault.HintOf(err) != "":
	case kind == fault.NotFound:
		return e.WithHint(
			"the secret, or this version of it, does not exist in the region; a new export " +
				"takes the current version")
	case kind == fault.Denied:
		return e.WithHint(
			"grant ssm:GetParameters or secretsmanager:GetSecretValue on it, and kms:Decrypt on " +
				"its key, to the role that runs the handlers")
	}
	return e
}

// said is an error of AWS whose text is only the message of AWS.
type said struct{ error }

func (e said) Error() string { return awserr.Text(e.error) }

func (e said) Unwrap() error { return e.error }

// member extracts the requested member of a JSON object.
func (r *reference) member(value string) (string, error) {
	if r.key == "" {
		return value, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(value), &object); err != nil {
		// err would contain part of the value
		return "", fault.New(fault.Invalid, "resolve secret "+r.shown(),
			"it is not valid JSON object, so it has no member %q", r.key)
	}
	raw, ok := object[r.key]
	if !ok {
		return "", fault.New(fault.NotFound, "resolve secret "+r.shown(), "it has no member %q",
			r.key).
			WithHint("the names of members are case-sensitive")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	return string(raw), nil // a number, true or a nested value, unchanged
}
