// Package keystest is a store of keys and values for tests.
package keystest

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Store is a store on loopback. It asks for Password.
type Store struct {
	Address string
	mu      sync.Mutex
	entries map[string]string
	before  func() error
}

// Password is what stores ask for.
const Password = "s3cret-of-a-store"

// New starts a store, which ends with the test. before, when not nil, is asked before each
// question; its error ends the connection.
func New(t *testing.T, before func() error) *Store {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &Store{Address: l.Addr().String(), entries: map[string]string{}, before: before}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *Store) serve(c net.Conn) {
	defer c.Close()
	known := false
	for lines := bufio.NewScanner(c); lines.Scan(); {
		verb, rest, _ := strings.Cut(lines.Text(), " ")
		var key, value string
		_, _ = fmt.Sscanf(rest, "%q %q", &key, &value)
		if known = known || verb == "AUTH" && key == Password; !known {
			fmt.Fprintln(c, "ERR password")
			continue
		}
		if verb != "AUTH" && s.before != nil && s.before() != nil {
			return
		}
		fmt.Fprintln(c, s.answer(verb, key, value))
	}
}

func (s *Store) answer(verb, key, value string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "GET":
		if v, ok := s.entries[key]; ok {
			return fmt.Sprintf("VALUE %q", v)
		}
		return "NONE"
	case "SET":
		s.entries[key] = value
	case "DEL":
		delete(s.entries, key)
	}
	return "OK"
}

// World lists the entries whose keys begin with prefix, without it.
func (s *Store) World(prefix string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(s.entries)) {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			fmt.Fprintf(&out, "%q=%q\n", rest, s.entries[k])
		}
	}
	return out.String(), nil
}

// Remove takes an entry away.
func (s *Store) Remove(key string) { s.answer("DEL", key, "") }
