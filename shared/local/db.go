package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

const (
	maxGroup = 64 // maximum number of writes that share a commit
	// lockPause is the maximum pause before an operation on a busy database is retried.
	lockPause = 50 * time.Millisecond
	// lockSlow is how long another process may hold the database before the user is notified of the
	// wait.
	lockSlow = 3 * time.Second
	// lockLast is how long writes may wait for another process once the database is being closed.
	lockLast = time.Second
)

// db is an open SQLite file, with one connection for writing and several for reading.
type db struct {
	path    string
	writes  chan *write
	closing chan struct{} // closed: no further work is accepted
	done    chan struct{} // closed: the writer has ended
	readers readers
	once    sync.Once
	file    os.FileInfo // as it was when opened
	slow    func()      // called when another process holds the database for long; may be nil
	writtenSignal
}

// write is a pending write that shares a commit with others.
type write struct {
	f    func(c *sqlite.Conn) error
	err  error
	done chan struct{}
	// begun is set by the writer when it executes the write, or by the caller when it gives the
	// write up, whichever comes first.
	begun atomic.Bool
	over  <-chan struct{} // closed when the caller may give up the write
}

// readers is the pool of connections for reading. The capacity of free limits the connections in
// use. The most recently used connection is reused first, since its cache holds the pages that most
// reads need. A connection is opened only when it is needed.
type readers struct {
	free chan struct{} // holds one element per connection in use
	mu   sync.Mutex
	idle []*sqlite.Conn
}

// take returns an idle connection, or nil if the caller has to open one. It returns false if the
// database is closed.
func (r *readers) take(closing <-chan struct{}) (*sqlite.Conn, bool) {
	select {
	case r.free <- struct{}{}:
	case <-closing:
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.idle)
	if n == 0 {
		return nil, true
	}
	c := r.idle[n-1]
	r.idle = r.idle[:n-1]
	return c, true
}

// put returns a connection to the pool: the one from take, or the one that the caller opened. It is
// nil if no connection could be opened.
func (r *readers) put(c *sqlite.Conn) {
	if c != nil {
		r.mu.Lock()
		r.idle = append(r.idle, c)
		r.mu.Unlock()
	}
	<-r.free
}

// close waits for running reads, and closes the connections.
func (r *readers) close() {
	for range cap(r.free) {
		r.free <- struct{}{} // stays in the channel, so that no caller gets a connection
	}
	for _, c := range r.idle {
		_ = c.Close()
	}
}

// openDB opens the database, or creates it. It leaves a file of another program, or with another
// layout, unchanged.
func openDB(ctx context.Context, path string, slow func()) (*db, error) {
	if err := ours(path); err != nil {
		return nil, err
	}
	// SQLite creates files that every user can read.
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		_ = f.Close()
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, storeError("open "+path, err)
	}
	conn.SetBusyTimeout(0)
	prepare := func() error { return prepareDB(conn, path) }
	err = untilFree(ctx, slow, prepare)
	switch dir := filepath.Dir(path); {
	case err == nil:
		keepReserve(dir)
	case fault.Is(err, fault.Full) && giveReserve(dir):
		err = untilFree(ctx, slow, prepare)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	keepPrivate(path)
	d := &db{path: path, slow: slow, writes: make(chan *write, maxGroup),
		closing: make(chan struct{}), done: make(chan struct{})}
	d.readers.free = make(chan struct{}, max(4, runtime.GOMAXPROCS(0)))
	if d.file, err = os.Stat(path); err != nil {
		_ = conn.Close()
		return nil, storeError("open "+path, err)
	}
	go d.writer(conn)
	return d, nil
}

// keepPrivate removes the permissions of other users from the files of the database, which a copied
// database may have. An error is ignored: without the right to change them, this user is not the
// owner of the files.
func keepPrivate(path string) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(name, 0o600)
		}
	}
}

// untilFree retries do until no other process blocks it, or ctx is done. SQLite itself does not
// wait for a lock where waiting could deadlock, such as the lock for switching to the write-ahead
// log. The wait has no upper bound, since a user may suspend the process that holds the database.
func untilFree(ctx context.Context, slow func(), do func() error) error {
	if slow != nil {
		notice := patience.AfterFunc(lockSlow, slow)
		defer notice.Stop()
	}
	for pause := time.Millisecond; ; pause = min(2*pause, lockPause) {
		err := do()
		code := sqlite.ErrCode(err).ToPrimary()
		if code != sqlite.ResultBusy && code != sqlite.ResultLocked {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fault.Ended(ctx)
		}
	}
}

