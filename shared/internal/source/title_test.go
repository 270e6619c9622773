package source

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

func titleTypes(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(schema.Type{Name: "x::Package", Attributes: []schema.Attribute{
		{Name: "package", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "manager", Type: "Enum[gem,yum]", Behaviour: schema.Namevar},
		{Name: "port", Type: "Optional[Integer]"},
	}, Titles: []schema.TitlePattern{
		{Pattern: `^(?<package>.*[^-])-(?<manager>.*)$`, Description: "package-manager"},
		{Pattern: `^(?<package>[a-z]*)$`, Description: "package"}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTitles reads resources that are named by a title.
func TestTitles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why, resources string
		want           []string // ids, or problems
	}{
		{"by the first pattern", "- {type: x::Package, title: php-yum}",
			[]string{"x::Package[a,package=php,manager=yum]"}},
		{"the rest in attributes", "- {type: x::Package, title: php, attributes: {manager: gem}}",
			[]string{"x::Package[a,package=php,manager=gem]"}},
		{"attributes win", "- {type: x::Package, title: php-yum, attributes: {manager: gem}}",
			[]string{"x::Package[a,package=php,manager=gem]"}},
		{"no pattern", "- {type: x::Package, title: PHP, attributes: {manager: gem}}",
			[]string{
				`4:31|"PHP" is not a title of x::Package|titles are: package-manager (/^(?<package>.*[^-])-(?<manager>.*)$/); package (/^(?<package>[a-z]*)$/)`}},
		{"not of the attribute's type", "- {type: x::Package, title: php-npm}",
			[]string{
				`4:31|manager in the title: expected one of "gem" and "yum", got the string "npm"|`}},
		{"what the title leaves open is missing", "- {type: x::Package, title: php}",
			[]string{
				`4:31|the attribute is missing and names the resource: expected one of "gem" and "yum"|add manager`}},
		{"the same identity under different titles",
			"- {type: x::Package, title: php-yum}\n  - {type: x::Package, title: php, " +
				"attributes: {manager: yum}}",
			[]string{
				`5:5|the resource is described twice, first at site.yaml:4:5|remove one of the two; a resource is described once in an export`}},
		{"an empty title", "- {type: x::Package, title: ''}",
			[]string{"4:31|title is empty|write it, or leave it out"}},
		{"a number", "- {type: x::Package, title: 5}",
			[]string{"4:31|title is text|put it in quotes"}},
		{"of an unknown type", "- {type: x::Pakage, title: php-yum}",
			[]string{"4:12|unknown type \"x::Pakage\"|did you mean \"x::Package\"? `southbound " +
				"types` lists them"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "site.yaml"),
				"southbound: 1\ndefaults: {agent: a}\nresources:\n  "+tc.resources+"\n")
			types := titleTypes(t)
			m, _, err := Load(context.Background(), Options{Path: dir, Types: types})
			var got []string
			if err == nil {
				if problems := deploy.New(deploy.Config{Types: types}).
					ValidateClosed(m); len(problems) > 0 {
					err = problems.Err()
				}
			}
			switch problems, ok := err.(diag.Problems); {
			case ok:
				for _, p := range problems {
					got = append(got, fmt.Sprintf("%d:%d|%s|%s", p.Line, p.Column,
						strings.ReplaceAll(p.Message, dir+"/", ""), p.Hint))
				}
			case err != nil:
				t.Fatal(err, fault.HintOf(err))
			default:
				for _, r := range m.Resources {
					got = append(got, string(r.ID))
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
