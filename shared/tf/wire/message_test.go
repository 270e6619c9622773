package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// made returns a message of fields.
func made(fields ...func(*message)) (m message) {
	for _, f := range fields {
		f(&m)
	}
	return m
}

func text(n protowire.Number, s string) func(*message) {
	return func(m *message) { m.text(n, s) }
}

func number(n protowire.Number, v int64) func(*message) {
	return func(m *message) { m.number(n, v) }
}

func sub(n protowire.Number, fields ...func(*message)) func(*message) {
	return func(m *message) { m.sub(n, made(fields...)) }
}

func read[T any](p Protocol, m message, f func(field) T) (T, error) {
	r := &reader{protocol: p}
	out := f(field{r: r, kind: protowire.BytesType, data: m})
	return out, r.err
}

// TestAttributeOfVersions pins the fields of an attribute whose numbers differ.
func TestAttributeOfVersions(t *testing.T) {
	t.Parallel()
	five := made(text(1, "a"), text(2, `"string"`), number(10, 1), text(11, "old"))
	six := made(text(1, "a"), sub(10, sub(1, text(1, "b"), text(2, `"bool"`)), number(3, 2)),
		number(11, 1), text(12, "old"))
	got, err := read(Protocol5, five, field.attribute)
	if diff := cmp.Diff(Attribute{Name: "a", Type: []byte(`"string"`), WriteOnly: true,
		DeprecationMessage: "old"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = read(Protocol6, six, field.attribute)
	if diff := cmp.Diff(Attribute{Name: "a", WriteOnly: true, DeprecationMessage: "old",
		Nested: &Object{Nesting: NestingList, Attributes: []Attribute{
			{Name: "b", Type: []byte(`"bool"`)}}}}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	m := made(number(1, 2), text(2, "Bad\xffname"), text(3, "because"),
		sub(4, sub(1, text(1, "parts")), sub(1, number(3, 2)), sub(1, text(2, "k")),
			sub(1, text(9, "later")), sub(1, text(1, "lost"))))
	got, err := read(Protocol6, m, field.diagnostic)
	want := Diagnostic{Severity: SeverityWarning, Summary: "Bad\uFFFDname", Detail: "because",
		Path: Path{{Kind: StepAttribute, Name: "parts"}, {Kind: StepIndex, At: 2},
			{Kind: StepKey, Name: "k"}, {Kind: StepUnknown}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	wrong := made(sub(4, sub(1, sub(3))))
	if _, err := read(Protocol6, wrong, field.diagnostic); err == nil {
		t.Error("a position that is a message is accepted")
	}
	for _, c := range []struct {
		of   []Diagnostic
		want bool
	}{{nil, false}, {[]Diagnostic{{Severity: SeverityWarning}}, false},
		{[]Diagnostic{{Severity: SeverityWarning}, {Severity: SeverityError}}, true},
		{[]Diagnostic{{}}, true}} {
		if Failed(c.of) != c.want {
			t.Errorf("%v failed: %t", c.of, !c.want)
		}
	}
}

// TestMalformed reads answers that no provider should send.
func TestMalformed(t *testing.T) {
	t.Parallel()
	deep := message(nil)
	for range 10 * maxDepth {
		deep = made(func(m *message) { m.sub(3, made(func(m *message) { m.sub(2, deep) })) })
	}
	for name, c := range map[string]struct {
		m    message
		want string
	}{
		"cut":             {message{0x0a, 0x05, 'a'}, "unexpected EOF"},
		"another type":    {made(number(1, 5)), "wire type"},
		"a deferred plan": {made(sub(6)), "defers"},
		"no tag":          {message{0xff}, "unexpected EOF"},
	} {
		if _, err := read(Protocol6, c.m, field.planAnswer); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read(Protocol6, deep, field.block); err != errDepth {
		t.Errorf("a deep schema: %v", err)
	}
}

// TestUnknownFieldsAreSkipped reads fields of all wire types that this client does not know.
func TestUnknownFieldsAreSkipped(t *testing.T) {
	t.Parallel()
	m := made(text(1, "x"), number(90, 7), text(91, "later"))
	m = protowire.AppendFixed32(protowire.AppendTag(m, 92, protowire.Fixed32Type), 1)
	m = protowire.AppendFixed64(protowire.AppendTag(m, 93, protowire.Fixed64Type), 1)
	m = protowire.AppendTag(protowire.AppendTag(m, 94, protowire.StartGroupType), 94,
		protowire.EndGroupType)
	m = append(m, made(text(2, `"bool"`))...)
	got, err := read(Protocol6, m, field.attribute)
	if err != nil || got.Name != "x" || string(got.Type) != `"bool"` {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzAnswers reads any bytes as answers: an error or a result, without a panic.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(made(sub(2, text(1, "x"), sub(2, number(1, 1), sub(2, sub(2, text(1, "a"))))))))
	f.Add([]byte(made(sub(1, text(1, "\xc0")), sub(2, sub(1, text(1, "a"))))))
	f.Fuzz(func(_ *testing.T, b []byte) {
		for _, p := range []Protocol{Protocol5, Protocol6} {
			_, _ = read(p, b, func(f field) Schemas { s, _ := f.schemas(); return s })
			_, _ = read(p, b, field.planAnswer)
			_, _ = read(p, b, field.applyAnswer)
			_, _ = read(p, b, field.importAnswer)
			_, _ = read(p, b, field.moveAnswer)
			_, _ = read(p, b, func(f field) Metadata { m, _ := f.metadata(); return m })
		}
	})
}
