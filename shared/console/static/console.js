// The script of the console. Every page works without it. It keeps regions current, speeds up forms,
// and adds comboboxes and keys. No text is interpreted as HTML but that of this server's own pages,
// by parse.
"use strict";
(() => {
const $ = (selector, from = document) => from.querySelector(selector);
const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];
const policy = window.trustedTypes ? trustedTypes.createPolicy("southbound", {createHTML: s => s}) : {createHTML: s => s};
const parse = text => new DOMParser().parseFromString(policy.createHTML(text), "text/html");
const make = (tag, attributes = {}, ...children) => {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
	e.append(...children);
	return e;
};

// ---- replacing regions: nodes that stay the same stay, so that focus, selection, open details,
// scroll positions and half-filled forms do
const changed = e =>
	e.type === "checkbox" || e.type === "radio" ? e.checked !== e.defaultChecked :
	e.tagName === "SELECT" ? e.selectedIndex !== Math.max(0, [...e.options].findIndex(o => o.defaultSelected)) :
	"defaultValue" in e && e.type !== "hidden" && e.value !== e.defaultValue;
const dirty = form => [...form.elements].some(e => changed(e) || e === document.activeElement && e.matches("input, select, textarea"));
const own = n => n.nodeType === 1 && n.hasAttribute("data-own"); // made by this script
const keyOf = n => n.nodeType === 1 ? n.id : "";
const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);

function morph(from, to) {
	if (from.nodeType !== 1) {
		if (from.data !== to.data) from.data = to.data;
		return;
	}
	if (from.tagName === "FORM" && dirty(from)) return;
	if (from.hasAttribute("data-enhanced")) return;
	for (const {name, value} of [...to.attributes])
		if (name !== "open" && from.getAttribute(name) !== value) from.setAttribute(name, value);
	for (const {name} of [...from.attributes])
		if (name !== "open" && name !== "tabindex" && name !== "class" && !to.hasAttribute(name)) from.removeAttribute(name);
	if (!to.hasAttribute("class") && from.classList.length && !from.matches(".chosen, .fresh")) from.removeAttribute("class");
	children(from, to);
}

function children(from, to) {
	const keyed = new Map();
	for (const n of from.childNodes) if (keyOf(n)) keyed.set(n.id, n);
	const held = from.tagName === "TBODY" ? hold(from, to) : new Set();
	const pushed = held.size ? pushedOff(from, to) : held;
	const skip = n => { while (n && own(n)) n = n.nextSibling; return n; };
	let at = skip(from.firstChild);
	for (const want of [...to.childNodes]) {
		const key = keyOf(want);
		if (held.has(key)) continue;
		if (at && at.nodeType === 1 && at.hasAttribute("data-enhanced")) { at = skip(at.nextSibling); continue; }
		let have = key ? keyed.get(key) : null;
		if (have && !alike(have, want)) have = null;
		if (!have && !key && at && alike(at, want)) have = at;
		if (!have) {
			const fresh = document.importNode(want, true);
			from.insertBefore(fresh, at);
			if (from.tagName === "TBODY" && fresh.classList) fresh.classList.add("fresh");
			enhance(fresh);
			continue;
		}
		if (have === at) at = skip(at.nextSibling);
		else if (from.moveBefore) from.moveBefore(have, at);
		else from.insertBefore(have, at);
		keyed.delete(key);
		morph(have, want);
	}
	while (at) {
		const next = skip(at.nextSibling);
		if (at.nodeType !== 1) at.remove();
		else if (pushed.has(at.id)) { /* read, and behind the end of the page since rows are new */ }
		else if (at.matches("form") && dirty(at) || $$("form", at).some(dirty)) { /* half-filled: it stays */ }
		else if (at.contains(document.activeElement)) leave(at);
		else at.remove();
		at = next;
	}
}

// leave removes a node that has the focus, and puts the focus on the region.
function leave(node) {
	const region = node.closest("[data-live]") || $("#main");
	node.remove();
	region.setAttribute("tabindex", "-1");
	region.focus({preventScroll: true});
}

