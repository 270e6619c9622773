// Package source reads resource documents, format 1, and the project file.
//
// YAML and JSON are converted to the same tree of nodes with places, so that one code path
// interprets both. The problems of all documents are reported together.
//
// Load works in these steps, with several files in parallel:
//
//	tree       finds the documents; files outside of the directory are not read
//	yaml, json parse a text into nodes, up to the first syntax error
//	document   converts nodes to agents, defaults and resources, one item of a list of resources
//	           after the other; reads values, titles and files
//	agents     expands a resource with a list of agents to one resource for each agent
//	join       joins all documents to one model, whose Where returns the place of any part
//
// Inputs record the files that were read, so that the next export may export only the changes
// (Changes); see docs/design/export.md.
package source

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Options configure Load.
type Options struct {
	Path  string    // a file, a directory, or "-": JSON lines from Stdin
	Stdin io.Reader // for "-"
	Types *schema.Registry
	// Agent, if not nil, checks the options of an agent; the Attribute of a problem names the
	// option.
	Agent func(resource.Agent) []diag.Problem
	// Note records digests of the items of documents, for Inputs.Changes.
	Note bool
	// Elsewhere is set if secrets are read on another machine: relative paths of secrets are then
	// refused. Otherwise they are relative to the document, and become absolute.
	Elsewhere bool
	// Beside is not nil if the documents are in the directory of a model.
	Beside *Beside
	// Foreign, if not nil, is called with each model file, *.cf, among the documents.
	Foreign func(path string)
	// Check, if not nil, checks a model that has problems already, so that all problems are
	// reported together.
	Check func(*model.Model) diag.Problems

	maxCopies int64 // limit of the resources that lists of agents add; 0 is maxCopies
}

// Load reads all documents under opts.Path as one model, and returns a record of the files that it
// has read. Attributes are as written, without defaults. It returns all problems of the documents
// together, as diag.Problems, sorted by place. A path that cannot be read is a fault.
func Load(ctx context.Context, opts Options) (*model.Model, Inputs, error) {
	t, err := openTree(opts)
	if err != nil {
		return nil, Inputs{}, err
	}
	defer t.close()
	l := &loader{types: opts.Types, agent: opts.Agent, tree: t, files: newFiles(t),
		defaults: documentDefaults, note: opts.Note}
	l.copies.max = cmp.Or(opts.maxCopies, maxCopies)
	projects := l.readProjects(ctx)
	read := make([]result, len(t.docs), len(t.docs)+len(projects))
	parallel(len(t.docs), func(i int) {
		if ctx.Err() == nil {
			read[i] = l.document(ctx, t.docs[i])
		}
	})
	if err := context.Cause(ctx); err != nil {
		return nil, Inputs{}, fault.Wrap(fault.KindOf(err), "read documents", err)
	}
	model, problems, more := l.join(append(read, projects...))
	if len(problems) > 0 {
		if opts.Check != nil {
			problems = also(problems, more, opts.Check(model))
		}
		left := 0
		for _, places := range more {
			left += len(places)
		}
		return nil, Inputs{}, problems.ErrAnd(left)
	}
	in := l.inputs(read, projects)
	model.Fingerprint = in.digest()
	return model, in, nil
}

// also adds problems of later checks, except for attributes with an earlier problem, whose message
// is better. more are the places of further problems, by file.
func also(problems diag.Problems, more map[string][]place, later diag.Problems) diag.Problems {
	known := make(map[diag.Pos]bool, len(problems))
	for _, p := range problems {
		known[p.Pos] = true
	}
	for _, places := range more {
		slices.SortFunc(places, place.compare)
	}
	for _, p := range later {
		if p.Attribute != "" {
			if _, counted := slices.BinarySearchFunc(more[p.File], placeAt(p.Pos),
				place.compare); counted || known[p.Pos] {
				continue
			}
		}
		problems = append(problems, p)
	}
	return problems
}

// loader holds the state that all documents share during a Load.
type loader struct {
	types    *schema.Registry
	agent    func(resource.Agent) []diag.Problem
	tree     *tree
	files    *files
	copies   copies
	defaults defaults // for documents that do not set them
	note     bool     // digests of items are recorded
	items    atomic.Int64
}

// parallel calls f for 0 to n-1 on all cores and waits.
func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// declare adds the declarations of declared types to a model.
func (l *loader) declare(m *model.Model) { model.Declare(m, l.types) }

// join joins all documents to one model. It also returns the places of problems that were not kept,
// by file.
func (l *loader) join(read []result) (*model.Model, diag.Problems, map[string][]place) {
	total := 0
	for i := range read {
		total += len(read[i].resources)
	}
	m := &model.Model{Files: l.files.blobs(), Resources: make([]resource.Resource, 0, total)}
	w := &places{}
	var problems diag.Problems
	var dropped []resource.ID
	more := map[string][]place{}
	agents := map[string]agentAt{}
	for i := range read {
		p := read[i].part
		problems = append(problems, p.list...)
		if len(p.more) > 0 {
			more[p.file] = append(more[p.file], p.more...)
		}
		w.add(p, len(p.resources))
		m.Resources = append(m.Resources, p.resources...)
		dropped = append(dropped, p.dropped...)
		p.resources = nil
		for _, a := range p.agents {
			if first, known := agents[a.Name]; !known {
				agents[a.Name] = a
				m.Agents = append(m.Agents, a.Agent)
			} else if !sameAgent(first.Agent, a.Agent) {
				problems.Add(conflict(first, a))
			}
		}
	}
	m.Where = w.where
	m.WhereAgent = func(name string) diag.Pos { return agents[name].at }
	l.declare(m)
	if len(problems) > 0 {
		forgive(m.Resources, dropped)
		if slices.Contains(dropped, "") { // descriptions of agents may be lost, too
			m.Agents = append(m.Agents, named(m.Resources, agents)...)
		}
	}
	return m, problems, more
}
