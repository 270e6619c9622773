package paging

import (
	"cmp"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/api/wire"
	"southbound/shared/fault"
)

const (
	MaxItems = 5000
	MaxBytes = 3 << 20
)

// MaxCount is the number up to which the entries of a list are counted.
const MaxCount = 10_000

// Page is a part of a list. Next, if not empty, is the cursor of the following part.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
	Count *Count `json:"count,omitempty" doc:"present if the request has count=true"`
}

// Count is the number of entries of a list that match, on all pages.
type Count struct {
	Number int  `json:"number" maximum:"10000"`
	More   bool `json:"more" doc:"there are more than that number"`
}

// CountOf returns the count of a list of n entries.
func CountOf(n int) *Count { return &Count{min(n, MaxCount), n > MaxCount} }

// Query selects a page of a list.
type Query struct {
	Sort   string // a key of the list, with ".desc" in descending order; "": the list's own order
	Cursor string // Next of the previous page; "": the first page
	Limit  int    // 0: 1000
	Count  bool   // count the entries
}

// Values returns the parameters of a request for the page.
func (q *Query) Values() url.Values {
	v := url.Values{"limit": {strconv.Itoa(q.Size())}}
	if q.Sort != "" {
		v.Set("sort", q.Sort)
	}
	if q.Cursor != "" {
		v.Set("cursor", q.Cursor)
	}
	if q.Count {
		v.Set("count", "true")
	}
	return v
}

// Size returns the number of entries of a page.
func (q *Query) Size() int {
	if q.Limit == 0 {
		return 1000
	}
	return min(max(q.Limit, 1), MaxItems)
}

// SortedBy returns which of the keys of a list a request is sorted by, and whether in descending
// order. The first key is that of a request that names none.
func (q *Query) SortedBy(keys ...string) (key string, descending bool, err error) {
	key, descending = Descending(q.Sort, false)
	if key = cmp.Or(key, keys[0]); slices.Contains(keys, key) {
		return key, descending, nil
	}
	return "", false, fault.New(fault.Usage, "", "this list is not sorted by %.80q", q.Sort).
		WithHint("sort by %s", strings.Join(keys, ", "))
}

// OfList makes the page of a list that was read whole, in the order of a key that no two entries
// share.
func OfList[T any](list []T, key func(*T) string, name string, q Query) (Page[T], error) {
	_, descending, err := q.SortedBy(name)
	if err != nil {
		return Page[T]{}, err
	}
	compare := func(a, b string) int {
		if descending {
			a, b = b, a
		}
		return cmp.Compare(a, b)
	}
	slices.SortStableFunc(list, func(a, b T) int { return compare(key(&a), key(&b)) })
	after, err := keyOf(q.Cursor)
	p := NewPager[T](q.Size())
	for i := 0; err == nil && i < len(list); i++ {
		if q.Cursor != "" && compare(key(&list[i]), after) <= 0 {
			continue
		}
		var ok bool
		if ok, err = p.Add(list[i]); !ok && err == nil {
			p.Page.Next = keyMark + hex.EncodeToString([]byte(key(&list[i-1])))
			break
		}
	}
	if q.Count {
		p.Page.Count = CountOf(len(list))
	}
	return p.Page, err
}

// ByKey makes the page of a list after the key of a cursor, in the order of its keys.
func ByKey[T any](list []T, key func(*T) string, g KeyPaging, err error) (Page[T], error) {
	if err != nil {
		return Page[T]{}, err
	}
	return OfList(list, key, "", Query{Cursor: g.Cursor, Limit: g.Limit.Limit})
}

// keyOf returns the key of a cursor.
func keyOf(cursor string) (string, error) {
	digits, is := strings.CutPrefix(cursor, keyMark)
	after, wrong := hex.DecodeString(digits)
	if wrong != nil || is != (cursor != "") {
		return "", fault.New(fault.Usage, "", "this is not a cursor of this list")
	}
	return string(after), nil
}

// Limit is the number of items to return.
type Limit struct {
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"1000" doc:"number of items of a page; a page with a next may have fewer"`
}

// Counting is the part of a request for a list that asks for the number of entries.
type Counting struct {
	Count bool `query:"count" doc:"count the entries that match, up to 10000"`
}

// Paging pages through a list whose cursors are numbers.
type Paging struct {
	Limit
	Cursor string `query:"cursor" maxLength:"9" pattern:"^[0-9]+$" doc:"value of next of the previous page"`
}

// Pager makes pages of a bounded number of items and bytes.
type Pager[T any] struct {
	Page  Page[T]
	limit int
	bytes int
}

// Add adds an item, and reports whether it fit; if not, the page is full.
func (p *Pager[T]) Add(v T) (bool, error) {
	b, err := wire.Encode(v)
	if err != nil {
		return false, err
	}
	if len(p.Page.Items) == p.limit || p.bytes+len(b) > MaxBytes && p.bytes > 0 {
		return false, nil
	}
	p.bytes += len(b) + 1
	p.Page.Items = append(p.Page.Items, v)
	return true, nil
}

func NewPager[T any](limit int) *Pager[T] {
	return &Pager[T]{limit: min(max(limit, 1), MaxItems), Page: Page[T]{Items: []T{}}}
}

// KeyPaging pages through a list whose cursors are keys of items, so that unchanged items are
// neither skipped nor repeated while the list changes.
type KeyPaging struct {
	Limit
	Cursor string `query:"cursor" minLength:"3" maxLength:"20000" pattern:"^k([0-9a-f]{2})+$" patternDescription:"next of a page" doc:"value of next of the previous page"`
}

// keyMark is the prefix of a cursor that is a key. A cursor that is the number of an item, as an
// earlier server returned it, is rejected instead of being used as a key.
const keyMark = "k"

// ByKeys makes the page of a list after the key of a cursor; keys are those of its items, sorted.
func ByKeys[T any](
	list []T, keys []string, g KeyPaging, err error,
) (Page[T], error) {
	after, wrong := keyOf(g.Cursor)
	err = cmp.Or(err, wrong)
	p := NewPager[T](g.Limit.Limit)
	for i := 0; err == nil && i < len(list); i++ {
		if g.Cursor != "" && keys[i] <= after {
			continue
		}
		var ok bool
		if ok, err = p.Add(list[i]); !ok && err == nil {
			p.Page.Next = keyMark + hex.EncodeToString([]byte(keys[i-1]))
			break
		}
	}
	return p.Page, err
}

// FromNumber makes the page of a list that never changes. It begins at the number of an item.
func FromNumber[T any](list []T, g Paging, err error) (Page[T], error) {
	from := 0
	if g.Cursor != "" && err == nil {
		if from, err = strconv.Atoi(g.Cursor); err != nil || from < 0 {
			err = fault.New(fault.Usage, "", "this is not a cursor of this list")
		}
	}
	p := NewPager[T](g.Limit.Limit)
	for i := min(from, len(list)); err == nil && i < len(list); i++ {
		var ok bool
		if ok, err = p.Add(list[i]); !ok && err == nil {
			p.Page.Next = strconv.Itoa(i)
			break
		}
	}
	return p.Page, err
}
