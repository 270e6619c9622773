package paging

import (
	"cmp"
	"encoding/hex"
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

// Page is a part of a list. Next, if not empty, is the cursor of the following part.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Limit is the number of items to return.
type Limit struct {
	Limit int `query:"limit" minimum:"1" maximum:"5000" default:"1000" doc:"number of items of a page; a page with a next may have fewer"`
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

// ByKey makes the page of the items of a list after the key of a cursor, in the order of their
// keys.
func ByKey[T any](
	list []T, key func(*T) string, g KeyPaging, err error,
) (Page[T], error) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = key(&list[i])
	}
	return ByKeys(list, keys, g, err)
}

// ByKeys is pageBy for a list with the keys of its items, which are sorted.
func ByKeys[T any](
	list []T, keys []string, g KeyPaging, err error,
) (Page[T], error) {
	digits, is := strings.CutPrefix(g.Cursor, keyMark)
	after, wrong := hex.DecodeString(digits)
	if (wrong != nil || is != (g.Cursor != "")) && err == nil {
		err = fault.New(fault.Usage, "", "this is not a cursor of this list")
	}
	p := NewPager[T](g.Limit.Limit)
	for i := 0; err == nil && i < len(list); i++ {
		if g.Cursor != "" && keys[i] <= string(after) {
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
