package platform

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
)

// Build identifies the program that runs by what it was built to: two builds of one source with one
// toolchain are the same, and any other differs. It is the build id that the linker has written
// into the program, or, where there is none, the digest of its bytes; "" when the program cannot be
// read.
func Build() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return buildOf(path)
}

func buildOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if id := buildID(f); len(id) > 0 {
		sum.Write(id)
	} else if _, err := io.Copy(sum, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// buildID returns the build id in a program in the format ELF, nil when there is none.
func buildID(f io.ReaderAt) []byte {
	program, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	section := program.Section(".note.go.buildid")
	if section == nil {
		return nil
	}
	note, err := section.Data()
	const header = 16 // the sizes of name and value, the type, and the name
	if err != nil || len(note) < header || !bytes.Equal(note[12:header], []byte("Go\x00\x00")) {
		return nil
	}
	size := program.ByteOrder.Uint32(note[4:])
	if uint64(size) > uint64(len(note)-header) {
		return nil
	}
	return note[header : header+size]
}
