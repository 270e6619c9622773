package engine

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sourceMutant is a fault in the source of the engine, where no port lies that a mutant could wrap:
// old, which stands in file just once, becomes new. In new, mutating(name) reports whether it is in
// force.
type sourceMutant struct {
	name, why string
	file      string
	old, new  string
	check     string // "": any
	focus     string // in which it is looked for; "": in any seeds
	within    int    // so many seeds
}

// sourceMutants are changes of the engine that once were found by nothing.
func sourceMutants() []sourceMutant {
	return []sourceMutant{
		{"FactsOrderNothing", "a reference to a fact is no requirement", "model/relate.go",
			"for _, f := range r.Facts() {\n\t\trequire(",
			"for _, f := range r.Facts() {\n\t\tif mutating(\"FactsOrderNothing\") {\n\t\t\tbreak\n" +
				"\t\t}\n\t\trequire(", "V1", "facts", 100},
		{"FactsReadOnce", "a run reads the facts of its resource only if somebody waits for them",
			"worker/group.go", "Facts: c.row.AskedForFacts(),",
			`Facts: c.row.AskedForFacts() && (c.row.WantFacts() || !mutating("FactsReadOnce")),`,
			"", "facts", 100},
		{"MembersSame", "a fact of which only members have changed counts as the same",
			"worker/facts.go", "is && was.Same(value) {",
			`is && (was.Same(value) || mutating("MembersSame") && !value.IsText()) {`, "followed",
			"facts", 100},
		{"PathIgnored", "a reference into a fact gets the whole fact", "planner/attributes.go",
			"if part, err := r.In(v.Value()); err == nil {",
			"if part, err := r.In(v.Value()); err == nil {\n\t\t\t\tif " +
				"mutating(\"PathIgnored\") {\n\t\t\t\t\tpart = v.Text()\n\t\t\t\t}", "",
			"facts", 100},
		{"FollowUpUnseen", "a follow-up that schedules resources leaves the number of the schedule",
			"planner/outbox.go", "facts && !hasWrites(p.planning) {",
			`facts && !hasWrites(p.planning) || mutating("FollowUpUnseen") {`, "", "facts", 300},
		{"PurgeWaits", "a purge waits for facts that its handler does not need",
			"planner/attributes.go", "if r.Purged && !findsObject(t, name) && awaitsRuns(resolved) {",
			`if r.Purged && !mutating("PurgeWaits") && !findsObject(t, name) && awaitsRuns(resolved) {`, "D4",
			"kept", 600},
		{"NowhereKept", "a resource keeps the value of a path that leads nowhere now",
			"planner/rowvalues.go", "case misfit != \"\":",
			`case misfit != "" && !mutating("NowhereKept"):`, "followed", "facts", 200},
		{"FirstPartAsked", "a text of parts is resolved again only for its first reference",
			"planner/rowvalues.go", "slices.ContainsFunc(refs, o.isAbout)) {",
			"slices.ContainsFunc(refs, o.isAbout) &&\n\t\t\t(!mutating(\"FirstPartAsked\") || " +
				"o.about == nil || o.isAbout(refs[0]))) {", "", "facts", 500},
		{"HalfKnown", "a resource runs once some of its references are known", "planner/rowvalues.go",
			"missing := model.Missing(now.Attributes)\n",
			"missing := model.Missing(now.Attributes)\n\tif mutating(\"HalfKnown\") &&\n\t\t" +
				"len(missing) < len(model.Missing(res.Attributes)) {\n\t\tmissing = nil\n\t}\n",
			"", "outputs", 300},
		{"AwaitsAnother", "a plan names another value than the one for which a resource waits",
			"planner/steps.go", "facts, _ := Awaits(res.Attributes)\n",
			"facts, _ := Awaits(res.Attributes)\n\tif mutating(\"AwaitsAnother\") {\n" +
				"\t\tfacts = []AwaitedFact{{Fact: \"none\", Of: now.ID}}\n\t}\n",
			"kept", "rooms", 300},
		{"BlockedRuns", "a plan runs what requires a resource that stays undefined",
			"planner/awaited.go", "runs = runs && (known || !waited)",
			"runs = runs && (known || !waited || mutating(\"BlockedRuns\"))", "kept", "rooms", 300},
		{"DryLearnsAll", "a dry run takes each fact for one that a deploy learns", "waiting.go",
			"if !known || of.Failed {", "if mutating(\"DryLearnsAll\") {\n\t\treturn true\n\t}\n" +
				"\tif !known || of.Failed {", "dry", "facts", 300},
		{"OnePage", "a reader of all rows stops after the first page", "state/client.go",
			"if len(rows) < c.Page {",
			`if len(rows) < c.Page || mutating("OnePage") {`, "", "", 100},
		{"RemovalsWait", "a check of everything leaves out what could not be purged until now",
			"planner/planner.go", "if err != nil || !slices.Contains(graph.Removing, true) {",
			"if err != nil || !slices.Contains(graph.Removing, true) || " +
				`mutating("RemovalsWait") {`, "D7", "", 1500},
		{"LastChunkShared", "the last chunk of a version counts as that of the one before",
			"version/chunk.go", "for _, h := range b {\n\t\tif in[h] {",
			"for i, h := range b {\n\t\tif in[h] || mutating(\"LastChunkShared\") " +
				"&& i > 0 && i == len(b)-1 {", "", "", 50},
		{"OthersResolved", "a partial export resolves what it is not about", "planner/merge.go",
			"if !mg.pl.Checker.Gathers(r) {",
			`if !mg.pl.Checker.Gathers(r) && !mutating("OthersResolved") {`, "V1", "", 1000},
		{"OwnKept", "a partial export keeps values that are not known any more",
			"planner/replaced.go", "if had && was.Same(en) && !lost[en.ID] {",
			`if had && was.Same(en) && (!lost[en.ID] || mutating("OwnKept")) {`, "D4", "unset",
			300},
		{"PurgesDryAsWritten", "a dry run has things that are purged wait as if they were made",
			"dryrun.go", "\tg := version.NewGraph(", "\tif mutating(\"PurgesDryAsWritten\") {\n" +
				"\t\tpurged = nil\n\t}\n\tg := version.NewGraph(", "dry", "", 2000},
		{"NotifiesFirst", "others are notified before what notices announce is stored",
			"worker/results.go", "\tr.unrecorded++\n\tcommitted, err :=",
			"\tif mutating(\"NotifiesFirst\") {\n\t\tr.notices.send(ctx, r.Client, r.env)\n\t}\n" +
				"\tr.unrecorded++\n\tcommitted, err :=", "late", "chains", 600},
		{"ClaimsTooSoon",
			"what is next is claimed before what follows from the batch before it is planned",
			"worker/claim.go", "if len(of.Rows) > 0 ||",
			`if len(of.Rows) > 0 && !mutating("ClaimsTooSoon") ||`,
			"", "", 300},
		{"ClaimsLate", "what is next is claimed although the time is up", "worker/claim.go",
			"|| !now.Before(r.until) ||", `|| !now.Before(r.until) && !mutating("ClaimsLate") ||`,
			"until", "short", 20},
		{"HeldStarts", "what a release schedules starts before all of it is written",
			"state/environment.go", "return e.Releasing != 0 &&",
			`return e.Releasing != 0 && !mutating("HeldStarts") &&`, "D1", "half", 400},
		{"MovedPurged", "what is moved is purged as if it left", "planner/moves.go",
			"if takes || !shared {",
			`if (takes || !shared) && !mutating("MovedPurged") {`, "", "labels", 100},
		{"MovedRuns", "what is moved starts while a run of its old id is under way", "worker/queue.go",
			"|| slices.ContainsFunc(r.EarlierIDs(), q.isOpen) {",
			`|| !mutating("MovedRuns") && slices.ContainsFunc(r.EarlierIDs(), q.isOpen) {`, "", "labels",
			4000},
		{"ClaimsMoved", "a moved row is claimed although its former id may be running at its agent",
			"worker/claim.go", "if slices.ContainsFunc(next,",
			`if !mutating("ClaimsMoved") && slices.ContainsFunc(next,`, "", "agents", 4000},
		{"MovedElsewhere", "a moved row starts while its former id is running at its agent",
			"worker/holding.go", "out[r.ID] = fate{f.runs || held,",
			`out[r.ID] = fate{f.runs || held && !mutating("MovedElsewhere"),`, "", "agents", 4000},
		{"MovedStale", "what was recorded while a release was planned is lost by a move",
			"planner/commit.go", "moveAgain(ctx, p, first, done.Conflicts)",
			"moveAgain(ctx, p, first, map[bool][]state.Row{false: done.Conflicts}" +
				"[mutating(\"MovedStale\")])", "", "labels", 2000},
		{"NoRoom", "what takes the place of something does not wait until that is gone",
			"planner/room.go",
			"if id, ok := left[of]; ok {", `if id, ok := left[of]; ok && !mutating("NoRoom") {`, "",
			"rooms", 100},
		{"NeverSuperseded", "what is scheduled once more counts as failed for what requires it",
			"worker/requirements.go",
			"\tif c.node < 0 {\n\t\treturn false\n\t}\n\treturn " +
				"slices.ContainsFunc(p.graph.Requires(c.node)",
			"\tif c.node < 0 || mutating(\"NeverSuperseded\") {\n\t\treturn false\n\t}\n\treturn " +
				"slices.ContainsFunc(p.graph.Requires(c.node)",
			"D6", "failures", 750},
		{"AlwaysAnew", "what runs is asked for anew though it has waited for what is to run again",
			"step/finished.go", "case r.Ticket() == 0:",
			`case r.Ticket() == 0 || mutating("AlwaysAnew"):`,
			"reasons", "recalled", 500},
		{"ObservedNewest", "a result answers a request that was made while it ran",
			"step/finished.go", "max(r.Observed, e.Claimed.Generation), false, r.Moves",
			"max(r.Observed, e.Claimed.Generation,\n\t\tmap[bool]int64{true: r.Generation}" +
				"[mutating(\"ObservedNewest\")]), false, r.Moves", "", "", 300},
		{"StaleNotUnskipped",
			"what was skipped because of a result that does not count is not woken",
			"step/finished.go", "\treturn append(e.unskip(r), Stale{})",
			"\tif mutating(\"StaleNotUnskipped\") {\n\t\treturn []Effect{Stale{}}\n\t}\n" +
				"\treturn append(e.unskip(r), Stale{})",
			"D6", "freed", 300},
		{"OutcomesKept", "the outcome of another intent counts", "state/row_says.go",
			"r.Ran == r.Hash &&",
			`(r.Ran == r.Hash || mutating("OutcomesKept")) &&`, "", "", 100},
		{"EqualIsBefore", "of two equal times the change counts as the earlier",
			"state/row_says.go", "!o.ChangedAt.Before(succeeded)",
			`(o.ChangedAt.After(succeeded) || o.ChangedAt.Equal(succeeded) && ` +
				`!mutating("EqualIsBefore"))`, "D4", "instant", 100},
		{"OldConnection", "a connection is kept when its agent is reached in another way",
			"run/session.go", "return !s.connected ||",
			`return !s.connected || mutating("OldConnection") ||`,
			"transport", "hosts", 150},
		{"PlanNotCompared", "an export does what its plan does not say", "planner/limits.go",
			"if s.digest(p.plan) != x.Expect {",
			`if s.digest(p.plan) != x.Expect && !mutating("PlanNotCompared") {`, "kept", "kept",
			200},
		{"PlanRefused", "an export is refused although nothing has moved", "planner/steps.go",
			"slices.Sort(s.marks)",
			`slices.Sort(s.marks)
	if mutating("PlanRefused") {
		s.marks = append(s.marks, p.pl.NewID())
	}`, "kept", "kept", 50},
		{"OneMore", "one more may be deleted than the limit says", "planner/limits.go",
			"n >= 0 && len(deleted) > n {",
			`n >= 0 && len(deleted) > n && !(mutating("OneMore") && len(deleted) == n+1) {`, "kept",
			"kept", 150},
		{"RefusedTooLate", "an export is stored before it is refused", "planner/exporting.go",
			"	if err := f.guard(ctx, x, next.fresh); err != nil " +
				"{\n\t\treturn Exported{}, err",
			"	if err := f.guard(ctx, x, next.fresh); err != nil " +
				"{\n\t\tif mutating(\"RefusedTooLate\") {\n\t\t\t_ = " +
				"p.commitAll(ctx)\n\t\t}\n\t\treturn Exported{}, err",
			"", "kept", 100},
		{"LaterFree", "what is deleted once something is known does not count", "planner/limits.go",
			"|| w.Replace || w.Deletes {",
			`|| w.Replace || w.Deletes && !mutating("LaterFree") {`, "kept", "kept", 1300},
		{"AppliedStays",
			"a plan is carried out once more after an earlier version was put in force",
			"planner/release.go", `p.env.Applied = ""`,
			`p.env.Applied = map[bool]string{true: p.env.Applied}[mutating("AppliedStays")]`,
			"kept", "kept", 600},
		{"FilterWide", "a filter selects what is at other agents, too", "state/filter.go",
			"case len(f.Agents) > 0 && !slices",
			`case len(f.Agents) > 0 && !mutating("FilterWide") && !slices`, "order", "filtered",
			100},
		{"FilterShort", "a request asks for the first that its filter selects",
			"planner/requests.go", "if r.Runnable() && req.Filter.Match(r) {",
			`if r.Runnable() && req.Filter.Match(r) && !(mutating("FilterShort") && len(p.order) > 0) {`, "order", "filtered", 100},
		{"OldTransport", "that an agent has another transport is not looked at", "state/agents.go",
			"x.Transport == y.Transport",
			`(x.Transport == y.Transport || mutating("OldTransport"))`, "", "hosts", 150},
		{"ReachNotChecked", "a type comes to an agent over a transport that is not for it",
			"model/reach.go", "!described && !closed || t.Reached(transport)",
			`!described && !closed || mutating("ReachNotChecked") || t.Reached(transport)`, "",
			"hosts", 250},
		{"ChecksAll", "the last wave has what is at all agents checked", "planner/target.go",
			"len(agents) > 0 && !slices.Contains(agents,",
			`len(agents) > 0 && !mutating("ChecksAll") && !slices.Contains(agents,`,
			"", "waved", 100},
		{"OldList", "a list serves whoever asks for it", "run/listing.go",
			"return l.count > n.Count &&",
			`return mutating("OldList") || l.count > n.Count &&`, "list", "listed", 100},
		{"ListBeforeTicket", "a list serves what was asked for after it was made", "run/listing.go",
			"if ticket <= t.ticket {", `if ticket <= t.ticket || mutating("ListBeforeTicket") {`,
			"list", "listed", 250},
		{"ListBeforeChange", "a list serves what the session has changed since", "run/listing.go",
			"	if len(l.kept) == 0 {\n\t\treturn // later lists",
			"	if len(l.kept) == 0 || mutating(\"ListBeforeChange\") {\n\t\treturn // later lists",
			"list", "listed", 100},
		{"ListBeforeRequired", "a list serves though what is required has changed elsewhere since",
			"worker/needs.go", "case r.LastAt.After(n.At):",
			`case r.LastAt.After(n.At) && !mutating("ListBeforeRequired"):`,
			"list", "listed", 250},
		{"ListAgain", "what there is is listed for each batch", "run/listing.go",
			"if list == nil || !list.serves(r.host.need) {",
			`if list == nil || mutating("ListAgain") && !list.failed || !list.serves(r.host.need) {`, "list", "shelved", 200},
		{"ListAfterFailure", "what could not be listed is listed again", "run/listing.go",
			"kept.begin(r.typ.Name, x.Runner.Clock.Now()).failed = true",
			`kept.begin(r.typ.Name, x.Runner.Clock.Now()).failed = !mutating("ListAfterFailure")`,
			"list", "shelved", 500},
		{"HalfAList", "what a list that fails has not shown counts as absent", "run/listing.go",
			"err = got.err\n", "if !mutating(\"HalfAList\") {\n\t\t\terr = got.err\n\t\t}\n",
			"list", "shelved", 200},
		{"ListNotTold", "nothing says that there is no list", "run/listing.go",
			"if x.lost != nil || ctx.Err() != nil {",
			`if x.lost != nil || ctx.Err() != nil || mutating("ListNotTold") {`, "list", "shelved",
			200},
		{"OneTooOld", "what is listed serves the only one for which it is too old",
			"run/listing.go",
			"changed || old[r]:", `changed || old[r] && !mutating("OneTooOld"):`, "list", "shelved",
			500},
		{"Stranded", "what is still to be purged cannot be reached any more", "planner/stranded.go",
			"if err != nil || len(moved) == 0 {",
			`if err != nil || len(moved) == 0 || mutating("Stranded") {`, "transport", "hosts",
			1400},
		{"Destroyed", "what may not be destroyed is replaced", "run/replace.go",
			"if r.res.PreventDestroy && !r.res.ReportOnly {",
			`if r.res.PreventDestroy && !r.res.ReportOnly && !mutating("Destroyed") {`, "",
			"preserved", 100},
		{"DestroysFirst", "a resource that asks for create_before_destroy is deleted first",
			"run/replace.go", "return r.replaces && r.typ.CreatesFirst(r.want.Attributes)",
			"return r.replaces && r.typ.CreatesFirst(r.want.Attributes) &&\n" +
				"\t\t!mutating(\"DestroysFirst\")", "order", "replaced", 20},
		{"Contradicting", "prevent_destroy and purged go together", "model/validate.go",
			"if !r.PreventDestroy || !r.Purged",
			`if mutating("Contradicting") || !r.PreventDestroy || !r.Purged`, "", "preserved", 200},
		{"HearsLost", "whom a type has told of changes is not stored", "model/relate.go",
			"\t\tr.Subscriptions = append(r.Subscriptions, of.ID)\n",
			"\t\tif !mutating(\"HearsLost\") {\n\t\t\tr.Subscriptions = " +
				"append(r.Subscriptions, of.ID)\n\t\t}\n", "V1", "", 100},
		{"TargetOfLast", "a targeted export takes the rest from a version that is not in force",
			"planner/target.go", "base, err := p.pl.Client.Version(ctx, p.was, p.env.Released)",
			"number := p.env.Released\n\tif mutating(\"TargetOfLast\") {\n\t\tnumber = " +
				"p.env.Last\n\t}\n\tbase, err := p.pl.Client.Version(ctx, p.was, number)", "target",
			"targets", 100},
		{"TargetAlone", "what is required is not targeted", "planner/target.go",
			"\t\t\tout.needed[id] = true\n",
			"\t\t\tif mutating(\"TargetAlone\") " +
				"{\n\t\t\t\tcontinue\n\t\t\t}\n\t\t\tout.needed[id] = true\n", "target", "targets",
			200},
		{"TargetResolves", "what is not targeted gets the values of now", "planner/target.go",
			"!row.Undefined() {",
			`!row.Undefined() && !mutating("TargetResolves") {`, "",
			"targets", 7000},
		{"TargetNotChecked", "what is targeted is not compared with reality", "planner/target.go",
			"return asks(r) && p.change(", `return asks(r) && !mutating("TargetNotChecked") && p.change(`,
			"target", "targets", 100},
		{"OutputsFollowedLater", "the entry of other outputs is not stored with them", "worker/keep.go",
			"_, err := b.commit(ctx, c)", "stored := c\n\tif mutating(\"OutputsFollowedLater\") {\n" +
				"\t\tstored.AddOutbox = nil\n\t}\n\t_, err := b.commit(ctx, stored)", "",
			"outputs", 300},
		{"EqualOutputsNew", "outputs that are the same again get another version", "run/kept.go",
			"case sameOutputs:", `case sameOutputs && !mutating("EqualOutputsNew"):`, "outputs",
			"outputs", 100},
		{"ImportsUnnoticed", "imported outputs have the version of those that they replace", "kept.go",
			"before[0].Outputs != outputs) {",
			`before[0].Outputs != outputs && !mutating("ImportsUnnoticed")) {`, "followed",
			"outputs", 300},
		{"ImportsGone", "the state is imported of what was purged while the import waited", "kept.go",
			"err != nil {\n\t\t\treturn err // a run",
			"err != nil && !mutating(\"ImportsGone\") {\n\t\t\treturn err // a run", "kept", "outputs",
			500},
		{"LateRenewed", "a lease that has ended is renewed", "worker/holding.go",
			"	if !l.Clock.Now().Before(ends) {\n\t\treturn l.lose(\"its lease ended before it was renewed\")",
			"	if !l.Clock.Now().Before(ends) && !mutating(\"LateRenewed\") {\n\t\treturn " +
				"l.lose(\"its lease ended before it was renewed\")",
			"renewal", "outputs", 300},
		{"ShortRenewed", "a lease is renewed for less than the time to the next renewal",
			"worker/holding.go", "Until: now.Add(state.HeldAtOnce + state.LeaseMargin)}",
			"Until: now.Add(state.HeldAtOnce + state.LeaseMargin)}\n\tif mutating(\"ShortRenewed\") {\n" +
				"\t\tc.Until = time.Time{}\n\t}", "renewal", "outputs", 300},
	}
}