// focusRow puts the focus on the first control of a row, or on the row.
function focusRow(row) {
	const to = $("a, button, input", row) || row;
	if (to === row) to.setAttribute("tabindex", "-1");
	to.focus({preventScroll: true});
}

// hold returns the ids of new first rows that are not inserted yet, because they would push what is
// read. A button shows them.
const shown = new WeakSet();
function hold(body, to) {
	const rows = [...body.rows].filter(r => r.id), ids = new Set(rows.map(r => r.id)), out = new Set();
	const table = body.closest("table"), region = body.closest("[data-live]");
	const reading = rows.length && (body.getBoundingClientRect().top < 0 || body.contains(document.activeElement) ||
		body.contains(getSelection().anchorNode) && !getSelection().isCollapsed);
	if (reading && !shown.has(body))
		for (const row of to.children) {
			if (ids.has(row.id)) break;
			if (row.id) out.add(row.id);
		}
	shown.delete(body);
	let button = $("button.newer", region);
	if (!out.size) { if (button) button.remove(); return out; }
	if (!button) {
		button = make("button", {type: "button", class: "newer", "data-own": ""});
		button.onclick = async () => {
			shown.add(body);
			etag = "";
			region.scrollIntoView({block: "start"});
			await refresh();
			if (body.rows.length) focusRow(body.rows[0]);
		};
		table.before(button);
	}
	button.textContent = (out.size === to.rows.length ? "More than " : "") + out.size + " new, show";
	return out;
}

// pushedOff returns the ids of the rows behind the last one that a list still has.
function pushedOff(body, to) {
	const kept = new Set([...to.rows].map(r => r.id)), rows = [...body.rows];
	return new Set(rows.slice(rows.findLastIndex(r => kept.has(r.id)) + 1).map(r => r.id).filter(Boolean));
}

function replace(text) {
	for (const want of $$("[data-live][id]", parse(text))) {
		const have = document.getElementById(want.id);
		if (have && alike(have, want)) morph(have, want);
		else if (!strange.has(want.id)) whole(want.id);
	}
}

// whole replaces the content of the page, because it has a region that is not shown yet: the first
// rows of a list, or the overview after the first export.
const strange = new Set(); // regions outside of the content
let renewing = false;
async function whole(id) {
	if (renewing) return;
	renewing = true;
	const mine = run;
	try {
		const res = await fetch(location.href, {cache: "no-store", signal: AbortSignal.timeout(9000)});
		const have = $("#main"), want = res.ok && !res.redirected && $("#main", parse(await res.text()));
		if (!want) throw new Error(res.statusText);
		const said = $("#message", have);
		if (said && !$("#message", want)) $("h1", want).after(document.importNode(said, true));
		children(have, want);
		if (!document.getElementById(id)) strange.add(id);
	} catch { // all regions are fetched again, and with them this one
		etag = "";
		setTimeout(() => mine === run && start(), 2000);
	} finally { renewing = false; }
}

// ---- live: a stream, or polling, and the corner that says which
const stream = document.body.dataset.stream, corner = $("#live"), every = 10_000, silent = 12_000;
let etag = document.body.dataset.digest, source = null, unlock = null, timer = 0, watchdog = 0;
let failures = 0, streamed = false, lostSince = "", busy = false, again = false, run = 0;

function say(state, text) {
	if (corner.dataset.state === state && corner.textContent === text) return;
	corner.dataset.state = state;
	corner.textContent = text;
}
const clock = () => new Date().toLocaleTimeString("en-GB");
const working = () => { lostSince = ""; say(source ? "live" : "poll", source ? "Live" : "Every 10 s"); };
const lost = why => { lostSince ||= clock(); say("lost", why || "Not connected since " + lostSince); };

