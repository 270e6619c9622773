package diffview

import (
	"bytes"
	"encoding/json"
	"fmt"

	"southbound/shared/resource"
)

// Short returns a value on one line, truncated if it is long.
func Short(v any) string { return Visible(short(v, maxValue), "") }

// short returns a value on one line of at most limit characters; 0 means no limit.
func short(v any, limit int) string {
	if v == nil {
		return "nothing"
	}
	if size, hash, is := File(v); is {
		if hash == "" {
			return bytesText(size)
		}
		return fmt.Sprintf("%s, SHA-256 %.12s", bytesText(size), hash)
	}
	text, err := PlainJSON(v)
	if err != nil {
		text = fmt.Append(nil, v)
	}
	if limit == 0 {
		return string(text)
	}
	if limit == maxValue && holdsWords(v) {
		limit = maxLine
	}
	return cut(string(text), limit)
}

func bytesText(n int64) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// PlainJSON returns JSON for people: characters that are special only in web pages are not escaped.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if _, is := v.(string); !is {
		text = unquoted(text)
	}
	return text, err
}

// File recognizes a reference to a file, also in its JSON form.
func File(v any) (size int64, hash string, is bool) {
	switch v := v.(type) {
	case resource.File:
		return v.Size, v.Hash, true
	case map[string]any:
		hash, isText := v["file"].(string)
		if !isText || len(v) != 2 {
			return 0, "", false
		}
		switch n := v["size"].(type) {
		case float64:
			return int64(n), hash, true
		case int64:
			return n, hash, true
		case json.Number:
			size, err := n.Int64()
			return size, hash, err == nil
		}
	}
	return 0, "", false
}
