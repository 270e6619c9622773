package deploy

import "southbound/shared/resource"

// notes is what runs of a resource leave to later ones, beside the state vector; see Row.Notes.
type notes struct {
	// written are the witnesses of write-only attributes as they were written last, with success.
	written map[string]string
	// old are things that are being replaced by one that was created before: what is only reported of each. They are deleted last.
	old []map[string]any
	// deleting: the state to be given back is that of a delete before a create.
	deleting bool
}

// The members of notes as they are stored.
const (
	noteWritten  = "written"
	noteOld      = "old"
	noteDeleting = "deleting"
)

// encode returns what a row stores; nil: nothing.
func (n *notes) encode() []byte {
	m := map[string]any{}
	if len(n.written) > 0 {
		written := make(map[string]any, len(n.written))
		for name, w := range n.written {
			written[name] = w
		}
		m[noteWritten] = written
	}
	if len(n.old) > 0 {
		old := make([]any, len(n.old))
		for i := range n.old {
			old[i] = n.old[i]
		}
		m[noteOld] = old
	}
	if n.deleting {
		m[noteDeleting] = true
	}
	b, err := resource.CanonicalValue(m)
	if err != nil || len(m) == 0 {
		return nil // there is no error: they hold values of attributes
	}
	return b
}

// decodeNotes is the inverse of encode. What does not decode holds nothing: what is only written is written once more then.
func decodeNotes(b []byte) notes {
	var n notes
	if len(b) == 0 {
		return n
	}
	v, _ := resource.DecodeValue(b)
	m, _ := v.(map[string]any)
	written, _ := m[noteWritten].(map[string]any)
	for name, w := range written {
		if n.written == nil {
			n.written = make(map[string]string, len(written))
		}
		n.written[name], _ = w.(string)
	}
	old, _ := m[noteOld].([]any)
	for _, o := range old {
		if identity, ok := o.(map[string]any); ok {
			n.old = append(n.old, identity)
		}
	}
	n.deleting, _ = m[noteDeleting].(bool)
	return n
}

// leftNotes returns the notes that still mean something when a row begins anew: which things are to be deleted.
func (r *Row) leftNotes() []byte {
	if len(r.Notes) == 0 {
		return nil
	}
	n := decodeNotes(r.Notes)
	return (&notes{old: n.old}).encode()
}
