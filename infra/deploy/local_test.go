package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKilledEmulator pins that an emulator counts as running while its process holds the state
// file, not while some process has the number that stands in it.
func TestKilledEmulator(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local.json")
	if s, err := runningIn(path); s != nil || err != nil {
		t.Fatalf("without a file: %+v, %v", s, err)
	}
	want := state{PID: os.Getpid(), Endpoint: "http://127.0.0.1:1"}
	held, err := write(path, want)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := runningIn(path); s == nil || *s != want || err != nil {
		t.Errorf("while it runs: %+v, %v", s, err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := runningIn(path); s != nil || err != nil {
		t.Errorf("after it was killed, and its number is another process's: %+v, %v", s, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the state file of a killed emulator stays: %v", err)
	}
}

// TestEmulatorInDocker pins that what Docker holds needs no process of ours.
func TestEmulatorInDocker(t *testing.T) {
	path, want := filepath.Join(t.TempDir(), "local.json"), state{Endpoint: "http://127.0.0.1:1"}
	file, err := write(path, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := runningIn(path); s == nil || *s != want || err != nil {
		t.Errorf("it is %+v, %v", s, err)
	}
}
