package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/fault"
)

// How a caller is known: the values of Caller.Via.
const (
	ViaOS      = "os"      // the user of the operating system
	ViaToken   = "token"   // the name of the bearer token
	ViaProxy   = "proxy"   // the name that a trusted proxy sent
	ViaIAM     = "iam"     // the identity of the caller in AWS
	ViaConsole = "console" // the name of a session of the console
	ViaArchive = "archive" // the archive that an invoke of the export function names
)

// Caller is who makes a request.
type Caller struct {
	User     string // "": unknown
	Via      string
	ReadOnly bool // requests that change something are rejected
}

type callerKey struct{}

// WithCaller returns a context of requests by a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf returns the caller of a request. It returns false if the caller is not known.
func CallerOf(ctx context.Context) (Caller, bool) {
	c, known := ctx.Value(callerKey{}).(Caller)
	return c, known
}

// ErrReadOnly is the error for a request that changes something, by a caller that may only read.
func ErrReadOnly() error {
	return fault.New(fault.Denied, "", "this caller may only read, and the request changes something").
		WithHint("use the other token, or ask the operator of the server for the right to change")
}

// Safe reports whether a method of HTTP changes nothing.
func Safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// MaxMessage is the number of characters of a message.
const MaxMessage = 1000

// MessageHeader is the header with the message of a request: UTF-8, percent-encoded.
const MessageHeader = "Southbound-Message"

// UserHeader is the header with the user for whom a program, such as a console, makes a request:
// UTF-8, percent-encoded. The bearer of the request vouches for it.
const UserHeader = "Southbound-User"

// maxUser is the number of characters of the name of a user.
const maxUser = 200

// OnBehalf returns the caller of a request that a program makes for a user; value is that of the
// header.
func OnBehalf(of Caller, value string) (Caller, error) {
	name, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxUser ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return of, fault.New(fault.Usage, "", "the header %s does not name a user", UserHeader).
			WithHint("write at most %d characters, percent-encoded", maxUser)
	}
	if of.User != "" {
		name += " (" + of.User + ")"
	}
	return Caller{User: name, Via: ViaConsole, ReadOnly: of.ReadOnly}, nil
}

type messageKey struct{}

// WithMessage returns a context of requests with a message: why they are made, for the audit.
func WithMessage(ctx context.Context, message string) context.Context {
	return context.WithValue(ctx, messageKey{}, message)
}

// MessageOf returns the message of a request; "" if it has none.
func MessageOf(ctx context.Context) string {
	text, _ := ctx.Value(messageKey{}).(string)
	return text
}

// CheckMessage rejects a message that the audit does not keep.
func CheckMessage(text string) error {
	switch {
	case !utf8.ValidString(text):
		return fault.New(fault.Usage, "", "the message is not UTF-8")
	case utf8.RuneCountInString(text) > MaxMessage:
		return fault.New(fault.Usage, "", "the message has more than %d characters", MaxMessage).
			WithHint("shorten it")
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return fault.New(fault.Usage, "", "the message has the control character %U", r).
				WithHint("leave it out")
		}
	}
	return nil
}

// EncodeMessage returns a message as the value of its header.
func EncodeMessage(text string) string { return url.PathEscape(text) }

// DecodeMessage reads the value of the header of a message.
func DecodeMessage(value string) (string, error) {
	text, err := url.PathUnescape(value)
	if err != nil {
		return "", fault.New(fault.Usage, "", "the header %s is not percent-encoded", MessageHeader).
			WithHint("write %%25 for %%")
	}
	return text, CheckMessage(text)
}
