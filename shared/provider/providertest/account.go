package providertest

import (
	"fmt"
	"maps"
	"slices"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/redact"
	"southbound/shared/resource"
	"strings"
	"sync"
)

// account is the output of a handler. It is safe for concurrent use.
type account struct {
	mu      sync.Mutex // guards the fields below
	lines   []provider.Line
	said    []saying // all output, in order
	changed map[string]diff.Diff
	facts   map[string]any
	secrets redact.Set
	// Output since forgetChanges:
	recent   map[string]diff.Diff
	override diff.Change
	// The latest choice of a provider:
	provider, why string
	kept          map[resource.ID][]byte
}

// saying is one output of a handler, and the call that made it. call is "" if the call is unknown.
type saying struct{ call, kind, text string }

// String names the output without its text.
func (s saying) String() string {
	if s.call == "" {
		return s.kind
	}
	return s.kind + " of " + s.call
}

// say records an output.
func (a *account) say(call, kind, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.said = append(a.said, saying{call, kind, text})
}

// Log implements provider.Host.
func (a *account) Log(line provider.Line) { a.log(line, "") }

func (a *account) log(line provider.Line, call string) {
	a.say(call, "a log line", textOf(line))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, line)
}

// sayings returns all output. It replaces secrets that the handler has declared, as the engine
// does.
func (a *account) sayings() []saying {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := slices.Clone(a.said)
	for i := range out {
		out[i].text = a.secrets.Clean(out[i].text, diff.Redacted)
	}
	return out
}

// textOf returns a log line as a text.
func textOf(l provider.Line) string {
	return fmt.Sprintf("%s %s %v", l.Level, l.Msg, provider.Plain(l.Kwargs))
}

// Changed implements provider.Host.
func (a *account) Changed(attribute string, d diff.Diff) { a.change(attribute, d, "") }

func (a *account) change(attribute string, d diff.Diff, call string) {
	a.say(call, "a change", fmt.Sprint(attribute, d))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed[attribute] = d
	a.recent[attribute] = d
}

// forgetChanges resets recentChanges and Overridden.
func (a *account) forgetChanges() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recent, a.override = map[string]diff.Diff{}, ""
}

func (a *account) recentChanges() map[string]diff.Diff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.recent)
}

// Fact implements provider.Host.
func (a *account) Fact(name string, value resource.Data) { a.fact(name, value, "") }

func (a *account) fact(name string, value resource.Data, call string) {
	a.say(call, "a fact", name+" "+value.Text())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.facts[name] = value.Value()
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
	a.say(call, "the reason for a provider", why)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.provider, a.why = name, why
}

// keepState records a state that a handler keeps. It may contain secrets, since it is stored sealed.
// Texts among its outputs are secrets of the host from then on.
func keepState(a *account, id resource.ID, state []byte, outputs map[string]any) error {
	v, err := resource.FromGo(outputs)
	encoded := []byte(nil)
	if err == nil && len(outputs) > 0 {
		encoded, err = resource.CanonicalValue(v)
	}
	switch n := len(state) + len(encoded); {
	case err != nil || len(resource.References(v)) > 0:
		return advise("keep texts, numbers, booleans, lists and maps", "the kept outputs are not JSON")
	case len(outputs) > 0 && len(state) == 0:
		return advise("keep a state with them", "outputs are kept without a state")
	case n > provider.MaxKept:
		return advise("keep less, or upload the rest",
			"the state that is kept has %d bytes, and %d is the maximum", n, provider.MaxKept)
	}
	for _, text := range textsIn(v) {
		a.Secret(text)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept == nil {
		a.kept = map[resource.ID][]byte{}
	}
	if a.kept[id] = state; len(state) == 0 {
		delete(a.kept, id)
	}
	return nil
}

// textsIn returns the texts in a value.
func textsIn(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, textsIn(e)...)
		}
		return out
	case map[string]any:
		return textsIn(slices.Collect(maps.Values(v)))
	}
	return nil
}

// Override implements provider.Host.
func (a *account) Override(change diff.Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.override = change
}

// Chosen returns the provider that was chosen last, and the reason.
func (a *account) Chosen() (name, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provider, a.why
}

// Overridden returns the change that the handler has set by SetChange, "" if it has not.
func (a *account) Overridden() diff.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.override
}

// Lines returns the logged lines, in order.
func (a *account) Lines() []provider.Line {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// AttributeChanges returns the changes that Context.Changed reported.
func (a *account) AttributeChanges() map[string]diff.Diff {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.changed)
}

// Facts returns the reported facts. Whole numbers are int64.
func (a *account) Facts() map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.facts)
}

// Output returns all output of the handler as one text. It replaces values that the handler
// declared secret through Context.Secret, as the engine does.
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
