package deploy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export asks for a model to be stored as a version and, unless told otherwise, released.
type Export struct {
	Model *Model
	// Partial replaces only the resource sets that the model has, and merges the shared set.
	Partial bool
	// DeleteSets names sets that are removed with all they hold; only with Partial.
	DeleteSets []string
	// NoRelease stores the version and does not release it.
	NoRelease bool
	// Check asks for everything to be checked against reality, not only what changed.
	Check bool
	// RetryFailed also schedules what failed or was skipped.
	RetryFailed bool
	// Settings, when not nil, replace those of the environment.
	Settings *Settings
}

// Exported is what came of an export.
type Exported struct {
	Version       int
	Resources     int
	Changed       int // new or with another intent
	Unchanged     int
	Removed       int
	FilesUploaded int
	New           bool // a version was stored; false: equal to the last one
}

// Export validates, stores and releases a model. The same export again, also after a crash, gives the same version. A model with problems
// is refused with diag.Problems, which holds all of them, and nothing is stored.
func (e *Engine) Export(ctx context.Context, env string, x Export) (Exported, error) {
	var out Exported
	if problems := e.validateExport(x); len(problems) > 0 {
		return out, problems.Err()
	}
	uploaded, err := e.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	err = e.plan(ctx, env, func(p *planner) error {
		out, err = p.export(ctx, x)
		return err
	})
	out.FilesUploaded = uploaded
	return out, err
}

func (e *Engine) validateExport(x Export) diag.Problems {
	var problems diag.Problems
	switch {
	case x.Partial:
		problems = e.Validate(x.Model)
		sets := map[string]bool{}
		for i := range x.Model.Resources {
			sets[x.Model.Resources[i].Set] = true
		}
		for _, s := range x.DeleteSets {
			if sets[s] {
				problems.Add(diag.Problem{Message: fmt.Sprintf("set %q is exported and deleted at once", s), Hint: "leave out one of the two"})
			}
		}
	case len(x.DeleteSets) > 0:
		problems.Add(diag.Problem{Message: "sets can only be deleted by a partial export", Hint: "add --partial"})
	default:
		problems = e.ValidateClosed(x.Model)
	}
	return problems
}

// upload stores those files of a model that are missing, and returns how many these were. Files of the last version are taken to be
// stored; if they are not, storeVersion says so.
func (e *Engine) upload(ctx context.Context, env string, m *Model) (int, error) {
	if len(m.Files) == 0 {
		return 0, nil
	}
	state, err := e.State.Env(ctx, env)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read environment", err)
	}
	vs, err := e.State.Versions(ctx, env, state.Last)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read version", err)
	}
	known := map[string]bool{}
	for _, v := range vs {
		for _, h := range v.Files {
			known[h] = true
		}
	}
	hashes := make([]string, 0, len(m.Files))
	for h := range m.Files {
		if !known[h] {
			hashes = append(hashes, h)
		}
	}
	if len(hashes) == 0 {
		return 0, nil
	}
	slices.Sort(hashes)
	missing, err := e.Files.Missing(ctx, hashes)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "look for files", err)
	}
	blobs := make([]Blob, len(missing))
	for i, h := range missing {
		blobs[i] = m.Files[h]
	}
	if err := e.putFiles(ctx, blobs); err != nil {
		return 0, err
	}
	return len(blobs), nil
}

func (e *Engine) putFiles(ctx context.Context, blobs []Blob) error {
	if len(blobs) == 0 {
		return nil
	}
	err := e.retryUnavailable(ctx, func() error { return e.Files.Put(ctx, blobs) })
	return fault.Wrap(fault.Unknown, "store files", err)
}

// export does the part of an export that is serialised with other exports.
func (p *planner) export(ctx context.Context, x Export) (Exported, error) {
	last, err := p.version(ctx, p.env.Last)
	if err != nil {
		return Exported{}, err
	}
	m := x.Model
	if x.Partial {
		if m, err = p.merge(ctx, x, last); err != nil {
			return Exported{}, err
		}
	}
	if x.Settings != nil {
		p.env.Settings = *x.Settings
	}
	set, err := p.resolveModel(ctx, m)
	if err != nil {
		return Exported{}, err
	}
	blobs, digest := chunks(set.entries)
	v := Version{Number: p.env.Last + 1, At: p.e.Clock.Now(), Resources: len(set.entries), Digest: versionDigest(digest, set.agents),
		Agents: set.agents, Sets: setsOf(m.Resources), Pack: p.e.Pack, Files: set.files}
	if x.Partial {
		v.Base = last.Number
	}
	for _, b := range blobs {
		v.Chunks = append(v.Chunks, b.Hash)
	}
	fresh := last.Number == 0 || v.Digest != last.Digest
	if fresh {
		if err := p.storeVersion(ctx, v, last, blobs); err != nil {
			return Exported{}, err
		}
	} else {
		v = last
	}
	p.env.Last = v.Number
	p.env.Fingerprint = ""
	if !x.Partial && !set.volatile {
		p.env.Fingerprint = x.Model.Fingerprint
	}
	out := Exported{Version: v.Number, Resources: v.Resources, Unchanged: v.Resources, New: fresh}
	if x.NoRelease {
		if fresh {
			if out.Changed, out.Removed, err = p.compareVersions(ctx, last, v, set.entries); err != nil {
				return Exported{}, err
			}
			out.Unchanged = v.Resources - out.Changed
		}
		return out, p.commit(ctx, false)
	}
	diff, err := p.release(ctx, v, set.entries)
	if err != nil {
		return out, err
	}
	out.Changed, out.Removed = diff.changed, diff.removed
	out.Unchanged = v.Resources - diff.changed
	return out, p.request(ctx, x)
}

