package remote

import "sync"

// carriedFar stands at the engine for a carried value, which stays at the machine.
type carriedFar struct {
	conn   *Conn
	number uint64
}

// carry numbers the carried value of an observation that is sent over a connection. A value that
// another connection had is lost.
func (o *observed) carry(c *Conn) {
	if o == nil {
		return
	}
	o.Carried = 0
	if far, is := o.carried.(carriedFar); is && far.conn == c {
		o.Carried = far.number
	}
}

// arrived notes the carried value of an observation that was received over a connection.
func (o *observed) arrived(c *Conn) {
	if o != nil && o.Carried != 0 {
		o.carried = carriedFar{c, o.Carried}
	}
}

// maxCarried bounds how many carried values a machine keeps. At least the resources that eight
// lanes of an agent run at a time have room.
const maxCarried = 1 << 12

// carriedValues are the values that handlers on this machine carry from one call of a run to the
// next. The oldest value is dropped first.
type carriedValues struct {
	mu     sync.Mutex
	last   uint64
	values map[uint64]any
}

// hold keeps the carried value of an observation, and gives it a number.
func (v *carriedValues) hold(o *observed) {
	if o == nil || o.carried == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = map[uint64]any{}
	}
	v.last++
	v.values[v.last], o.Carried = o.carried, v.last
	if v.last > maxCarried {
		delete(v.values, v.last-maxCarried)
	}
}

// find sets the carried value of an observation by its number.
func (v *carriedValues) find(o *observed) {
	if o == nil || o.Carried == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	o.carried = v.values[o.Carried]
}
