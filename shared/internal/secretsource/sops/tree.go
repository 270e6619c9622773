package sops

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"southbound/shared/fault"
)

// branch is a map in the order of its file. Values are branch, []any, string, int, float64, bool,
// time.Time, comment and nil.
type branch []item

type item struct {
	key   string
	value any
}

// comment is a comment that sops keeps among the values of a list.
type comment struct{}

const maxDepth = 100

// parse returns the documents of a file.
func parse(f format, text string) ([]branch, error) {
	switch f {
	case formatYAML:
		return parseYAML(text)
	case formatENV:
		one, err := parseENV(text)
		return []branch{one}, err
	case formatINI:
		return nil, fault.New(fault.Unsupported, "", "INI files are not read").
			WithHint("convert it to YAML with sops: sops decrypt, and sops encrypt")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := parseJSON(d, 0)
	one, ok := v.(branch)
	if _, more := d.Token(); err != nil || !ok || !errors.Is(more, io.EOF) {
		return nil, unreadable("JSON object")
	}
	return []branch{one}, nil
}

// unreadable does not cite the parser, whose errors may contain values.
func unreadable(what string) error {
	return fault.New(fault.Invalid, "", "it is not a valid %s", what).
		WithHint("name a file that sops has encrypted, with the extension of its format")
}

func parseJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil || depth > maxDepth {
		return nil, errors.Join(err, errDeep(depth))
	}
	switch t := t.(type) {
	case json.Number:
		if i, err := t.Int64(); err == nil {
			return int(i), nil
		}
		return t.Float64()
	case json.Delim:
		if t == '[' {
			list := []any{}
			for d.More() {
				v, err := parseJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				list = append(list, v)
			}
			_, err := d.Token()
			return list, err
		}
		out := branch{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := parseJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, item{fmt.Sprint(key), v})
		}
		_, err := d.Token()
		return out, err
	}
	return t, nil
}

func errDeep(depth int) error {
	if depth > maxDepth {
		return errors.New("too deep")
	}
	return nil
}

func parseYAML(text string) ([]branch, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text))
	var out []branch
	for err == nil {
		var n yaml.Node
		if err = loader.Load(&n); err != nil || len(n.Content) == 0 {
			continue
		}
		v, bad := ofNode(n.Content[0], 0)
		one, ok := v.(branch)
		if bad != nil || !ok && v != nil {
			return nil, unreadable("YAML map")
		}
		out = append(out, one)
	}
	if !errors.Is(err, io.EOF) {
		return nil, unreadable("YAML file")
	}
	return out, nil
}

func ofNode(n *yaml.Node, depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, errDeep(depth)
	case n.Kind == yaml.MappingNode:
		out := branch{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := ofNode(n.Content[i+1], depth+1)
			if err != nil || n.Content[i].Kind != yaml.ScalarNode {
				return nil, errors.Join(err, errors.New("no key"))
			}
			out = append(out, item{n.Content[i].Value, v})
		}
		return out, nil
	case n.Kind == yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			v, err := ofNode(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case n.Kind == yaml.ScalarNode:
		var v any
		err := n.Decode(&v)
		return v, err
	}
	return nil, errors.New("an alias") // sops writes none
}

// parseENV reads NAME=VALUE lines. sops writes \n for a line end in a value.
func parseENV(text string) (branch, error) {
	var out branch
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, unreadable("file of NAME=VALUE lines")
		}
		out = append(out, item{name, strings.ReplaceAll(value, `\n`, "\n")})
	}
	return out, nil
}

// plain returns the bytes of a value that the code over all values covers.
func plain(v any) []byte {
	switch v := v.(type) {
	case string:
		return []byte(v)
	case int:
		return strconv.AppendInt(nil, int64(v), 10)
	case float64:
		return strconv.AppendFloat(nil, v, 'f', -1, 64)
	case bool:
		if v {
			return []byte("True")
		}
		return []byte("False")
	case time.Time:
		b, _ := v.MarshalText()
		return b
	}
	return nil
}