// compareVersions counts what is new or has another intent in v, and what has left; entries are those of v. Chunks that both versions have
// are not read.
func (p *planner) compareVersions(ctx context.Context, last, v Version, entries []entry) (changed, removed int, err error) {
	shared := sharedChunks(last.Chunks, v.Chunks)
	before, err := p.e.readChunks(ctx, without(last.Chunks, shared))
	if err != nil {
		return 0, 0, err
	}
	for i := range entries {
		en := &entries[i]
		if shared[v.Chunks[bucketOf(en.ID, len(v.Chunks))]] {
			continue
		}
		if old, had := before[en.ID]; !had || old.Hash != en.Hash {
			changed++
		}
		delete(before, en.ID)
	}
	return changed, len(before), nil
}

// request plans what an export asks for besides the release, and writes all that is planned.
func (p *planner) request(ctx context.Context, x Export) error {
	if x.Check {
		p.startWave(PriorityUserRepair, false)
	}
	if x.RetryFailed {
		if err := p.scheduleUnfinished(ctx, PriorityUserDeploy, true, nil); err != nil {
			return err
		}
		graph, err := p.e.graph(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		p.orderBy(graph) // with what the release has planned
	}
	return p.commitAll(ctx)
}

// storeVersion stores the files of a version. The version itself is written by the commit that also writes what follows from it.
func (p *planner) storeVersion(ctx context.Context, v, last Version, blobs []Blob) error {
	byHash, ask := make(map[string]Blob, len(blobs)), make([]string, 0, len(blobs))
	for _, b := range blobs {
		byHash[b.Hash] = b
		if !slices.Contains(last.Chunks, b.Hash) { // the others are stored, as nothing removes what a version refers to
			ask = append(ask, b.Hash)
		}
	}
	for _, h := range v.Files {
		if _, found := slices.BinarySearch(last.Files, h); !found {
			ask = append(ask, h)
		}
	}
	var missing []string
	if len(ask) > 0 {
		var err error
		if missing, err = p.e.Files.Missing(ctx, ask); err != nil {
			return fault.Wrap(fault.Unknown, "look for files", err)
		}
	}
	var put []Blob
	for _, h := range missing {
		b, ok := byHash[h]
		if !ok {
			return fault.New(fault.NotFound, "store version", "file %s is not stored any more", h).WithHint("export again")
		}
		put = append(put, b)
	}
	if err := p.e.putFiles(ctx, put); err != nil {
		return err
	}
	p.store.version = &v
	return nil
}

func versionDigest(content string, agents []resource.Agent) string {
	h := sha256.New()
	h.Write([]byte(content))
	b, _ := json.Marshal(agents) // maps are written in key order, and values came from documents
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

func setsOf(resources []resource.Resource) []string {
	seen := map[string]bool{}
	var sets []string
	for i := range resources {
		if s := resources[i].Set; s != "" && !seen[s] {
			seen[s] = true
			sets = append(sets, s)
		}
	}
	sort.Strings(sets)
	return sets
}

// version returns a stored version; number 0 gives an empty one.
func (p *planner) version(ctx context.Context, number int) (Version, error) {
	if number == 0 {
		return Version{}, nil
	}
	vs, err := p.e.State.Versions(ctx, p.env.Name, number)
	if err != nil {
		return Version{}, fault.Wrap(fault.Unknown, "read version", err)
	}
	if len(vs) == 0 {
		if now, err := p.e.State.Env(ctx, p.env.Name); err != nil || now.Rev != p.was.Rev {
			return Version{}, fault.New(fault.Conflict, "read version", "version %d was forgotten meanwhile", number).WithHint("try again")
		}
		return Version{}, fault.New(fault.Damaged, "read version", "version %d is not stored", number)
	}
	return vs[0], nil
}

// merge puts a partial model into the version it is based on. Sets that the model has or that are deleted are replaced, other sets are
// carried over, and the shared sets are united.
func (p *planner) merge(ctx context.Context, x Export, base Version) (*Model, error) {
	entries, err := p.e.readChunks(ctx, base.Chunks)
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, s := range setsOf(x.Model.Resources) {
		replaced[s] = true
	}
	for _, s := range x.DeleteSets {
		replaced[s] = true
	}
	mg := merger{e: p.e, x: x, entries: entries, replaced: replaced, index: map[resource.ID]int{}}
	for i := range x.Model.Resources {
		mg.index[x.Model.Resources[i].ID] = i
	}
	out := &Model{Resources: slices.Clone(x.Model.Resources), Files: x.Model.Files, Where: x.Model.at, Agents: mergeAgents(base.Agents, x.Model.Agents)}
	if err := mg.carry(out); err != nil {
		return nil, err
	}
	byID := make(map[resource.ID]int, len(out.Resources))
	for i := range out.Resources {
		byID[out.Resources[i].ID] = i
	}
	p.e.relate(out.Resources, byID)
	mine := len(x.Model.Resources)
	at := func(i int, a string) diag.Pos {
		if i < mine {
			return x.Model.at(i, a)
		}
		return diag.Pos{}
	}
	mg.problems = append(mg.problems, p.e.things(out.Resources, mine, at)...)
	mg.problems = append(mg.problems, p.e.checkThere(out.Resources, at)...)
	mg.problems = append(mg.problems, p.e.checkCycles(out.Resources, at)...)
	return out, mg.problems.Err()
}

// merger is what one call of merge works on.
type merger struct {
	e        *Engine
	x        Export
	entries  map[resource.ID]entry
	replaced map[string]bool
	index    map[resource.ID]int // of the model's resources
	problems diag.Problems
}

// carry appends to out what stays of the base, and checks that the model changes nothing that it may not change.
func (mg *merger) carry(out *Model) error {
	ids := make([]resource.ID, 0, len(mg.entries))
	for id := range mg.entries {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		old, err := resource.Decode(mg.entries[id].Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		i, again := mg.index[id]
		switch {
		case again:
			mg.redescribed(&out.Resources[i], i, old)
		case old.Set != "" && mg.replaced[old.Set]:
		default:
			old.Requires = mg.prune(old)
			out.Resources = append(out.Resources, *old)
		}
	}
	return nil
}

// redescribed handles resource i of the model, which is in the base as well.
func (mg *merger) redescribed(r *resource.Resource, i int, old *resource.Resource) {
	switch {
	case old.Set == "" && r.Set == "":
		if !sameIntent(r, old) {
			mg.problems.Add(diag.Problem{Pos: mg.x.Model.at(i, ""), Resource: string(r.ID),
				Message: "a partial export may not change a resource of the shared set", Hint: "export the whole model, or put the resource into a set"})
			return
		}
		r.Requires = append(r.Requires, mg.prune(old)...)
		slices.Sort(r.Requires)
		r.Requires = slices.Compact(r.Requires)
	case old.Set != r.Set && !mg.replaced[old.Set]:
		mg.problems.Add(diag.Problem{Pos: mg.x.Model.at(i, "set"), Resource: string(r.ID),
			Message: fmt.Sprintf("the resource is in %s, which this export does not replace", setName(old.Set)),
			Hint:    fmt.Sprintf("export set %q too, or delete it with --delete-set", old.Set)})
	}
}

// prune returns the requirements of a resource of the base. Resources that this export removes are left out if old is shared, or if the
// requirement follows from a type; any other requirement of a removed resource stays, to be reported as a problem.
func (mg *merger) prune(old *resource.Resource) []resource.ID {
	return slices.DeleteFunc(slices.Clone(old.Requires), func(id resource.ID) bool {
		gone, known := mg.entries[id]
		if _, again := mg.index[id]; again || !known {
			return false
		}
		r, err := resource.Decode(gone.Body)
		return err == nil && r.Set != "" && mg.replaced[r.Set] && (old.Set == "" || mg.e.tied(old, r))
	})
}

// sameIntent compares a, as an author wrote it, with b, as a version or a row holds it: in b, references may have been resolved.
func sameIntent(a, b *resource.Resource) bool {
	if a.Purged != b.Purged || a.ReportOnly != b.ReportOnly || len(a.Attributes) != len(b.Attributes) {
		return false
	}
	for name, v := range a.Attributes {
		w, ok := b.Attributes[name]
		if !ok || (len(resource.References(v)) == 0 && !resource.Equal(v, w)) {
			return false
		}
	}
	return true
}

func mergeAgents(base, over []resource.Agent) []resource.Agent {
	out := slices.Clone(over)
	for _, a := range base {
		if !slices.ContainsFunc(over, func(b resource.Agent) bool { return a.Name == b.Name }) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) })
	return out
}
