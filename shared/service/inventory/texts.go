package inventory

import "time"

// Texts are the trace and the output of the compile of an event. Stores keep them apart from the
// event, because they are removed after CompileKept and the event stays.
type Texts struct {
	Seq    int64     `json:"seq"` // of the event
	At     time.Time `json:"-"`   // of the event
	Trace  string    `json:"trace,omitempty"`
	Output string    `json:"output,omitempty"`
}

// Apart returns an event as stores keep it for good, and its texts; false if it has none.
func (e Event) Apart() (Event, Texts, bool) {
	c := e.Compile
	if c == nil || c.Trace == "" && c.Output == "" {
		return e, Texts{}, false
	}
	t := Texts{Seq: e.Seq, At: e.At, Trace: c.Trace, Output: c.Output}
	e.Compile = c.withoutTexts()
	return e, t, true
}

// With returns an event of Apart with its texts.
func (e Event) With(t Texts) Event {
	if e.Compile == nil {
		return e
	}
	c := *e.Compile
	c.Trace, c.Output, c.Removed = t.Trace, t.Output, false
	e.Compile = &c
	return e
}

// Shown returns an event as it is shown at a time: without texts that are older than CompileKept.
func (e Event) Shown(now time.Time) Event {
	if e.At.Before(TextsSince(now)) {
		e, _, _ = e.Apart()
	}
	return e
}

// withoutTexts returns a compile whose texts were removed.
func (c *Compile) withoutTexts() *Compile {
	return &Compile{DurationMS: c.DurationMS, Instances: c.Instances, Removed: true}
}

// TextsSince returns the time of the oldest events that still have their texts at a time.
func TextsSince(now time.Time) time.Time { return now.Add(-CompileKept) }

// Newest returns the time of the newest event of changes; zero if they have none. A store that expires
// texts during a Write uses this time and needs no clock.
func Newest(changes []Change) time.Time {
	var at time.Time
	for i := range changes {
		for _, e := range changes[i].Events {
			if e.At.After(at) {
				at = e.At
			}
		}
	}
	return at
}
