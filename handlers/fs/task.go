package fs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/held"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

const (
	// workers do CPU-bound work: reading, and writing into memory.
	workers = 2
	// syncers wait for the disk. The disk is already writing prepared files, so files that are
	// synced concurrently share commits of the file system's journal. More syncers than this gain
	// nothing.
	syncers = 16
	// group bounds how many changes of a batch are in progress, with open files, at a time.
	group = 128
	// batches is how many concurrent batches must fit within the limit of open files: lanes make
	// changes concurrently.
	batches = 32
)

// room returns how many changes of a batch may be in progress within a limit of open files.
func room(limit uint64) int {
	return int(max(4, min(limit/batches, group))) // it is small
}

// fileLimit returns how many files this process may open.
func fileLimit() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return batches * group // the limit is unknown
	}
	return uint64(limit.Cur) //nolint:unconvert // it is of another type on some systems
}

// stepper makes the changes of one type, in steps. Each step runs concurrently for many changes:
// all are prepared, then all are synced, then all are published, and then each directory is synced
// once.
type stepper interface {
	// prepare makes the thing under a hidden name and leaves the file to sync in t.file.
	prepare(t *task) error
	// publish makes the thing visible under its name, or removes the thing that is to be removed.
	publish(t *task) error
	// system makes the calls of the changes.
	system() *disk.System
}

// task is one change in progress.
type task struct {
	*provider.BatchChange
	disk.Slot
	want  disk.Perm
	file  disk.File // to be synced and closed, if it is open
	named bool      // a thing already has the hidden name
	still bool      // the content is not replaced
	done  bool      // no further step is necessary
	place string    // that it claims
	err   error
}

// differs reports whether an update changes an attribute.
func (t *task) differs(name string) bool {
	_, ok := t.Changes[name]
	return ok
}

// carryOut makes changes, none of which requires another.
func carryOut(ctx context.Context, s stepper, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	if len(items) == 0 {
		return out
	}
	tasks := make([]task, len(items))
	dirs := folders{sys: s.system(), opened: map[string]*opened{}}
	defer dirs.close()
	var known owners
	table := held.Of[*claim](items[0].Context)
	group := room(fileLimit())
	for from := 0; from < len(items); from += group {
		part := tasks[from:min(from+group, len(items))]
		for i := range part {
			if part[i].begin(ctx, &items[from+i], dirs, &known); part[i].err == nil && !part[i].done {
				part[i].err = part[i].claim(table, part[i].Dir.Real(part[i].Base))
			}
		}
		together(part, workers, func(t *task) {
			if t.err = disk.Explain(t.verb(), s.prepare(t)); t.err == nil && t.file.FD >= 0 {
				t.file.WriteBack()
			}
		})
		together(part, syncers, func(t *task) {
			if t.file.FD >= 0 {
				t.err = disk.Explain("sync "+t.Path, t.file.Sync())
			}
		})
		together(part, workers, func(t *task) {
			// A caller that has canceled may already have started the next run.
			if t.err = disk.Explain(t.verb(), t.Ctx.Err()); t.err == nil {
				t.err = disk.Explain(t.verb(), s.publish(t))
			}
		})
		for i := range part {
			part[i].end()
		}
	}
	dirs.sync(tasks)
	for i := range tasks {
		if out[i].Err = tasks[i].err; out[i].Err != nil && tasks[i].place != "" {
			table.Release(tasks[i].place, items[i].Resource.ID)
		}
	}
	return out
}

// together runs f for all unfinished tasks, several concurrently.
func together(tasks []task, workers int, f func(*task)) {
	spread(len(tasks), workers, func(i int) {
		if t := &tasks[i]; t.err == nil && !t.done {
			f(t)
		}
	})
}

// begin opens the directory and reads the desired attributes.
func (t *task) begin(ctx context.Context, item *provider.BatchChange, dirs folders, known *owners) {
	*t = task{BatchChange: item, file: disk.File{FD: -1, Sys: dirs.sys},
		Slot: disk.Slot{Ctx: item.Context.With(ctx), Path: text(item.Resource, "path"),
			Suffix: suffixOf(item.Resource)}}
	var dir string
	if dir, t.Base, t.err = disk.Place(t.Path); t.err != nil {
		return
	}
	if t.Change != diff.Purged {
		if t.want, t.err = known.wantedOf(item.Resource); t.err != nil {
			return
		}
	}
	var err error
	t.Dir, err = dirs.open(dir)
	if t.Change == diff.Purged && disk.Gone(err) {
		t.done = true // without the directory, the thing does not exist
		return
	}
	if err == nil {
		err = t.Dir.Writable()
	}
	t.err = disk.Explain(t.verb(), err)
}

