package console

import (
	"fmt"
	"time"
)

// timeView is a time for the template "time": in the zone of the page, with UTC as its title.
type timeView struct {
	Machine string // RFC 3339; "": there is no time
	Text    string
	UTC     string
	Ago     string // such as "3 min ago"; "": not shown
}

// time returns a time; the zero time is shown as a dash.
func (r *request) time(t time.Time) timeView {
	if t.IsZero() {
		return timeView{}
	}
	zone := r.zone()
	in, now := t.In(zone), r.now().In(zone)
	text := in.Format("2006-01-02 15:04:05")
	if in.YearDay() == now.YearDay() && in.Year() == now.Year() {
		text = in.Format("15:04:05")
	}
	return timeView{Machine: t.UTC().Format(time.RFC3339), Text: text,
		UTC: t.UTC().Format("2006-01-02 15:04:05 UTC")}
}

// timeAgo is time with the distance from now beside it.
func (r *request) timeAgo(t time.Time) timeView {
	v := r.time(t)
	if !t.IsZero() {
		v.Ago = distance(r.now().Sub(t))
	}
	return v
}

// distance returns the distance of a time from now in words. It has no seconds, so that a page that
// shows it stays the same for a minute.
func distance(d time.Duration) string {
	switch {
	case d < -time.Minute:
		return "in " + duration(-d)
	case d < 0:
		return "in less than 1 min"
	case d < time.Minute:
		return "less than 1 min ago"
	}
	return duration(d) + " ago"
}

// duration returns a duration in its largest unit.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// zone returns the time zone of the page.
func (r *request) zone() *time.Location { return r.in }

// zoneOf returns the time zone that a URL names (tz=UTC or tz=Europe/Brussels), otherwise that of this
// machine.
func zoneOf(name string) *time.Location {
	if name != "" && len(name) < 64 {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.Local
}

func zoneName(zone *time.Location, now time.Time) string {
	name, offset := now.In(zone).Zone()
	if offset == 0 && name == "UTC" {
		return "UTC"
	}
	return fmt.Sprintf("%s (UTC%+03d:%02d)", name, offset/3600, abs(offset)/60%60)
}

func abs(n int) int { return max(n, -n) }
