package source

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/internal/binform"
)

const inputsForm = "southbound inputs 2\n"

// Encode returns a storable form of inputs. DecodeInputs needs the same key, which identifies the
// program.
func (in *Inputs) Encode(key string) []byte {
	w := &binform.Writer{B: []byte(inputsForm)}
	w.Text(key)
	for _, list := range [][]Input{in.Documents, in.Files, in.Projects} {
		w.Len(len(list))
		for _, f := range list {
			w.Text(f.Path)
			w.Int(f.Size)
			w.Hex(f.hash)
		}
	}
	w.B = slices.Grow(w.B, 64*len(in.items)+2*len(item{}.value)*in.noted())
	for i := range in.items {
		in.items[i].write(w)
	}
	sum := sha256.Sum256(w.B)
	return append(w.B, sum[:]...)
}

// noted returns the number of items with digests.
func (in *Inputs) noted() (n int) {
	for i := range in.items {
		n += len(in.items[i].list)
	}
	return n
}

func (of *itemsOf) write(w *binform.Writer) {
	w.Bool(of.known)
	if !of.known {
		return
	}
	w.B = append(w.B, of.rest[:]...)
	w.Len(len(of.list))
	for i := range of.list {
		w.B = append(append(w.B, of.list[i].value[:]...), of.list[i].frame[:]...)
	}
	w.Len(len(of.uses))
	for _, u := range of.uses {
		w.Len(u.item)
		w.Text(u.file)
	}
}

// DecodeInputs decodes the result of Encode with the same key. It returns fault.Damaged for other
// input.
func DecodeInputs(b []byte, key string) (Inputs, error) {
	damaged := fault.New(
		fault.Damaged,
		"read inputs",
		"this program has not written these records",
	)
	at := len(b) - sha256.Size
	if at < 0 {
		return Inputs{}, damaged
	}
	if sum := sha256.Sum256(b[:at]); !bytes.Equal(sum[:], b[at:]) ||
		!bytes.HasPrefix(b, []byte(inputsForm)) {
		return Inputs{}, damaged
	}
	r := &binform.Reader{B: b[len(inputsForm):at]}
	if r.Text() != key {
		return Inputs{}, damaged
	}
	var in Inputs
	for _, list := range []*[]Input{&in.Documents, &in.Files, &in.Projects} {
		for n := r.Len(); n > 0 && !r.Bad; n-- {
			*list = append(*list, Input{r.Text(), r.Int(), r.Hex()})
		}
	}
	in.items = make([]itemsOf, len(in.Documents))
	for i := range in.items {
		in.items[i].read(r)
	}
	if !r.Done() {
		return Inputs{}, damaged
	}
	return in, nil
}

func (of *itemsOf) read(r *binform.Reader) {
	if of.known = r.Bool(); !of.known {
		return
	}
	copy(of.rest[:], r.Take(len(of.rest)))
	of.list = make([]item, r.Len())
	for i := range of.list {
		copy(of.list[i].value[:], r.Take(len(digest{})))
		copy(of.list[i].frame[:], r.Take(len(digest{})))
	}
	for n := r.Len(); n > 0 && !r.Bad; n-- {
		u := use{int(r.UintTo(uint64(len(of.list)))), r.Text()} // bounded
		of.uses = append(of.uses, u)
	}
}
