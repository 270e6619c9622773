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

// Translate returns the output of SAM's transform of a template, as JSON, which is the template
// that CloudFormation receives. If the template names code or other templates by local paths, the
// output names objects that do not exist.
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
