package inventorytest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"southbound/shared/service/inventory"
)

// listed is the number of instances that lists are compared for, and queries is the number of these
// lists.
const listed, queries = 60, 150

// lists compares pages and counts of random queries with all records, after these were written,
// changed and deleted. Each record is written by one process, and listed by the other.
func (s *suite) lists() {
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]inventory.Record, listed)
	for i := range all {
		all[i] = record(i)
		all[i].Service = []string{"site", "lab"}[i%4/3]
		all[i].Created = began.Add(time.Duration(i/3) * time.Second) // some with equal times
		if i > 0 {
			all[i].Identity = fmt.Sprintf("%c%d", 'a'+random.IntN(4), i)
		}
		redo(random, &all[i])
		all[i] = s.put(all[i])
	}
	for range listed {
		i := random.IntN(listed)
		redo(random, &all[i])
		all[i] = s.put(all[i])
	}
	all[7].Identity = strings.Repeat("long", 200)
	all[7].Deleted = false
	all[7] = s.put(all[7])
	for range queries {
		s.list(randomQuery(random), all)
	}
}

// list compares the pages of a query and its counts with all records.
func (s *suite) list(q inventory.Query, all []inventory.Record) {
	s.Helper()
	want := []string{}
	var sorted []inventory.Position
	for i := range all {
		if q.Matches(&all[i]) {
			sorted = append(sorted, inventory.PositionOf(&all[i]))
		}
	}
	slices.SortFunc(sorted, func(a, b inventory.Position) int { return q.Compare(&a, &b) })
	for i := range sorted {
		want = append(want, sorted[i].ID)
	}
	what := fmt.Sprintf("%+v", q)
	s.same("count of "+what, inventory.Count{Total: len(want)}, s.count(q))
	got := []string{}
	for {
		page, err := s.h.B.Instances(s.ctx, env, q)
		if err != nil {
			s.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, ids(page)...)
		q.After = &page[len(page)-1]
		if len(got) > len(all) {
			break
		}
		s.same("ahead of "+what, inventory.Count{Total: len(want), Ahead: len(got)}, s.count(q))
		if len(page) < q.Limit {
			break
		}
	}
	s.same(what, want, got)
}

// redo changes what lists depend on.
func redo(random *rand.Rand, r *inventory.Record) {
	r.State = []string{"up", "failed", "start"}[random.IntN(3)]
	r.ServiceVersion = random.IntN(2)
	r.Deleted = random.IntN(5) == 0
	r.Updated = began.Add(time.Duration(random.IntN(20)) * time.Second)
	for _, set := range []*map[string]any{&r.Candidate, &r.Active, &r.Rollback} {
		if *set = nil; random.IntN(2) == 0 {
			*set = attributes(random)
		}
	}
}

// attributes returns a set of attributes of each kind.
func attributes(random *rand.Rand) map[string]any {
	out := map[string]any{
		"size": json.Number([]string{"2", "2.0", "-0.0", "0", "1e3", "12345678901234567890"}[random.IntN(6)]),
		"name": []string{"", "2", "a=b", "x" + strings.Repeat("long", 60)}[random.IntN(4)],
		"on":   random.IntN(2) == 0, "none": nil,
		"one":  map[string]any{"name": "inner"},
		"tags": []any{"a", nil, json.Number("7"), map[string]any{"a": "b"}}[random.IntN(4):],
	}
	if random.IntN(10) == 0 {
		var many []any
		for i := range 3 * inventory.MaxTerms {
			many = append(many, fmt.Sprint("tag", i))
		}
		out["tags"] = many
	}
	return out
}

func randomQuery(random *rand.Rand) inventory.Query {
	q := inventory.Query{
		Limit: []int{3, 7, 100}[random.IntN(3)], NewestFirst: random.IntN(2) == 0,
		Sort: []inventory.Sort{inventory.ByCreation, inventory.ByUpdate, inventory.ByState,
			inventory.ByIdentity, inventory.ByID}[random.IntN(5)],
		Deleted: random.IntN(3) == 0, OnlyDeleted: random.IntN(6) == 0,
		Service: []string{"", "site", "site", "lab", "nothing"}[random.IntN(5)],
		Name:    []string{"", "", "", "1", "a", "longlong", "%"}[random.IntN(7)],
	}
	if random.IntN(3) == 0 {
		q.States = []string{"up", "start"}[:1+random.IntN(2)]
	}
	if random.IntN(8) == 0 {
		q.Identity = []string{"a1", strings.Repeat("long", 200), "b2"}[random.IntN(3)]
	}
	if random.IntN(4) == 0 {
		q.Empty = inventory.Sets(random.IntN(8))
		q.NotEmpty = inventory.Sets(random.IntN(8))
	}
	if random.IntN(2) == 0 {
		q.Attributes = map[string]string{}
		for range 1 + random.IntN(2) {
			one := [][2]string{{"size", "2"}, {"size", "2.0"}, {"size", "0"}, {"size", "1000"},
				{"size", "12345678901234567890"}, {"name", ""}, {"name", "2"}, {"name", "a=b"},
				{"name", "x" + strings.Repeat("long", 60)}, {"on", "true"}, {"none", "null"},
				{"one", "map[name:inner]"}, {"tags", "a"}, {"tags", "7"}, {"tags", "null"},
				{"tags", "tag299"}, {"nothing", "1"}, {"tags", "NaN"}}[random.IntN(18)]
			q.Attributes[one[0]] = one[1]
		}
	}
	return q
}