// refresh fetches the regions of this page now. It returns whether the page is current.
async function refresh() {
	if (busy) { again = true; return true; }
	busy = true;
	const mine = run;
	try {
		const res = await fetch(location.href, {headers: {"X-Region": "*", ...etag && {"If-None-Match": `"${etag}"`}},
			cache: "no-store", signal: AbortSignal.timeout(9000)});
		// A proxy in front that knows no user any more may send a page of its own, which has no digest.
		if (res.status === 401 || res.ok && !res.headers.get("ETag")) { stop(); lost("Signed out: reload to sign in"); return true; }
		if (res.status !== 304 && !res.ok) throw new Error(res.statusText);
		if (res.ok) {
			const text = await res.text();
			if (mine !== run) return true;
			etag = (res.headers.get("ETag") || "").replaceAll('"', "");
			replace(text);
		}
		return true;
	} catch { return false; } finally {
		busy = false;
		if (again) { again = false; refresh(); }
	}
}

async function poll() {
	const mine = run, good = await refresh();
	if (mine !== run) return;
	if (good) {
		working();
		if (failures >= 2 && streamed) { failures = 0; connect(); return; }
	} else lost();
	clearTimeout(timer);
	timer = setTimeout(poll, good ? every : 4000);
}

// lock takes one of the four streams of this browser; null: none is free.
function lock() {
	if (!navigator.locks) return Promise.resolve(null);
	return new Promise(async done => {
		for (let i = 0; i < 4; i++) {
			const got = await new Promise(one => navigator.locks.request("southbound-live-" + i, {ifAvailable: true}, l => {
				if (!l) { one(false); return undefined; }
				return new Promise(free => one(free));
			}));
			if (got) { done(got); return; }
		}
		done(null);
	});
}

async function connect() {
	const mine = run;
	if (!unlock && window.EventSource) {
		const got = await lock();
		if (mine !== run) { if (got) got(); return; }
		unlock = got;
	}
	if (!unlock) { poll(); return; }
	let begun = false;
	source = new EventSource(stream + "&digest=" + (etag || ""));
	const alive = () => {
		begun = streamed = true;
		failures = 0;
		clearTimeout(watchdog);
		watchdog = setTimeout(broken, silent);
	};
	function broken() {
		if (mine !== run || !source) return;
		source.close();
		source = null;
		clearTimeout(watchdog);
		lost();
		if (begun) failures = Math.max(failures, 0);
		if (++failures < 2) { timer = setTimeout(() => mine === run && connect(), 500); return; }
		if (unlock) { unlock(); unlock = null; }
		poll();
	}
	source.addEventListener("tick", () => { alive(); working(); });
	source.addEventListener("lost", () => { alive(); lost(); });
	source.addEventListener("region", e => {
		alive();
		etag = e.lastEventId;
		replace(e.data);
		working();
	});
	source.onerror = broken;
	watchdog = setTimeout(broken, silent);
}

function stop() {
	run++;
	clearTimeout(timer);
	clearTimeout(watchdog);
	if (source) source.close();
	if (unlock) unlock();
	source = unlock = null;
	failures = 0;
}

function start() {
	stop();
	const mine = run;
	refresh().then(good => {
		if (mine !== run) return;
		if (!good) lost();
		connect();
	});
}

if (stream && $("[data-live][id]")) {
	document.addEventListener("visibilitychange", () => {
		if (document.hidden) { stop(); say("paused", "Paused"); } else start();
	});
	addEventListener("pagehide", stop);
	addEventListener("pageshow", e => { if (e.persisted) start(); });
	if (document.hidden) say("paused", "Paused");
	else connect();
}

// ---- forms
// hindrance returns why a form cannot be sent now; "": it can. So the page and what was typed stay if
// the server is gone, the session has ended, or the server would refuse a form of this size.
async function hindrance(form, button) {
	const about = $("footer a[href*='/about']"); // there is none without a session
	if (new URLSearchParams(new FormData(form, button)).toString().length > 4 << 20)
		return "It has more than 4 MB. Shorten it, and send it again.";
	try {
		const res = about && await fetch(about.href, {headers: {"X-Region": "*"}, cache: "no-store"});
		return res && res.status === 401 ? "You are signed out. Sign in in another tab, and send it again." : "";
	} catch { return "The console does not answer. Send it again when it does."; }
}