// prepareDB checks that the database belongs to this program, and creates its tables if it has
// none.
func prepareDB(conn *sqlite.Conn, path string) error {
	empty, err := func() (_ bool, err error) {
		// a consistent view, as another process may be creating the tables
		defer sqlitex.Transaction(conn)(&err)
		return isNew(conn, path)
	}()
	if err == nil {
		err = configure(conn)
	}
	if err == nil && empty {
		err = makeTables(conn, path)
	}
	return storeError("open "+path, err)
}

// configure makes commits durable (full sync) and cheap (write-ahead log).
func configure(conn *sqlite.Conn) error {
	return pragmas(conn, "journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000",
		"cache_size=-2000")
}

func pragmas(conn *sqlite.Conn, settings ...string) error {
	for _, p := range settings {
		if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+p, nil); err != nil {
			return err
		}
	}
	return nil
}

func number(conn *sqlite.Conn, query string) (int64, error) {
	var out int64
	err := sqlitex.ExecuteTransient(conn, query,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			out = s.ColumnInt64(0)
			return nil
		}})
	return out, err
}

// writer performs all writes. Pending writes share one transaction. Each has its own savepoint, so
// that a failing write does not affect the others.
func (d *db) writer(conn *sqlite.Conn) {
	defer close(d.done)
	next := func() []*write { return d.nextGroup(func() { d.emptyLog(conn) }) }
	for group := next(); len(group) > 0; group = next() {
		err := d.commitGroup(conn, group)
		if err == nil {
			err = d.there()
		}
		if err != nil {
			for _, w := range group {
				w.err = err
			}
		}
		for _, w := range group {
			close(w.done)
		}
		d.written()
	}
	// If other processes write, the next process that ends does it.
	_ = sqlitex.ExecuteTransient(conn, "PRAGMA optimize", nil)
	d.emptyLog(conn) // the log stays if other processes have it open
	_ = conn.Close()
}

// nextGroup waits for a write, and returns it with further pending writes, up to maxGroup. It
// returns no writes if the database is closed and none is pending. It calls rest after a time
// without writes.
func (d *db) nextGroup(rest func()) []*write {
	var group []*write
	idle := time.NewTimer(restsAfter)
	defer idle.Stop()
	for len(group) < maxGroup {
		select {
		case w := <-d.writes:
			group = append(group, w)
			continue
		default:
		}
		if len(group) > 0 {
			break
		}
		select {
		case w := <-d.writes:
			group = append(group, w)
		case <-idle.C:
			rest()
		case <-d.closing:
			if len(d.writes) == 0 {
				return nil
			}
		}
	}
	return group
}

// there returns an error unless the open file still has its name. A write to a removed file is lost
// without an error.
func (d *db) there() error {
	now, err := os.Stat(d.path)
	if err == nil && os.SameFile(now, d.file) {
		return nil
	}
	return fault.New(fault.Damaged, "write "+d.path,
		"the data directory was removed or replaced while it was in use").
		WithHint("run the command again: it looks at everything and goes on")
}

// commitGroup executes the writes whose callers have not given them up by the time that the
// database is free.
func (d *db) commitGroup(conn *sqlite.Conn, group []*write) (err error) {
	ctx, stop := d.whileWanted(group)
	defer stop()
	var end func(*error)
	err = untilFree(ctx, d.slow, func() (err error) {
		end, err = sqlitex.ImmediateTransaction(conn)
		return err
	})
	if err != nil {
		return err
	}
	defer end(&err)
	group = slices.DeleteFunc(slices.Clone(group),
		func(w *write) bool { return !w.begun.CompareAndSwap(false, true) })
	for _, w := range group {
		w.err = inSavepoint(conn, len(group) > 1, w.f)
		if spoils(w.err) {
			return w.err
		}
	}
	if len(group) == 1 {
		return group[0].err
	}
	return nil
}

// whileWanted returns a context that ends when the callers of all writes have given up, or a short
// time after the database is closed.
func (d *db) whileWanted(group []*write) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for _, w := range group {
			select {
			case <-w.over:
			case <-ctx.Done():
			case <-d.closing:
				_ = patience.Sleep(ctx, lockLast)
				cancel()
				return
			}
		}
		cancel()
	}()
	return ctx, cancel
}

