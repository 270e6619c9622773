package remote

import (
	"southbound/shared/fault"
	"southbound/shared/provider"
)

// keep stores the state that a handler on the machine keeps, and answers when it is stored. One
// state for each item is stored at a time.
func (c *Conn) keep(m keep) error {
	p, ok := c.pending(m.Call, m.Item)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keeping >= maxKeeping {
		return fault.New(fault.Damaged, "read frame", "the machine keeps too many states at a time").
			WithHint("%s", hintHostile)
	}
	c.keeping++
	var run *provider.Context
	if ok {
		run = p.ctxs[m.Item]
	}
	go func() {
		err := fault.New(fault.Canceled, "keep state", "the call was given up")
		var stored error = err
		if run != nil {
			stored = run.KeepWithOutputs(m.State, m.Outputs)
		}
		c.mu.Lock()
		c.keeping--
		c.mu.Unlock()
		_ = c.w.send(frame{kindData, data{Stream: m.Stream, End: stored == nil, Err: failureOf(stored)}})
	}()
	return nil
}

// maxKeeping bounds the states that one machine keeps at a time, at most 4 MiB each.
const maxKeeping = 64
