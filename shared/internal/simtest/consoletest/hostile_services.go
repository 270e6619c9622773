package consoletest

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

// HostileService is the service that FillHostileServices offers.
const HostileService = "hostile"

// FillHostileServices offers a service made of attacks, with the lifecycle of the first service of a
// model: in its description and in the descriptions, annotations, defaults and rules of its attributes.
// It orders an instance whose identity, values, texts and reasons are attacks, and gives an order such a
// description. It returns the instance and the id of the order.
func (w *World) FillHostileServices(t testing.TB, model string) (instance orders.Instance, order string) {
	t.Helper()
	w.Offer(t, model)
	all, err := w.Own.Definitions().All(t.Context(), Env)
	if err != nil {
		t.Fatal(err)
	}
	attacks := Attacks()
	everything := strings.Join(attacks, "\n\n")
	s := definition.Service{Name: HostileService, Default: true, Lifecycle: all[0].Lifecycle,
		Description: &everything}
	values := map[string]any{}
	for i, text := range attacks {
		a := definition.Attribute{Name: fmt.Sprintf("a%02d", i), Description: &text, Type: "string",
			Modifier: definition.ReadWrite, Default: text, DefaultSet: true,
			Annotations: map[string]any{"web_title": text, "web_unit": text, "web_presentation": "unit", text: text}}
		switch i % 3 {
		case 1:
			delete(a.Annotations, "web_presentation")
			a.Annotations["web_suggested_values"] = map[string]any{"type": "literal",
				"values": []any{text, map[string]any{"label": text, "value": text}}}
		case 2:
			delete(a.Annotations, "web_presentation")
			a.Type, a.Default, a.DefaultSet = "dict", map[string]any{text: text}, true
		}
		s.Attributes = append(s.Attributes, a)
		values[a.Name] = a.Default
	}
	identity := s.Attributes[0].Name
	s.Identity, values[identity] = &identity, "\"><img src=x onerror="+Canary+"()>"
	s.Attributes = append(s.Attributes, definition.Attribute{Name: "documentation", Type: "string",
		Modifier: definition.ReadOnly, Default: everything, DefaultSet: true, Annotations: map[string]any{
			"web_presentation": "documentation", "web_title": attacks[0], "web_icon": attacks[0]}})
	if err := w.Own.Definitions().Put(t.Context(), Env, strings.Repeat("0", 64), append(all, s)); err != nil {
		t.Fatal(err)
	}
	i := w.Create(t, s.Name, values)
	o := w.Orders(t)
	for n, text := range attacks {
		if _, err := o.SetMetadata(t.Context(), Env, wish(&i), fmt.Sprintf("m%02d", n), &text); err != nil {
			t.Fatal(err)
		}
	}
	reason := wish(&i)
	reason.Message = everything[:4000]
	changed := map[string]any{"a01": attacks[len(attacks)-1], "a02": map[string]any{"x": attacks[len(attacks)-2]}}
	if _, err := o.Update(t.Context(), Env, reason, changed); err != nil {
		t.Fatal(err)
	}
	placed, err := o.Order(t.Context(), Env, orders.Order{Description: attacks[len(attacks)-1], Items: []orders.Item{
		{Name: "x", Service: "customer", Action: orders.ActionCreate,
			Attributes: map[string]any{"name": "globex", "contact": "g@example.com"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return i, placed.ID
}