// tell writes above a form why it was not sent.
function tell(form, why) {
	const said = $(":scope > .problem[data-own]", form);
	if (said) said.remove();
	if (!why) return;
	const text = make("div", {class: "problem", role: "alert", tabindex: "-1", "data-own": ""},
		make("p", {}, make("b", {}, "This form was not sent."), " " + why + " What you typed is still here."));
	form.prepend(text);
	text.focus();
}

addEventListener("submit", async e => {
	const form = e.target, button = e.submitter, state = form.dataset.sent;
	if (form.method !== "post") return;
	form.dataset.sent = "1";
	if (state === "go") { setTimeout(() => delete form.dataset.sent, 3000); return; }
	e.preventDefault();
	if (state) return; // twice by a double click
	const y = scrollY, why = await hindrance(form, button);
	tell(form, why);
	if (!why && !(button && button.hasAttribute("data-swap"))) {
		form.dataset.sent = "go";
		if (!button || button.form === form) form.requestSubmit(button);
		return;
	}
	delete form.dataset.sent;
	if (why) return;
	try { // a button such as "add" changes the form, not the home
		const res = await fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form, button))});
		if (res.redirected) { location.assign(res.url); return; }
		const page = parse(await res.text()), main = $("#main", page);
		const next = document.importNode(main, true);
		$("#main").replaceWith(next);
		enhance(next);
		scrollTo(0, y);
		const focus = $("[autofocus]", next) || button.id && document.getElementById(button.id);
		if (focus) focus.focus();
	} catch { tell(form, "The console does not answer. Send it again when it does."); }
});
addEventListener("change", e => {
	const form = e.target.form;
	if (form && form.hasAttribute("data-auto")) form.requestSubmit();
});

