package console

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/paging"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// pageRows is the number of rows of a list's page.
const pageRows = 50

// resourcesOf returns a page of the resources that match: those of several statuses with the worst
// first, others in order of id.
func resourcesOf(
	ctx context.Context, h api.Home, env string, sel *selection, cursor string, limit int,
) (paging.Page[api.Resource], error) {
	q := api.ResourcesQuery{Filter: sel.terms()}
	q.Cursor, q.Limit, q.Count = cursor, limit, !sel.empty()
	if len(sel.Status) != 1 {
		q.Sort = "status"
	}
	p, err := h.ResourcesPage(ctx, env, q)
	return p, unlessNone(err)
}

// unlessNone returns an error unless it says that the environment has nothing yet, for which lists
// have words of their own.
func unlessNone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// counted returns how many entries of a list match, for its pager.
func counted(rows int, c *paging.Count) string {
	switch {
	case c == nil || rows == 0:
		return ""
	case c.More:
		return number(rows) + " of more than " + number(c.Number)
	}
	return number(rows) + " of " + number(c.Number)
}

// resourceRef is a resource as pages show it: its type, agent and key apart, each cut in the middle
// if it is long.
type resourceRef struct {
	ID               resource.ID
	Type, Agent, Key string
	Whole            string // the id, visible
	URL              string
}

// maxPart is the length of a shown part of an id, in characters.
const maxPart = 60

// ref returns a resource as pages show it.
func (r *request) ref(id resource.ID) resourceRef {
	out := resourceRef{ID: id, Whole: line(cutEnd(string(id), 2000)), URL: r.url("resource", "id", string(id))}
	p, err := resource.ParseID(string(id))
	if err != nil {
		out.Key = cutMiddle(line(string(id)), maxPart)
		return out
	}
	var keys []string
	for _, k := range p.Keys {
		if len(p.Keys) == 1 {
			keys = append(keys, k.Value)
		} else {
			keys = append(keys, k.Name+"="+k.Value)
		}
	}
	out.Type, out.Agent = cutMiddle(line(p.Type), maxPart), cutMiddle(line(p.Agent), maxPart)
	out.Key = cutMiddle(line(strings.Join(keys, ", ")), maxPart)
	return out
}

// refs returns the first resources of a list as pages show them, and how many it leaves out.
func (r *request) refs(ids []resource.ID, limit int) (out []resourceRef, more int) {
	for _, id := range ids[:min(limit, len(ids))] {
		out = append(out, r.ref(id))
	}
	return out, len(ids) - len(out)
}

// cutMiddle returns at most limit characters of a text: its beginning and its end.
func cutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	c := []rune(s)
	if len(c) <= limit {
		return s
	}
	head := (limit - 1) / 2
	return string(c[:head]) + "…" + string(c[len(c)-(limit-1-head):])
}

// reasonRoom returns how many characters of a reason a row shows: long ids leave less room, so that
// a page of 50 rows stays small. The page of the resource or action shows the whole reason.
func reasonRoom(id resource.ID) int { return max(40, 156-len(id)) }

// rowID returns the id of the element that shows something, which stays the same while it is shown.
func rowID(prefix, key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // it never fails
	return prefix + strconv.FormatUint(h.Sum64(), 36)
}

// shorten returns a text on one line of at most limit characters.
func shorten(s string, limit int) string {
	return diffview.Visible(cutEnd(strings.Join(strings.Fields(cutEnd(s, 4*limit)), " "), limit), "")
}

// took returns how long something took, for people; "" for less than a millisecond.
func took(from, to time.Time) string {
	d := to.Sub(from)
	switch s := int(d.Round(time.Second).Seconds()); {
	case d < time.Millisecond:
		return ""
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
	}
}
