package remote

import (
	"encoding/binary"

	"southbound/shared/fault"
)

// A machine may be hostile: a few bytes can stand for many values, and many small frames for a lot
// of memory. Therefore a machine's data is weighed before it is decoded, and the total memory of
// all open calls is bounded.
const (
	maxHeld  = 64 << 20 // bytes that the open calls of a connection may hold
	maxHello = 1 << 20  // of the first frame
	// bytes of the secrets of one call; all output is searched for each of them
	maxSecrets = 1 << 20
	costValue  = 64 // bytes that a decoded value takes at most besides its own
)

// weigh estimates the memory that decoding a frame takes. Data that is not CBOR weighs its bytes;
// its decoder rejects it.
func weigh(body []byte) int64 {
	total := int64(len(body))
	for at := 0; at < len(body); {
		total += costValue
		kind, info := body[at]>>5, body[at]&31
		at++
		value := uint64(info)
		if info >= 24 {
			size := 1 << (info - 24)
			if info > 27 || at+size > len(body) {
				return total
			}
			var wide [8]byte
			copy(wide[8-size:], body[at:at+size])
			value = binary.BigEndian.Uint64(wide[:])
			at += size
		}
		if kind == 2 || kind == 3 { // bytes and text
			if value > uint64(len(body)-at) {
				return total
			}
			at += int(value) // bounded by the body
		}
	}
	return total
}

// weighed rejects a frame that would take too much memory, and returns its weight.
func weighed(k kind, body []byte) (int64, error) {
	n := weigh(body)
	if k == kindHello && len(body) > maxHello || n > maxHeld {
		return n, fault.New(fault.Damaged, "read frame",
			"the machine sends a frame of %d bytes, which would take %d MB, and the maximum is "+
				"%d MB",
			len(body), n>>20, int64(maxHeld>>20)).WithHint("%s", hintHostile)
	}
	return n, nil
}

// hintHostile is the hint for a machine that sends too much.
const hintHostile = "a program that is not ours may answer there; look at the machine before it " +
	"gets anything else"

// hold adds a frame of the machine to the memory of its call, and rejects too much. A canceled call
// holds nothing.
func (c *Conn) hold(id uint64, k kind, n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[id]
	if p == nil {
		return nil
	}
	p.held += n
	if k == kindSecret {
		p.secrets += n
	}
	total := int64(0)
	for _, p := range c.calls {
		total += p.held
	}
	if total > maxHeld {
		return fault.New(fault.Damaged, "read frame",
			"the machine sends more than %d MB for calls that have not ended", int64(maxHeld>>20)).
			WithHint("%s", hintHostile)
	}
	if p.secrets > maxSecrets {
		return fault.New(fault.Damaged, "read frame",
			"the machine sends more than %d MB of secrets for one call", int64(maxSecrets>>20)).
			WithHint("%s", hintHostile)
	}
	return nil
}

// agentOf is the name of a call's agent in errors.
func agentOf(items []item) string {
	if len(items) == 0 || items[0].Agent == "" {
		return ""
	}
	return " of agent " + items[0].Agent
}
