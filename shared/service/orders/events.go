package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"southbound/shared/service/callback"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Event is an event of an instance in the form of the API.
//
// Large: it is an object of the API, with the names that clients know.
type Event struct {
	ID       string    `json:"id"`
	Instance string    `json:"service_instance_id"`
	Service  string    `json:"service_entity"`
	Seq      int64     `json:"seq" doc:"its place among the events of the instance"`
	At       time.Time `json:"timestamp"`
	Version  int64     `json:"service_instance_version" doc:"that the instance had afterwards"`
	Type     string    `json:"event_type" doc:"in the words of the public clients"`
	// Trigger is the native kind of the event: the trigger of a transfer, or another kind.
	Trigger lifecycle.Trigger `json:"trigger"`
	From    *string           `json:"source" doc:"null: it was made, or stays in its state"`
	To      *string           `json:"destination" doc:"null: it stays in its state"`
	Error   bool              `json:"is_error_transition"`
	Ignored bool              `json:"ignored_transition" doc:"always false"`
	// Severity is 20 (INFO), or 40 (ERROR) for failures.
	Severity     int    `json:"severity"`
	SeverityText string `json:"severity_text"`
	Message      string `json:"message"`
	// Correlation is equal for the events of one version of the instance.
	Correlation string  `json:"event_correlation_id"`
	Compile     *string `json:"id_compile_report" doc:"always null"`
	// More holds further data of the event, for example problems with their places.
	More json.RawMessage `json:"more,omitempty"`
	// Ran is the compile that the event follows from.
	Ran *inventory.Compile `json:"compile,omitempty" doc:"the compile that it follows from"`
}

// The severities of events.
const (
	severityInfo  = 20
	severityError = 40
)

// events is the namespace of event ids, which derive from the instance and the number of the event.
var events = uuid.MustParse("5c9f0e0a-7a53-4d1c-9f0e-2b7d6c1a4e55")

func derived(text string) string { return uuid.NewSHA1(events, []byte(text)).String() }

// eventOf returns an event in the form of the API.
func (s *views) eventOf(instance, service string, e *inventory.Event) Event {
	shown := e.Shown(s.now())
	e = &shown
	out := Event{
		ID:       derived(fmt.Sprintf("%s/%d", instance, e.Seq)),
		Instance: instance, Service: service, Seq: e.Seq, At: e.At, Version: e.Version,
		Type: callback.Word(e.Kind), Trigger: lifecycle.Trigger(e.Kind), From: orNil(e.From),
		To: orNil(e.To), Error: e.Error, Severity: severityInfo, SeverityText: "INFO",
		Message: e.Message, More: e.More, Ran: e.Compile,
		Correlation: derived(fmt.Sprintf("%s/version/%d", instance, e.Version)),
	}
	if e.Error {
		out.Severity, out.SeverityText = severityError, "ERROR"
	}
	return out
}

// Entered reports whether the instance has entered the state To. Requests have no To.
func (e *Event) Entered() bool { return e.To != nil }

// EventQuery selects events of an instance.
type EventQuery struct {
	Place
	// Descending returns the newest events first.
	Descending bool
	// Sources, Destinations and Types are lists of allowed values; an empty list allows all.
	Sources, Destinations, Types []string
	// Versions and Times are limits, such as ge:4 and lt:2026-05-01+12:00:00. An event has to
	// satisfy all of them.
	Versions, Times []string
}

// EventPage is a page of the events of an instance.
type EventPage = Part[Event]

// Events returns events of an instance, at most inventory.MaxPage of them.
func (s *views) Events(
	ctx context.Context, env string, ref Ref, q EventQuery,
) (EventPage, error) {
	versions, err := limitsOf(q.Versions, numberOf)
	if err != nil {
		return EventPage{}, err
	}
	times, err := TimesWithin(q.Times)
	if err != nil {
		return EventPage{}, err
	}
	seq := func(e *Event) int64 { return e.Seq }
	w, err := numbered(&q.Place, inventory.Page(q.Limit), q.Descending, seq)
	if err != nil {
		return EventPage{}, err
	}
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return EventPage{}, err
	}
	all, err := s.happened(ctx, env, &r)
	if err != nil {
		return EventPage{}, err
	}
	if q.Descending {
		slices.Reverse(all)
	}
	for _, e := range all {
		if q.wants(&e) && withinLimits(versions, e.Version) && times(e.At) {
			w.add(e)
		}
	}
	return partOf(w, &q.Place, seq), nil
}

// happened returns all events of an instance, oldest first.
func (s *views) happened(
	ctx context.Context, env string, r *inventory.Record,
) ([]Event, error) {
	var out []Event
	for after := int64(0); ; after = out[len(out)-1].Seq {
		page, err := s.Instances.Events(ctx, env, r.ID, after, inventory.MaxPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			out = append(out, s.eventOf(r.ID, r.Service, &page[i]))
		}
		if len(page) < inventory.MaxPage {
			return out, nil
		}
	}
}

// wants reports whether the lists of a query allow an event.
func (q *EventQuery) wants(e *Event) bool {
	among := func(all []string, one *string) bool {
		return len(all) == 0 || one != nil && slices.Contains(all, *one)
	}
	return among(q.Sources, e.From) && among(q.Destinations, e.To) && among(q.Types, &e.Type)
}
