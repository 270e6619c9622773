package sops

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"

	"southbound/shared/fault"
)

// The variables that hold an age key, or name the file with one.
const (
	keyVariable  = "SOPS_AGE_KEY"
	fileVariable = "SOPS_AGE_KEY_FILE"
)

// identities are the age keys of this process.
type identities struct {
	text string // their sources, to notice a change
	all  []age.Identity
	from []string // the variables that they are from
}

// keys returns the age keys of this process.
func (r *Reader) keys() (identities, error) {
	var out identities
	if text := os.Getenv(keyVariable); text != "" {
		if err := out.add(text, keyVariable, ""); err != nil {
			return out, err
		}
	}
	if path := os.Getenv(fileVariable); path != "" {
		text, err := r.File(path)
		if err != nil {
			return out, &fault.Error{Kind: fault.Invalid, Hint: "correct the variable " + fileVariable,
				Message: fileVariable, Err: err}
		}
		if err := out.add(text, fileVariable, " ("+path+")"); err != nil {
			return out, err
		}
	}
	if len(out.all) == 0 {
		return out, fault.New(fault.Invalid, "", "there is no age key to decrypt it").
			WithHint("set %s to the key (AGE-SECRET-KEY-1...), or %s to the path of its file",
				keyVariable, fileVariable)
	}
	return out, nil
}

func (k *identities) add(text, variable, where string) error {
	found, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil { // which may contain a part of the key
		return fault.New(fault.Invalid, "", "%s%s holds no age key", variable, where).
			WithHint("write keys as age-keygen prints them, one a line: AGE-SECRET-KEY-1...")
	}
	k.all, k.from = append(k.all, found...), append(k.from, variable+where)
	k.text += "\n" + text
	return nil
}

// recipient is an age key for which the data key of a file is encrypted.
type recipient struct{ name, sealed string }

const keySize = 32 // bytes of a data key

// dataKey returns the key that encrypts the values.
func (k identities) dataKey(of []recipient) ([]byte, error) {
	var names []string
	for _, r := range of {
		names = append(names, r.name)
		key, err := age.Decrypt(armor.NewReader(strings.NewReader(r.sealed)), k.all...)
		var other *age.NoIdentityMatchError
		if errors.As(err, &other) {
			continue
		}
		var text []byte
		if err == nil {
			text, err = io.ReadAll(io.LimitReader(key, keySize+1))
		}
		if err != nil || len(text) != keySize {
			return nil, changed("the data key for %s", r.name)
		}
		return bytes.Clone(text), nil
	}
	return nil, fault.New(fault.Denied, "", "the key of %s is none of those that open it: it is "+
		"encrypted for %s", strings.Join(k.from, " and "), strings.Join(names, ", ")).
		WithHint("set %s or %s to the key of one of them, or ask an owner of a key to add yours: "+
			"sops rotate --in-place --add-age RECIPIENT FILE", keyVariable, fileVariable)
}

// changed returns the error of a file that sops has not written like that.
func changed(format string, args ...any) error {
	return fault.New(fault.Damaged, "", format+" is damaged", args...).
		WithHint("restore the file from a copy: it was edited without sops, or merged wrongly")
}
