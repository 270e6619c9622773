package jinja

import "testing"

// TestHeldRounds holds that what outlives a round of a loop sees the names of that round, and that
// a round does not see those of the one before.
func TestHeldRounds(t *testing.T) {
	const list = "{% set n = namespace(l=[]) %}"
	const call = "{% for m in n.l %}{{ m() }} {% endfor %}"
	for _, c := range []struct{ why, template, want string }{
		{"a macro of each round", list + "{% for x in [1, 2, 3] %}" +
			"{% macro m() %}{{ x }}{{ loop.index }}{% endmacro %}{% set n.l = n.l + [m] %}" +
			"{% endfor %}" + call, "13 23 33 "},
		{"a macro of some rounds, in a loop", list +
			"{% for x in [1, 2] %}{% for y in [3, 4] %}{% if x == 1 %}" +
			"{% macro m() %}{{ x }}{{ y }}{% endmacro %}{% set n.l = n.l + [m] %}" +
			"{% endif %}{% endfor %}{% endfor %}" + call, "13 14 "},
		{"a name that one round sets", "{% for x in [1, 2] %}" +
			"{% if x == 1 %}{% set y = 5 %}{% endif %}{{ y is defined }} {% endfor %}", "True False "},
		{"a loop that is called later", "{% set n = namespace() %}{% for x in [1, 2] %}" +
			"{% for y in [3] recursive %}{{ x }}{{ y }} " +
			"{% if x == 1 and n.f is not defined %}{% set n.f = loop %}{% endif %}" +
			"{% endfor %}{% endfor %}{{ n.f([7]) }}", "13 23 17 "},
		{"a caller", "{% macro w() %}{{ caller() }}{{ caller() }}{% endmacro %}" +
			"{% for x in [1, 2] %}{% call w() %}{{ x }}{% endcall %} {% endfor %}", "11 22 "},
	} {
		got, err := rendered(c.template, nil, Variables{})
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.why, got, err, c.want)
		}
	}
}
