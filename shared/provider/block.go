package provider

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// block is a part of a run that is logged as one.
type block struct {
	parent *block
	what   string

	mu     sync.Mutex
	failed error
}

// path names the block and its enclosing blocks, the outermost first.
func (b *block) path() string {
	if b.parent == nil {
		return b.what
	}
	return b.parent.path() + " / " + b.what
}

func (b *block) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
}

func (b *block) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// Creating runs f as a block: its start and its end are logged, with its duration, and lines that f
// logs through its context name the block. Blocks nest. Creating returns the error of f, or of
// Fail.
func (c *Context) Creating(what string, f func(c *Context) error) error {
	return c.inBlock("creating", "created", what, f)
}

// Updating is Creating for a change of an existing thing.
func (c *Context) Updating(what string, f func(c *Context) error) error {
	return c.inBlock("updating", "updated", what, f)
}

// Deleting is Creating for a removal.
func (c *Context) Deleting(what string, f func(c *Context) error) error {
	return c.inBlock("deleting", "deleted", what, f)
}

// Processing is Creating for any other work.
func (c *Context) Processing(what string, f func(c *Context) error) error {
	return c.inBlock("processing", "processed", what, f)
}

// Fail marks the innermost block as failed, with an error that formats like fmt.Errorf; the block
// returns the first such error. Outside of any block, Fail only returns the error. It is for
// handlers that process the remaining items before they return an error.
func (c *Context) Fail(class Class, format string, args ...any) error {
	err := Errorf(class, format, args...)
	if c.block != nil {
		c.block.fail(err)
	}
	return err
}

func (c *Context) inBlock(doing, done, what string, f func(c *Context) error) (err error) {
	d := *c
	d.block = &block{parent: c.block, what: doing + " " + what}
	began := c.host.Now()
	c.Debug(d.block.what)
	returned := false
	defer func() {
		if !returned { // f panicked: the caller of the handler recovers
			c.blockEnds(LevelError, d.block.what+" panicked", began, nil)
		}
	}()
	err = f(&d)
	returned = true
	if failed := d.block.failure(); failed != nil && !errors.Is(err, failed) {
		if err == nil {
			err = failed
		} else {
			err = &alsoFailed{err, failed}
		}
	}
	if err != nil {
		c.blockEnds(LevelError, d.block.what+" failed", began, err)
		return err
	}
	c.blockEnds(LevelInfo, done+" "+what, began, nil)
	return nil
}

// alsoFailed is an error of a block that was already marked as failed. Its class is that of the
// error.
type alsoFailed struct{ err, marked error }

// Error names both errors.
func (e *alsoFailed) Error() string { return fmt.Sprintf("%v (before that: %v)", e.err, e.marked) }

// Unwrap returns both errors, the returned one first.
func (e *alsoFailed) Unwrap() []error { return []error{e.err, e.marked} }

func (c *Context) blockEnds(level Level, msg string, began time.Time, err error) {
	kv := []any{"duration_ms", c.host.Now().Sub(began).Milliseconds()}
	if err != nil {
		kv = append(kv, "error", err)
	}
	c.log(level, msg, kv)
}
