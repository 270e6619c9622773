package jinja

import "testing"

// longTemplate is what a server's configuration looks like; the bench program of the project
// renders the same with Jinja2.
const longTemplate = `# managed; do not edit
user {{ name }};
worker_processes {{ n }};
error_log /var/log/{{ name }}/error.log;
{% if yes %}
pid /run/{{ name }}.pid;
{% endif %}
events {
    worker_connections {{ n * 128 }};
}
http {
    include mime.types;
    default_type application/octet-stream;
    sendfile {{ 'on' if yes else 'off' }};
    {%- for h in hosts %}
    upstream {{ h.name }} {
        server {{ h.ip }}:{{ h.port }}{% if not h.up %} down{% endif %};
    }
    {%- endfor %}
    server {
        listen {{ hosts[0].port }};
        server_name {{ hosts|map(attribute='name')|join(' ') }};
        root /srv/{{ name|lower }};
        {% for k, v in d.items() -%}
        set ${{ k }} {{ v }};
        {% endfor -%}
        access_log {{ missing|default('/var/log/access.log') }};
    }
    # {{ text|upper }} {{ words|truncate(20) }}
    keepalive_timeout {{ (pi * 10)|int }};
}
`

func BenchmarkRender(b *testing.B) {
	vars := variables(b, reference(b).Context)
	tpl, err := (&Environment{}).New("t", longTemplate)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tpl.Render(vars); err != nil {
			b.Fatal(err)
		}
	}
}
