package server

import (
	"bytes"
	"context"
	_ "embed" // the program that translates
	"fmt"
	"os/exec"
	"path/filepath"
)

//go:embed translate.py
var translate string

// Translate returns what SAM's transform makes of a template, as JSON: what CloudFormation is given
// in the end. Where a template names code or other templates by a path of this machine, the result
// names an object that does not exist.
func (t Tools) Translate(ctx context.Context, template string) ([]byte, error) {
	python := filepath.Join(filepath.Dir(t.SAM), "python")
	cmd := exec.CommandContext(ctx, python, "-c", translate, template) // installed by its hash
	cmd.Env = append(t.Environment(), "AWS_DEFAULT_REGION=us-east-1")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("translate %s: %w\n%s", template, err, tail(said.Bytes()))
	}
	return out.Bytes(), nil
}
