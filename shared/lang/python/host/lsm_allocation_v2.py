"""Allocators that get a context."""
