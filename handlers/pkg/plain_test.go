//go:build !servers

package pkg

func prepare() error { return nil }
