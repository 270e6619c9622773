package wire

import (
	"bufio"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/fault"
)

// maxLine bounds the handshake line. It may contain a certificate.
const maxLine = 8 << 10

// maxShown bounds the text of a provider that an error shows.
const maxShown = 80

const opStart = "start the provider"

// Environment returns the variables that make a program start as a provider instead of printing
// that it is not to be run directly.
func Environment() []string {
	return []string{
		"TF_PLUGIN_MAGIC_COOKIE=d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		"PLUGIN_PROTOCOL_VERSIONS=5,6",
	}
}

// Handshake is the first line that a provider prints: the address on which it listens, and its protocol.
type Handshake struct {
	Protocol Protocol
	Socket   string // absolute path of a Unix socket
}

// ReadHandshake reads the first line of a provider's output. The error is io.EOF if the output ends
// before the line is complete, and else a fault that quotes the provider: secrets have to be removed
// from it.
func ReadHandshake(r io.Reader) (Handshake, error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, maxLine), maxLine).ReadString('\n')
	switch {
	case err == nil:
		return ParseHandshake(line)
	case len(line) >= maxLine:
		return Handshake{}, noProvider(line)
	case errors.Is(err, io.EOF) && line != "":
		return Handshake{}, noProvider(line)
	}
	return Handshake{}, err
}

// ParseHandshake parses the line CORE|VERSION|NETWORK|ADDRESS|PROTOCOL|CERTIFICATE. The certificate
// may be missing, and more parts may follow.
func ParseHandshake(line string) (Handshake, error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 4 {
		return Handshake{}, noProvider(line)
	}
	core, err := strconv.Atoi(parts[0])
	version, err2 := strconv.Atoi(parts[1])
	if err != nil || err2 != nil {
		return Handshake{}, noProvider(line)
	}
	if core != 1 {
		return Handshake{}, unsupported("it speaks version %d of the plugin handshake instead of 1",
			core)
	}
	if p := Protocol(version); p != Protocol5 && p != Protocol6 {
		return Handshake{}, unsupported("it speaks version %d of the provider protocol; "+
			"versions 5 and 6 are supported", version)
	}
	if parts[2] != "unix" {
		return Handshake{}, unsupported("it listens on %s instead of a Unix socket", shown(parts[2]))
	}
	if len(parts) < 5 || parts[4] != "grpc" {
		return Handshake{}, unsupported("it does not speak gRPC")
	}
	if len(parts) > 5 && parts[5] != "" {
		return Handshake{}, unsupported("it requires TLS, which was not requested")
	}
	socket := parts[3]
	if !filepath.IsAbs(socket) || strings.ContainsRune(socket, 0) {
		return Handshake{}, unsupported("it listens on %s, which is not an absolute path",
			shown(socket))
	}
	return Handshake{Protocol(version), socket}, nil
}

func noProvider(line string) error {
	return fault.New(fault.Unsupported, opStart,
		"the program is not a Terraform provider: it printed %s instead of a handshake", shown(line)).
		WithHint("name the program terraform-provider-NAME of the provider's archive; " +
			"if it is a provider, correct it so that it writes logs to stderr only")
}

func unsupported(format string, args ...any) error {
	return fault.New(fault.Unsupported, opStart, format, args...).
		WithHint("install another version of the provider")
}

// shown returns the start of a text in quotes.
func shown(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxShown {
		text = text[:maxShown]
		for !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && len(text) > maxShown-utf8.UTFMax {
			text = text[:len(text)-1]
		}
		text += "…"
	}
	return strconv.Quote(text)
}