func (t *task) verb() string {
	switch t.Change {
	case diff.Purged:
		return "remove " + t.Path
	case diff.Created:
		return "make " + t.Path
	}
	return "change " + t.Path
}

// end releases the resources of the task.
func (t *task) end() {
	t.file.Close()
	if t.err != nil && t.Dir != nil && t.named {
		_ = t.Dir.Tidy(t.Base)
	}
}

// folders are the directories that a batch works in.
type folders struct {
	sys    *disk.System
	opened map[string]*opened
}

type opened struct {
	*disk.Folder
	err error
}

func (fs folders) open(path string) (*disk.Folder, error) {
	o, ok := fs.opened[path]
	if !ok {
		o = &opened{}
		o.Folder, o.err = disk.OpenFolder(fs.sys, path)
		fs.opened[path] = o
	}
	return o.Folder, o.err
}

// sync makes published changes durable; if that fails, their tasks fail.
func (fs folders) sync(tasks []task) {
	failed := map[*disk.Folder]error{}
	for i := range tasks {
		t := &tasks[i]
		if t.err != nil || t.done {
			continue
		}
		err, known := failed[t.Dir]
		if !known {
			if err = disk.Explain("sync "+t.Dir.Path, t.Dir.Sync()); err == nil {
				err = disk.Explain("find "+t.Dir.Path, t.Dir.There())
			}
			failed[t.Dir] = err
		}
		if t.Change == diff.Purged {
			err = disk.UnlessGone(err)
		}
		t.err = err
	}
}

func (fs folders) close() {
	for _, o := range fs.opened {
		if o.err == nil {
			o.Folder.Close()
		}
	}
}

// reader reads things one after the other, and reuses lookups for later ones.
type reader struct {
	sys   *disk.System
	known owners
	crowd map[string]int // how many things are read in each directory
	dir   *disk.Folder
	real  string // the canonical name of dir
	table *held.Table[*claim]
	left  leftovers // in dir
	buf   []byte
}

// observer reads the things of one type.
type observer interface {
	// observe describes the thing at base in rd.dir.
	observe(rd *reader, ctx *provider.Context, r provider.Resource, base string, want disk.Perm) (
		provider.Observation, error)
	// system removes the remains of crashes.
	system() *disk.System
}

// readers passes a reader to f.
func readers(sys *disk.System, f func(rd *reader)) {
	buf := disk.Buffers.Get().(*[]byte)
	rd := &reader{sys: sys, buf: *buf}
	defer func() {
		rd.leave()
		disk.Buffers.Put(buf)
	}()
	f(rd)
}

func (rd *reader) leave() {
	if rd.dir != nil {
		rd.dir.Close()
		rd.dir, rd.left = nil, leftovers{}
	}
}

// enter makes a directory the current one.
func (rd *reader) enter(ctx *provider.Context, path string) error {
	if rd.dir != nil && rd.dir.Path == path {
		return nil
	}
	rd.leave()
	dir, err := disk.OpenFolder(rd.sys, path)
	if err != nil {
		return err
	}
	rd.dir, rd.real = dir, dir.Real("")
	if rd.crowd[path] >= crowded && !ctx.DryRun() {
		rd.left = leftoversIn(ctx, dir, rd.buf)
	}
	return nil
}

const (
	// crowded is from how many reads in one directory its names are listed. Fewer reads look up
	// each hidden name, for which the system reads the disk if the name is missing.
	crowded = 64
	// mostListed is how many names are listed: listing takes some milliseconds.
	mostListed = 1 << 15
	// listedFor is how long a list is used. The next run finds the remains of a crash in that time,
	// as it does those that appear after the read.
	listedFor = time.Second
)

// leftovers are the hidden names that crashes left in a directory.
type leftovers struct {
	names  map[string]bool
	listed bool // otherwise each name has to be looked up
}

