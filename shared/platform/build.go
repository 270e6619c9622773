package platform

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"io"
	"os"
)

// Build identifies the running program by its binary. Two builds of the same source with the same
// toolchain have the same result, and any others differ. The result derives from the build id that
// the linker has written into the program, or from the bytes of the program if there is none. It is
// "" if the program cannot be read.
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

// buildID returns the build id in an ELF program, or nil if there is none.
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
	const header = 16 // sizes of name and value, type, and name
	if err != nil || len(note) < header || !bytes.Equal(note[12:header], []byte("Go\x00\x00")) {
		return nil
	}
	size := program.ByteOrder.Uint32(note[4:])
	if uint64(size) > uint64(len(note)-header) {
		return nil
	}
	return note[header : header+size]
}