func inSavepoint(conn *sqlite.Conn, save bool, f func(c *sqlite.Conn) error) (err error) {
	if save {
		defer sqlitex.Save(conn)(&err)
	}
	return f(conn)
}

// spoils reports whether err invalidates the whole transaction, not only one savepoint.
func spoils(err error) bool {
	code := sqlite.ErrCode(err).ToPrimary()
	return err != nil && (code == sqlite.ResultFull || code == sqlite.ResultIOErr ||
		code == sqlite.ResultReadOnly)
}

// write runs f in a transaction, which it may share with other writes, and returns once the
// transaction is durable.
func (d *db) write(ctx context.Context, op string, f func(c *sqlite.Conn) error) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	w := &write{f: f, done: make(chan struct{}), over: ctx.Done()}
	select {
	case d.writes <- w:
	case <-d.closing:
		return d.closed(op)
	case <-ctx.Done():
		return fault.Ended(ctx)
	}
	select {
	case <-w.done:
		return storeError(op, w.err)
	case <-ctx.Done():
		if w.begun.CompareAndSwap(false, true) {
			return fault.Ended(ctx) // the writer skips the write
		}
	case <-d.done:
	}
	select {
	case <-w.done:
	case <-d.done: // the write may have been in the last group
		select {
		case <-w.done:
		default:
			return d.closed(op)
		}
	}
	return storeError(op, w.err)
}

// closed returns the error for an operation on a closed database, which is closed when the process
// ends.
func (d *db) closed(op string) error {
	return fault.New(fault.Canceled, op, "%s was closed, as the process ends", d.path)
}

// read runs f in a read transaction, so that all of its reads see one snapshot.
func (d *db) read(ctx context.Context, op string, f func(c *sqlite.Conn) error) error {
	if ctx.Err() != nil {
		return fault.Ended(ctx)
	}
	conn, open := d.readers.take(d.closing)
	if !open {
		return d.closed(op)
	}
	defer func() { d.readers.put(conn) }()
	fresh := conn == nil
	if fresh {
		var err error
		if conn, err = sqlite.OpenConn(d.path, sqlite.OpenReadWrite); err != nil {
			return storeError(op, err)
		}
		conn.SetBlockOnBusy()
	}
	conn.SetInterrupt(ctx.Done())
	defer func() { conn.SetInterrupt(nil) }()
	err := func() (err error) {
		if fresh {
			if err := pragmas(conn, "query_only=1", "cache_size=-1000"); err != nil {
				return err
			}
		}
		defer sqlitex.Transaction(conn)(&err)
		return f(conn)
	}()
	if fresh && err != nil { // the connection may not be configured
		_ = conn.Close()
		conn = nil
	}
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultInterrupt {
		return fault.Ended(ctx)
	}
	return storeError(op, err)
}

// close waits for running operations and closes all connections. Later operations are rejected.
func (d *db) close() {
	d.once.Do(func() {
		close(d.closing)
		d.readers.close()
		<-d.done
	})
}

// damagedHint describes the remedy for a database that cannot be read.
const damagedHint = "restore it from a backup. Without one, move the data directory away and " +
	"apply again: that restores resources of the documents, but no instances of services, no " +
	"parameters and no history"

// storeError turns an error of SQLite or of the file system into a fault with a kind.
func storeError(op string, err error) error {
	var have *fault.Error
	if err == nil || errors.As(err, &have) {
		return err
	}
	kind, hint := fault.Unavailable, ""
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		kind, hint = fault.Full, "make room on the disk and run the command again: nothing is lost"
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultAuth:
		kind, hint = fault.Denied, "the data directory must be writable"
	// ResultError: the tables do not have the layout of this program.
	case sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultFormat, sqlite.ResultError:
		kind, hint = fault.Damaged, damagedHint
	case sqlite.ResultCantOpen:
		kind, hint = fault.Denied,
			"the data directory must exist, be writable and have room for files, and the process "+
				"may have to open more (ulimit -n); was it removed?"
	case sqlite.ResultBusy, sqlite.ResultLocked:
		kind, hint = fault.Unavailable, "another process holds the database; try again"
	case sqlite.ResultIOErr:
		kind, hint = fault.Full,
			"the disk cannot be written; make room or mend it, and run the command again"
	case sqlite.ResultConstraint, sqlite.ResultMisuse, sqlite.ResultMismatch:
		kind = fault.Internal
	}
	return &fault.Error{Kind: kind, Op: op, Err: err, Hint: hint}
}
