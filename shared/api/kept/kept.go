// Package kept writes kept plans and reads them. See docs/design/kept-plans.md.
package kept

import (
	"archive/zip"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"maps"
	"slices"
	"time"

	"southbound/shared/api/chunk"
	"southbound/shared/api/exports"
	"southbound/shared/api/files"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Plan is the content of a plan file: the export to make, the changes that were shown, and the
// state from which the plan was made; see docs/design/kept-plans.md.
type Plan struct {
	Made        time.Time
	Program     string // the build of the program that made it
	Environment string
	Home        string // where the environment is, for people
	HomeID      string // identifies that home; "": it did not exist yet
	Project     string // directory whose virtual environment runs the handlers; "": none is needed
	Last        int    // the highest version stored
	Released    int    // the version in force
	Compare     deploy.CompareOptions
	// Export is the export to make. Its Expect is the State of a preview that did not read reality.
	Export  deploy.Export
	Planned []deploy.PlannedChange // the changes that were shown
}

const (
	keptFormat = 1
	keptHeader = "plan.json"
	keptShown  = "shown"
	keptBlobs  = "blobs/"
)

// The bounds of a kept plan.
const (
	maxKeptEntries   = 65_000
	maxKeptDirectory = 16 << 20
	maxKeptHeader    = 16 << 20
	maxKeptShown     = 128 << 20
	maxKept          = 3 << 30 // unpacked, so that the zip file needs no extensions
)

// keptPlan is the first entry of a kept plan.
type keptPlan struct {
	Format      int              `json:"southbound_plan"`
	Made        time.Time        `json:"made"`
	Program     string           `json:"program"`
	Environment string           `json:"environment"`
	Home        string           `json:"home"`
	HomeID      string           `json:"home_id,omitempty"`
	Project     string           `json:"project,omitempty"`
	Last        int              `json:"last"`
	Released    int              `json:"released"`
	Read        bool             `json:"read"`
	Whole       bool             `json:"whole"`
	Bundle      exports.Bundle   `json:"bundle"`
	Blobs       []files.FileSize `json:"blobs"` // chunks, agents and files
	Files       []string         `json:"files"` // hashes of the blobs to which resources refer
	Shown       files.FileSize   `json:"shown"`
}

// Write writes a plan. A plan that is too large for ReadKept is Unsupported.
func (k *Plan) Write(to io.Writer) error {
	p, err := chunk.Pack(k.Export.Model)
	if err != nil {
		return err
	}
	h := keptPlan{Format: keptFormat, Made: k.Made.UTC(), Program: k.Program,
		Environment: k.Environment, Home: k.Home, HomeID: k.HomeID, Project: k.Project,
		Last: k.Last, Released: k.Released, Read: k.Compare.Read, Whole: k.Compare.Whole,
		Bundle: exports.BundleOf(k.Export, p), Blobs: []files.FileSize{},
		Files: slices.Sorted(maps.Keys(k.Export.Model.Files))}
	blobs := files.BlobsOf(k.Export.Model, p)
	total := int64(0)
	for _, b := range blobs {
		h.Blobs = append(h.Blobs, files.FileSize{Hash: b.Hash, Size: b.Size})
		total += b.Size
	}
	if h.Shown, err = writeShown(io.Discard, k.Planned); err != nil {
		return err
	}
	if len(blobs) > maxKeptEntries-2 || total > maxKept-maxKeptShown ||
		h.Shown.Size > maxKeptShown {
		return fault.New(fault.Unsupported, "keep a plan",
			"it has %d files of %d bytes and shows %d bytes, and a plan that is kept has at most "+
				"%d, %d and %d",
			len(blobs), total, h.Shown.Size, maxKeptEntries-2, int64(maxKept-maxKeptShown),
			maxKeptShown).
			WithHint("apply the documents, or plan a part of them")
	}
	z := zip.NewWriter(to)
	if err := h.write(z, k.Planned, blobs); err != nil {
		return err
	}
	return fault.Wrap(fault.Unavailable, "write plan", z.Close())
}

// write writes all entries.
func (h *keptPlan) write(z *zip.Writer, planned []deploy.PlannedChange, blobs []state.Blob) error {
	head, err := wire.Encode(h)
	if err != nil {
		return err
	}
	if len(head) > maxKeptHeader {
		return fault.New(fault.Unsupported, "keep a plan", "it has too many files")
	}
	entry := func(name string, write func(w io.Writer) error) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return fault.Wrap(fault.Unavailable, "write plan", err)
		}
		return write(w)
	}
	err = entry(keptHeader, func(w io.Writer) error {
		_, err := w.Write(head)
		return fault.Wrap(fault.Unavailable, "write plan", err)
	})
	if err == nil {
		err = entry(keptShown, func(w io.Writer) error {
			_, err := writeShown(w, planned)
			return err
		})
	}
	for i := 0; i < len(blobs) && err == nil; i++ {
		err = entry(keptBlobs+blobs[i].Hash,
			func(w io.Writer) error { return copyBlob(w, blobs[i]) })
	}
	return err
}

// copyBlob writes the bytes of a blob, if they still have its hash.
func copyBlob(w io.Writer, b state.Blob) error {
	src, err := files.Open(b)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read file", err)
	}
	defer func() { _ = src.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(src, b.Size+1)); err != nil {
		return fault.Wrap(fault.Unavailable, "write plan", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.Hash {
		return fault.New(fault.Invalid, "write plan",
			"a file that the documents name changed while it was read").
			WithHint("make the plan again")
	}
	return nil
}

// writeShown writes the shown changes, one a line.
func writeShown(w io.Writer, planned []deploy.PlannedChange) (files.FileSize, error) {
	d := &digested{to: w, sum: sha256.New()}
	out := bufio.NewWriterSize(d, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range planned {
		if err := enc.Encode(results.PlannedChange(planned[i])); err != nil {
			return files.FileSize{}, fault.Wrap(fault.Unavailable, "write plan", err)
		}
	}
	err := out.Flush()
	return files.FileSize{Hash: hex.EncodeToString(d.sum.Sum(nil)),
		Size: d.n}, fault.Wrap(fault.Unavailable, "write plan", err)
}

// digested hashes and counts the written bytes.
type digested struct {
	to  io.Writer
	sum hash.Hash
	n   int64
}

// Write implements io.Writer.
func (d *digested) Write(p []byte) (int, error) {
	n, err := d.to.Write(p)
	_, _ = d.sum.Write(p[:n])
	d.n += int64(n)
	return n, err // callers add the operation
}
