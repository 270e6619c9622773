package providertest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"strings"
	"sync"
)

// account is what a handler has said through its contexts. It is safe for concurrent use.
type account struct {
	mu      sync.Mutex // guards all that follows
	lines   []provider.Line
	in      []string // the calls that have logged lines
	others  []saying // what else was said
	changed map[string]diff.Diff
	facts   map[string]string
	secrets redact.Set
	// What was said of the run at hand.
	provider, why string
	override      diff.Change
	contradicts   bool                 // two changes were said to be what was done
	recent        map[string]diff.Diff // changed since forgetChanges
	claimed       map[string]diff.Diff // changed since forgetSaid
}

// saying is one thing that a handler has said or handed over, and the call in which it did, "" when
// that is not known.
type saying struct{ call, what, text string }

// String says what it is, without the text.
func (s saying) String() string {
	if s.call == "" {
		return s.what
	}
	return s.what + " of " + s.call
}

// Log implements provider.Host.
func (a *account) Log(line provider.Line) { a.log(line, "") }

func (a *account) log(line provider.Line, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines, a.in = append(a.lines, line), append(a.in, call)
}

// sayings returns all that was said, in which what was named as a secret is replaced, as the engine
// does.
func (a *account) sayings() []saying {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []saying
	for i, l := range a.lines {
		out = append(out, saying{a.in[i], "a log line", textOf(l)})
	}
	out = append(out, a.others...)
	for i := range out {
		out[i].text = a.secrets.Clean(out[i].text, diff.Redacted)
	}
	return out
}

// textOf returns a log line as a text.
func textOf(l provider.Line) string {
	kwargs := "?" // it has no form: another check says so
	if unrecordable(reflect.ValueOf(l.Kwargs), 0) != endless {
		kwargs = fmt.Sprint(l.Kwargs)
	}
	return fmt.Sprintf("%s %s %s", l.Level, l.Msg, kwargs)
}

// Changed implements provider.Host.
func (a *account) Changed(attribute string, d diff.Diff) { a.change(attribute, d, "") }

func (a *account) change(attribute string, d diff.Diff, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.others = append(a.others, saying{call, "a change", fmt.Sprint(attribute, d)})
	a.changed[attribute] = d
	if a.recent != nil {
		a.recent[attribute] = d
	}
	if a.claimed == nil {
		a.claimed = map[string]diff.Diff{}
	}
	a.claimed[attribute] = d
}

// forgetChanges begins a new account of recentChanges.
func (a *account) forgetChanges() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent = map[string]diff.Diff{}
}

func (a *account) recentChanges() map[string]diff.Diff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.recent)
}

// Fact implements provider.Host.
func (a *account) Fact(name, value string) { a.fact(name, value, "") }

func (a *account) fact(name, value, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.others = append(a.others, saying{call, "a fact", name + " " + value})
	a.facts[name] = value
}

// Secret implements provider.Host.
func (a *account) Secret(value string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.secrets.Add(value)
}

// Provider implements provider.Host.
func (a *account) Provider(name, why string) { a.choose(name, why, "") }

func (a *account) choose(name, why, call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.others = append(a.others, saying{call, "why a provider was chosen", why})
	a.provider, a.why = name, why
}

// Override implements provider.Host.
func (a *account) Override(change diff.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.contradicts = a.contradicts || a.override != "" && a.override != change
	a.override = change
}

// Chosen returns the provider that was chosen last, and why.
func (a *account) Chosen() (name, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provider, a.why
}

// Overridden returns what the handler said the run has done, "" when it did not.
func (a *account) Overridden() diff.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.override
}

// Lines returns what was logged, in order.
func (a *account) Lines() []provider.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// AttributeChanges returns what was reported through Context.Changed.
func (a *account) AttributeChanges() map[string]diff.Diff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.changed)
}

// Facts returns the facts that were reported.
func (a *account) Facts() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.facts)
}

// Output returns all that the handler said, as one text. What it named as a secret through
// Context.Secret is replaced, as the engine does.
func (a *account) Output() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for _, l := range a.lines {
		fmt.Fprintln(&b, textOf(l))
	}
	fmt.Fprintf(&b, "%v\n%v\n%s\n", a.changed, a.facts, a.why)
	out := b.String()
	return a.secrets.Clean(out, diff.Redacted)
}

// claimsOf returns what was changed since forgetSaid.
func claimsOf(a *account) map[string]diff.Diff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.claimed)
}

// forgetSaid begins a new account of what a handler says of one call.
func (a *account) forgetSaid() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.override, a.contradicts, a.claimed = "", false, nil
}