func (l leftovers) may(base string) bool { return !l.listed || l.names[disk.Leftover(base)] }

// leftoversIn returns the leftovers of a directory.
func leftoversIn(ctx *provider.Context, dir *disk.Folder, buf []byte) leftovers {
	key := provider.Key{Name: "leftovers", Args: []any{dir.Path}}
	left, _ := provider.Cached(ctx, key, provider.Keep{For: listedFor},
		func(*provider.Context) (left leftovers, err error) {
			left.names, left.listed = dir.Leftovers(mostListed, buf)
			return left, nil
		})
	return left // nothing was listed if the run was canceled
}

func (rd *reader) read(
	ctx *provider.Context, l observer, r provider.Resource,
) (provider.Observation, error) {
	dir, base, err := disk.Place(text(r, "path"))
	if err != nil {
		return provider.Observation{}, err
	}
	want, err := rd.known.wantedToRead(ctx, r)
	if err != nil && !r.Purged {
		return provider.Observation{}, err
	}
	if err := rd.enter(ctx, dir); disk.Gone(err) {
		return provider.Observation{}, nil
	} else if err != nil {
		return provider.Observation{}, disk.Explain("read "+text(r, "path"), err)
	}
	if !ctx.DryRun() && rd.left.may(base) {
		err := rd.dir.Tidy(base)
		if err != nil && !errors.Is(err, unix.EROFS) {
			return provider.Observation{},
				disk.Explain("remove leftovers of a crash beside "+text(r, "path"), err)
		}
	}
	obs, err := l.observe(rd, ctx, r, base, want)
	if disk.Gone(err) {
		return provider.Observation{}, nil
	}
	return obs, disk.Explain("read "+text(r, "path"), err)
}

// readAll reads many things, several concurrently.
func readAll(ctx context.Context, l observer, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	parts := (len(items) + part - 1) / part
	crowd := crowdOf(items)
	var table *held.Table[*claim]
	if len(items) > 0 {
		table = held.Of[*claim](items[0].Context)
	}
	var next atomic.Int64
	spread(min(workers, parts), workers, func(int) {
		readers(l.system(), func(rd *reader) {
			rd.crowd, rd.table = crowd, table
			for n := int(next.Add(1)) - 1; n < parts; n = int(next.Add(1)) - 1 {
				from, to := n*part, min((n+1)*part, len(items))
				rd.readPart(ctx, l, items[from:to], out[from:to])
			}
		})
	})
	return out
}

// crowdOf counts things by directory.
func crowdOf(items []provider.BatchRead) map[string]int {
	if len(items) < crowded {
		return nil
	}
	crowd := map[string]int{}
	for i := range items {
		dir, _ := disk.Split(text(items[i].Resource, "path"))
		crowd[dir]++
	}
	return crowd
}

// readPart reads a part of the things.
func (rd *reader) readPart(
	ctx context.Context, l observer, items []provider.BatchRead, out []provider.Reading,
) {
	for i := range items {
		item := &items[i]
		if out[i].Err = ctx.Err(); out[i].Err == nil {
			out[i].Observation, out[i].Err = rd.read(item.Context.With(ctx), l, item.Resource)
			rd.hold(item, out[i])
		}
	}
}

// hold claims a thing in its described state, in the directory that was read last.
func (rd *reader) hold(item *provider.BatchRead, got provider.Reading) {
	dir, base, err := disk.Place(text(item.Resource, "path"))
	if err != nil || rd.table == nil || rd.dir == nil || rd.dir.Path != dir {
		return
	}
	if isRight(item.Resource, got) {
		rd.table.Hold(item.Context, item.Resource.ID, rd.real+base,
			claimOf(item.Resource, item.Resource.Purged))
	} else {
		rd.table.Release(rd.real+base, item.Resource.ID)
	}
}

// part is how many things one worker reads at a time.
const part = 32

// spread calls f for 0..n-1 from several goroutines. It passes a panic of one on to the caller.
func spread(n, workers int, f func(i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	next := 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for range workers {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					panicked = p
					mu.Unlock()
				}
			}()
			for i := take(); i < n; i = take() {
				f(i)
			}
		})
	}
	wg.Wait()
	if panicked != nil {
		panic(panicked)
	}
}