// ---- combobox: an input with suggestions from its <datalist> or from a URL, and free text. A
// suggestion {label, value} shows the label and sends the value.
let combos = 0;
function combobox(input) {
	const url = input.dataset.comboboxUrl, id = "combo-" + ++combos, list = input.list;
	let all = list ? [...list.options].map(o => ({value: o.value, label: o.label || o.value, note: o.dataset.note || ""})) : [];
	const sent = make("input", {type: "hidden", name: input.name});
	const box = make("ul", {id, role: "listbox", class: "options", hidden: ""});
	const toggle = make("button", {type: "button", tabindex: "-1", "aria-hidden": "true"}, "▾");
	const label = input.labels && input.labels[0];
	if (label) box.setAttribute("aria-label", label.textContent);
	const wrap = make("span", {class: "combo", "data-enhanced": ""});
	const find = input.nextElementSibling; // the search without script
	if (find && find.name === "find") find.hidden = true;
	input.removeAttribute("pattern"); // of the value, and not of its label
	input.replaceWith(wrap);
	wrap.append(input, toggle, box, sent);
	sent.value = input.dataset.value ?? input.value;
	input.removeAttribute("list");
	input.removeAttribute("name");
	if (sent.value === input.value) { const o = all.find(o => o.value === input.value); if (o) input.value = o.label; }
	for (const [k, v] of Object.entries({role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list", autocomplete: "off"})) input.setAttribute(k, v);
	let hits = [], at = -1, waiting = 0, asked = 0;
	const open = on => {
		box.hidden = !on;
		input.setAttribute("aria-expanded", String(on));
		if (!on) { at = -1; input.removeAttribute("aria-activedescendant"); }
	};
	const choose = o => {
		input.value = o.label;
		sent.value = o.value;
		open(false);
		input.dispatchEvent(new Event("change", {bubbles: true}));
	};
	const mark = n => {
		at = n;
		[...box.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === n)));
		const li = n >= 0 && box.children[n];
		if (li) { input.setAttribute("aria-activedescendant", li.id); li.scrollIntoView({block: "nearest"}); } else input.removeAttribute("aria-activedescendant");
	};
	const show = found => {
		hits = found.slice(0, 200);
		box.replaceChildren(...hits.map((o, i) => {
			const li = make("li", {id: `${id}-${i}`, role: "option", "aria-selected": "false"}, o.label);
			if (o.note) li.append(make("small", {}, o.note));
			li.onmousedown = e => { e.preventDefault(); choose(o); };
			return li;
		}));
		if (!hits.length) box.append(make("li", {class: "none", role: "option", "aria-disabled": "true"}, "No suggestion: the text is used as it is"));
		at = -1;
		open(true);
	};
	const search = whole => {
		const words = whole ? [] : input.value.toLowerCase().split(/\s+/).filter(Boolean);
		if (!url) { show(all.filter(o => words.every(w => (o.label + " " + o.value + " " + o.note).toLowerCase().includes(w)))); return; }
		clearTimeout(waiting);
		waiting = setTimeout(async () => {
			const mine = ++asked, to = new URL(url, location.href);
			to.searchParams.set("q", whole ? "" : input.value);
			try {
				const res = await fetch(to, {headers: {Accept: "application/json"}});
				const found = res.ok ? await res.json() : [];
				if (mine === asked && document.activeElement === input) {
					all = found.map(o => ({value: String(o.value), label: o.label || String(o.value), note: o.note || ""}));
					show(all);
				}
			} catch { open(false); }
		}, 150);
	};
	input.addEventListener("input", () => {
		const o = all.find(o => o.label === input.value);
		sent.value = o ? o.value : input.value;
		search(false);
	});
	input.addEventListener("keydown", e => {
		const step = {ArrowDown: 1, ArrowUp: -1}[e.key];
		if (step && !e.altKey) {
			e.preventDefault();
			if (box.hidden) search(true);
			else if (hits.length) mark((at + step + hits.length) % hits.length);
		} else if (e.key === "Enter" && !box.hidden && at >= 0) { e.preventDefault(); choose(hits[at]); }
		else if (e.key === "Escape" && !box.hidden) { e.preventDefault(); e.stopPropagation(); open(false); }
	});
	input.addEventListener("blur", () => open(false));
	toggle.onmousedown = e => {
		e.preventDefault();
		input.focus();
		if (box.hidden) search(true); else open(false);
	};
}

// ---- what new nodes need
function enhance(root) {
	if (root.nodeType !== 1) return;
	for (const e of $$("input[data-combobox], input[data-combobox-url]", root)) combobox(e);
	for (const e of $$("[data-copy]", root)) {
		e.hidden = !navigator.clipboard;
		e.onclick = async () => {
			await navigator.clipboard.writeText(e.dataset.copy === "page" ? location.href : e.dataset.copy);
			const was = e.textContent;
			e.textContent = "Copied";
			setTimeout(() => { e.textContent = was; }, 1500);
		};
	}
}
enhance(document.body);

// ---- keys
let row = -1;
function go(step) {
	const rows = $$("table.list tbody tr").filter(r => r.id);
	if (!rows.length) return;
	const now = rows.findIndex(r => r.contains(document.activeElement));
	row = Math.max(0, Math.min(rows.length - 1, (now >= 0 ? now : row) + step));
	for (const r of $$("tr.chosen")) r.classList.remove("chosen");
	rows[row].classList.add("chosen");
	focusRow(rows[row]);
	rows[row].scrollIntoView({block: "nearest"});
}
addEventListener("keydown", e => {
	if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || e.defaultPrevented) return;
	const typing = e.target.closest && e.target.closest("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");
	if (e.key === "Escape" && document.activeElement) { document.activeElement.blur(); return; }
	if (typing) return;
	const act = {j: () => go(1), k: () => go(-1), "/": () => { const q = $("#q"); if (q) { q.focus(); q.select(); } },
		"?": () => { const about = $("footer a[href*='/about']"); if (about) about.click(); }}[e.key];
	if (act) { e.preventDefault(); act(); }
});
})();
