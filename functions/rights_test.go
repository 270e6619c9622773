package functions_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// asked is a right that a request takes, as IAM sees it.
type asked struct {
	who      string // the function that sent the request
	action   string // such as s3:GetObject
	resource string // an ARN
	keys     map[string][]string
}

// statement is a statement of a policy, without references to anything.
type statement struct {
	where      string // the policy or role that it is in
	sid        string
	actions    []string
	resources  []string
	conditions map[string]map[string][]string
}

// roles are the statements of each function's role.
type roles map[string][]statement

// allows reports whether a statement allows what is asked.
func (s *statement) allows(a *asked) bool {
	return like(s.actions, a.action) && like(s.resources, a.resource) && s.holds(a.keys)
}

// holds reports whether the conditions hold. One that is not known here does not.
func (s *statement) holds(keys map[string][]string) bool {
	for operator, tests := range s.conditions {
		for key, want := range tests {
			have := keys[key]
			inOne := func(v string) bool { return like(want, v) }
			switch operator {
			case "ForAllValues:StringLike": // holds for none as well
				if !each(have, inOne) {
					return false
				}
			case "StringEquals", "ArnEquals", "Bool":
				if len(have) != 1 || !slices.Contains(want, have[0]) {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

func each(all []string, f func(string) bool) bool {
	return !slices.ContainsFunc(all, func(v string) bool { return !f(v) })
}

// like reports whether one of some patterns matches. A * of IAM matches a slash, too, which
// path.Match keeps apart.
func like(patterns []string, v string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	return slices.ContainsFunc(patterns, func(p string) bool {
		if !strings.ContainsAny(p, `*?[\`) {
			return p == v
		}
		ok, err := path.Match(flat(p), flat(v))
		return ok && err == nil
	})
}

// problems holds roles against what functions asked for: everything must be allowed, and what a
// statement grants must be needed, by one of the functions that have it, or for one of reasons.
// Those are kept by "Sid action", or "where/Sid action", and where the statement has several
// resources with what the resource ends in behind that.
func problems(have roles, all []asked, reasons map[string]string) []string {
	var out []string
	used, granted := map[string]bool{}, map[string]bool{}
	for i := range all {
		a, allowed := &all[i], false
		for _, s := range have[a.who] {
			if !s.allows(a) {
				continue
			}
			allowed = true
			for _, g := range s.grants() {
				if like([]string{g.action}, a.action) && like([]string{g.resource}, a.resource) {
					used[g.String()] = true
				}
			}
		}
		if !allowed {
			out = append(
				out,
				fmt.Sprintf("%s may not %s on %s %v", a.who, a.action, a.resource, a.keys),
			)
		}
	}
	for _, who := range slices.Sorted(maps.Keys(have)) {
		for _, s := range have[who] {
			for _, g := range s.grants() {
				reason := g.reason(reasons)
				granted[reason] = true
				if !used[g.String()] && reason == "" {
					out = append(out, fmt.Sprintf("%s: nothing needs %s", who, g))
				}
			}
		}
	}
	for r := range reasons {
		if !granted[r] {
			out = append(out, "a reason for what no role grants: "+r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// grant is an action on a resource.
type grant struct{ where, sid, action, resource string }

// grants returns what a statement grants.
func (s *statement) grants() []grant {
	var out []grant
	for _, a := range s.actions {
		for _, r := range s.resources {
			out = append(out, grant{s.where, s.sid, a, r})
		}
	}
	return out
}

// String names the grant.
func (g grant) String() string {
	return fmt.Sprintf("%s/%s: %s on %s", g.where, g.sid, g.action, g.resource)
}

// reason returns which of reasons is that for the grant, or "".
func (g grant) reason(reasons map[string]string) string {
	for r := range reasons {
		f := append(strings.Fields(r), "")
		if (f[0] == g.sid || f[0] == g.where+"/"+g.sid) && f[1] == g.action &&
			strings.HasSuffix(g.resource, f[2]) {
			return r
		}
	}
	return ""
}

// TestProblems pins what is a problem of a role.
func TestProblems(t *testing.T) {
	t.Parallel()
	role := func(s ...statement) roles { return roles{"log": s} }
	read := statement{
		"LogRole",
		"Read",
		[]string{"s3:GetObject"},
		[]string{"arn:aws:s3:::b/state/*"},
		nil,
	}
	keys := statement{"LogRole", "Keep", []string{"dynamodb:PutItem"}, []string{"arn:t"},
		map[string]map[string][]string{
			"ForAllValues:StringLike": {"dynamodb:LeadingKeys": {"C/*"}},
		}}
	tagged := statement{"LogRole", "Prune", []string{"sqs:DeleteQueue"}, []string{"arn:q"},
		map[string]map[string][]string{"StringEquals": {"aws:ResourceTag/p": {"1"}}}}
	unknown := statement{"LogRole", "Read", read.actions, read.resources,
		map[string]map[string][]string{"IpAddress": {"aws:SourceIp": {"10.0.0.1"}}}}
	get := asked{"log", "s3:GetObject", "arn:aws:s3:::b/state/prod/1", nil}
	put := func(k string) asked {
		return asked{
			"log",
			"dynamodb:PutItem",
			"arn:t",
			map[string][]string{"dynamodb:LeadingKeys": {k}},
		}
	}
	for name, c := range map[string]struct {
		have    roles
		asked   []asked
		reasons map[string]string
		want    string // part of the one problem; "": there is none
	}{
		"all is well": {role(read), []asked{get}, nil, ""},
		"another function": {role(read), []asked{get, {"api", get.action, get.resource, nil}}, nil,
			"api may not"},
		"another action": {role(read), []asked{get, {"log", "s3:PutObject", get.resource, nil}},
			nil,
			"log may not s3:PutObject"},
		"another resource": {role(read),
			[]asked{get, {"log", get.action, "arn:aws:s3:::b/files/1", nil}}, nil,
			"log may not s3:GetObject on arn:aws:s3:::b/files/1"},
		"one too many":  {role(read), nil, nil, "nothing needs LogRole/Read: s3:GetObject"},
		"with a reason": {role(read), nil, map[string]string{"Read s3:GetObject": "why"}, ""},
		"elsewhere": {role(read), nil, map[string]string{"LogRole/Read s3:GetObject": "why"},
			""},
		"an old reason": {role(read), []asked{get}, map[string]string{"Read s3:Gone": "why"},
			"no role grants"},
		"a key": {role(keys), []asked{put("C/1")}, nil, ""},
		"another key": {role(keys), []asked{put("C/1"), put("V/1")}, nil,
			"may not dynamodb:PutItem"},
		"not tagged": {role(tagged), []asked{{"log", "sqs:DeleteQueue", "arn:q", nil}},
			map[string]string{"Prune sqs:DeleteQueue": "x"}, "may not"},
		"tagged": {role(tagged),
			[]asked{{"log", "sqs:DeleteQueue", "arn:q",
				map[string][]string{"aws:ResourceTag/p": {"1"}}}}, nil, ""},
		"not understood": {role(unknown), []asked{get}, map[string]string{"Read s3:GetObject": "x"},
			"may not"},
	} {
		got := problems(c.have, c.asked, c.reasons)
		if (c.want == "") != (len(got) == 0) || len(got) > 1 ||
			len(got) == 1 && !strings.Contains(got[0], c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
