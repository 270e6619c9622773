package state

import "southbound/shared/resource"

// Notes are the data that runs of a resource leave to later runs, besides the state vector; see
// Row.Notes.
type Notes struct {
	// Written are the witnesses of write-only attributes as they were last written with success.
	Written map[string]string
	// Old are things that are being replaced by a thing that was created first: the read-only
	// attributes of each. They are deleted last.
	Old []map[string]any
	// Deleting means that the state to give back to the handler belongs to a delete before a
	// create.
	Deleting bool
}

// The members of notes as they are stored.
const (
	noteWritten  = "written"
	noteOld      = "old"
	noteDeleting = "deleting"
)

// Encode returns the stored form of notes; nil: there are none.
func (n *Notes) Encode() []byte {
	if len(n.Written) == 0 && len(n.Old) == 0 && !n.Deleting {
		return nil
	}
	m := map[string]any{}
	if len(n.Written) > 0 {
		written := make(map[string]any, len(n.Written))
		for name, w := range n.Written {
			written[name] = w
		}
		m[noteWritten] = written
	}
	if len(n.Old) > 0 {
		old := make([]any, len(n.Old))
		for i := range n.Old {
			old[i] = n.Old[i]
		}
		m[noteOld] = old
	}
	if n.Deleting {
		m[noteDeleting] = true
	}
	b, err := resource.CanonicalValue(m)
	if err != nil {
		return nil // there is no error: they hold values of attributes
	}
	return b
}

// DecodeNotes is the inverse of Encode. If b cannot be decoded, the notes are empty, and write-only
// attributes are written again.
func DecodeNotes(b []byte) Notes {
	var n Notes
	if len(b) == 0 {
		return n
	}
	v, _ := resource.DecodeValue(b)
	m, _ := v.(map[string]any)
	written, _ := m[noteWritten].(map[string]any)
	for name, w := range written {
		if n.Written == nil {
			n.Written = make(map[string]string, len(written))
		}
		n.Written[name], _ = w.(string)
	}
	old, _ := m[noteOld].([]any)
	for _, o := range old {
		if identity, ok := o.(map[string]any); ok {
			n.Old = append(n.Old, identity)
		}
	}
	n.Deleting, _ = m[noteDeleting].(bool)
	return n
}
