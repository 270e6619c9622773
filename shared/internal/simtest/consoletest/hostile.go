package consoletest

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Canary is the function that every attack tries to call. Tests define it before a page's own
// scripts run.
const Canary = "canary"

// Attacks returns texts that would run script, load something, leave the page or change how it is
// read, if a page did not treat them as texts. They are for every place that a model, a host or a
// customer can write.
func Attacks() []string {
	call := Canary + "()"
	out := []string{
		"{{." + call + "}}", "{{constructor.constructor('" + call + "')()}}", "${" + call + "}",
		"javascript:" + call, "JaVaScRiPt:" + call, "java\tscript:" + call, "&#106;avascript:" + call,
		"data:text/html,<script>" + call + "</script>", "vbscript:" + call, "//evil.example/x",
		"\u202etxt.exe", "\u2066hidden\u2069", "a\u200fb", "\x1b[31mred", "\x1b]8;;javascript:" + call + "\x07x",
		"%3Cscript%3E" + call + "%3C/script%3E", "&lt;script&gt;" + call + "&lt;/script&gt;",
		"<!--><script>" + call + "</script>-->", "<![CDATA[<script>" + call + "</script>]]>",
		"<math><mtext></form><form><mglyph><style></math><img src onerror=" + call + ">",
		"<svg><style><img src=x onerror=" + call + "></style></svg>", "<svg><a xlink:href=javascript:" + call + "><text>x",
		"<template shadowrootmode=open><script>" + call + "</script></template>",
		"[x](javascript:" + call + ")", "![x](x\" onerror=\"" + call + ")", "<javascript:" + call + ">",
		"[x]: javascript:" + call, "```mermaid\ngraph TD; A[<img src=x onerror=" + call + ">]\n```",
		"```mermaid\n%%{init: {\"securityLevel\": \"loose\"}}%%\ngraph TD; A; click A call " + call + "\n```",
		"```setState\n{\"targetState\": \"<script>" + call + "</script>\", \"displayText\": \"x\"}\n```",
		strings.Repeat("<b>", 200), strings.Repeat("x", 2000),
	}
	for _, tag := range []string{
		"<script>" + call + "</script>", "<img src=x onerror=" + call + ">", "<svg onload=" + call + ">",
		"<iframe srcdoc='<script>parent." + call + "</script>'></iframe>", "<base href=//evil.example/>",
		"<meta http-equiv=refresh content='0;url=//evil.example/'>", "<link rel=stylesheet href=//evil.example/x.css>",
		"<form action=//evil.example/><button autofocus>x</button></form>", "<object data=javascript:" + call + "></object>",
		"<embed src=javascript:" + call + ">", "<video><source onerror=" + call + "></video>",
		"<details open ontoggle=" + call + ">", "<input autofocus onfocus=" + call + ">",
		"<style>@import '//evil.example/x.css'</style>", "<body onload=" + call + ">",
	} {
		out = append(out, tag, "\">"+tag, "'>"+tag+"</title></textarea></script></style>"+tag)
	}
	return out
}

// FillHostile makes Env of attacks: in the names and the reasons of resources, in the author and the
// message of the version, in parameters, and in messages of the audit.
func (w *World) FillHostile(t testing.TB) {
	t.Helper()
	var all []resource.Resource
	for i, text := range Attacks() {
		r := Null("web1", fmt.Sprintf("%d %s", i, text), "fail", text, "value", text)
		if i%2 == 1 {
			r.Requires = []resource.ID{all[i-1].ID}
		}
		all = append(all, r)
	}
	last := Attacks()[len(Attacks())-1]
	w.export(t, Env, deploy.Export{Origin: state.Origin{Author: last, Message: last}}, all)
	w.Deploy(t, Env)
	for i, text := range Attacks() {
		if _, err := w.Service.SetParameter(t.Context(), Env, fmt.Sprintf("p%d", i), text); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Service.SetParameter(t.Context(), Env, fmt.Sprintf("a%d", i), text); err != nil {
			t.Fatal(err)
		}
		if err := w.Service.Suggest(t.Context(), Env, fmt.Sprintf("p%d", i), []any{text}); err != nil {
			t.Fatal(err)
		}
	}
}
