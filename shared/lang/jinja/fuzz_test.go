package jinja

import (
	"errors"
	"strings"
	"testing"
)

// FuzzTemplate holds that no template panics, hangs or makes an error without a line.
func FuzzTemplate(f *testing.F) {
	c := reference(f)
	for i := 0; i < len(c.Cases); i += 7 {
		f.Add(c.Cases[i].Template)
	}
	f.Add("{% for a in range(9999999999) %}{{ 'x' * 99999999999 }}{% endfor %}")
	f.Add("{{ " + strings.Repeat("(", 3000) + " }}")
	f.Add("{{ 9**(9**(9**9)) }}{{ '%99999999d' % 1 }}{{ '{:>99999999}'.format(1) }}")
	f.Add("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
	f.Add(
		"{% set l = [] %}{{ l.append(l) }}{{ l }}{{ l == l }}{{ l|tojson }}{{ l|pprint }}{{ " +
			"l|sort }}",
	)
	f.Fuzz(func(t *testing.T, template string) {
		out, err := rendered(template, c.Templates, variables(t, c.Context))
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Line < 1 || e.Reason == "") {
			t.Fatalf("an error without its place: %#v", err)
		}
		if len(out) > maxOutput {
			t.Fatalf("%d bytes of output", len(out))
		}
	})
}

func TestBounded(t *testing.T) {
	for _, k := range []struct{ template, reason, why string }{
		{"{% for a in range(5000000) %}{% for b in range(5000000) %}{% endfor %}{% endfor %}",
			"does not end", "loops in loops"},
		{"{{ 'x' * 999999999999 }}", "longer than", "a repeated string"},
		{"{{ [1] * 999999999999 }}", "longer than", "a repeated list"},
		{"{{ range(99999999999) }}", "more than", "a long range"},
		{"{{ 9**(9**9) }}", "too large", "a number"},
		{"{{ '%999999999d' % 1 }}", "wider than", "a width"},
		{"{{ '{:>999999999}'.format(1) }}", "wider than", "a width of a format"},
		{"{{ 'x'.ljust(999999999) }}", "longer than", "padding"},
		{"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested more than", "recursion"},
		{"{% set l = [] %}{{ l.append(l) }}{{ l }}", "too long", "a list that holds itself"},
		{"{% set l = [] %}{{ l.append(l) }}{{ l == [l] }}", "too deep",
			"comparing a list that holds itself"},
		{"{{ " + strings.Repeat("(", 3000) + "1", "nested more than", "brackets"},
		{"{{ " + strings.Repeat("-", 3000) + "1 }}", "nested more than", "signs"},
		{strings.Repeat("{% if 1 %}", 3000), "nested more than", "tags"},
		{"{% include 'self' %}", "nested more than", "a template that includes itself"},
		{"{% extends 'loop' %}", "nested more than", "a template that extends itself"},
		{"{% set ns = namespace(x='xx') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% " +
			"endfor %}", "longer than", "doubling"},
		{"{{ 'a' * 1000000 }}{{ ('a' * 1000000)|replace('a', 'b' * 1000000) }}", "longer than",
			"replacing"},
		{"\xff", "UTF-8", "bytes"},
	} {
		others := map[string]string{"self": "{% include 'self' %}", "loop": "{% extends 'loop' %}"}
		_, err := rendered(k.template, others, Variables{})
		if err == nil || !strings.Contains(err.Error(), k.reason) {
			t.Errorf("%s: %v, want %q", k.why, err, k.reason)
		}
	}
}