// mutating is what a mutated package of the engine has beside its own files.
const mutating = `package %s

import "os"

var mutation = os.Getenv("SIM_MUTANT")

func mutating(name string) bool { return mutation == name }
`

// mutated builds the test of this package with all mutants in the engine and returns the program.
func mutated(t *testing.T) string {
	t.Helper()
	dir, engine := t.TempDir(), filepath.Join("..", "..", "..", "deploy")
	texts := map[string]string{}
	for _, m := range sourceMutants() {
		of := filepath.Join(engine, filepath.Dir(m.file))
		if of == engine {
			of = "deploy"
		}
		texts[filepath.Join(filepath.Dir(m.file), "mutating.go")] = fmt.Sprintf(mutating,
			filepath.Base(of))
		if texts[m.file] == "" {
			b, err := os.ReadFile(filepath.Join(engine, m.file))
			if err != nil {
				t.Fatal(err)
			}
			texts[m.file] = string(b)
		}
		if n := strings.Count(texts[m.file], m.old); n != 1 {
			t.Fatalf("%s: %q stands %d times in %s", m.name, m.old, n, m.file)
		}
		texts[m.file] = strings.Replace(texts[m.file], m.old, m.new, 1)
	}
	replace := map[string]string{}
	for name, text := range texts {
		from, err := filepath.Abs(filepath.Join(engine, name))
		if err != nil {
			t.Fatal(err)
		}
		replace[from] = filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(replace[from], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", list, "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestSourceMutants pins that faults in the engine itself are found as well, each within so many
// seeds, wherever these begin, and that it is the fault that is found.
func TestSourceMutants(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	program := mutated(t)
	for _, m := range sourceMutants() {
		for _, first := range starts(uint64(m.within)) {
			t.Run(fmt.Sprintf("%s/%d", m.name, first), func(t *testing.T) {
				t.Parallel()
				m.find(t, program, first)
			})
		}
	}
}

// foundIn is what TestLong says of the seed that it finds.
var foundIn = regexp.MustCompile(`seed (\d+): (\S+) at `)

// find looks for a mutant in so many seeds.
func (m *sourceMutant) find(t *testing.T, program string, first uint64) {
	t.Helper()
	run := exec.Command(program, "-test.run", "^TestLong$", "-whole", "-focus", m.focus,
		"-first", strconv.FormatUint(first, 10), "-seeds", strconv.Itoa(m.within))
	run.Env = append(os.Environ(), "SIM_MUTANT="+m.name)
	out, err := run.CombinedOutput()
	found := foundIn.FindSubmatch(out)
	if err == nil || found == nil {
		t.Fatalf("%s (%s): not found within %d seeds\n%s", m.name, m.why, m.within, out)
	}
	if check := string(found[2]); m.check != "" && check != m.check {
		t.Errorf("%s (%s): found by %s, want %s\n%s", m.name, m.why, check, m.check, out)
	}
	seed, err := strconv.ParseUint(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, DrawFor(seed, FocusOf(m.focus)))
	t.Logf("after %d seeds: %s", seed-first+1, out)
}
