package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// disks are the types demo::Disk and demo::Volume, whose things are replaced to have another zone:
// of a disk the old one is deleted first, of a volume the new one is created first. Each thing is a
// file NAME-NUMBER in a directory, which has a log of what was done.
func disks() []provider.Definition {
	attributes := []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
		{Name: "dir", Type: "String[1]", Behaviour: schema.Parameter, Description: "where it is"},
		{Name: "size", Type: "Integer", Default: 1, Description: "how large it is"},
		{Name: "zone", Type: "String[1]", Behaviour: schema.Replace,
			Description: "where it stands"},
	}
	number := schema.Attribute{Name: "number", Type: "Integer", Behaviour: schema.ReadOnly,
		Description: "what it is known by"}
	return []provider.Definition{
		{Type: schema.Type{Name: "demo::Disk", Description: "A disk.", Attributes: attributes},
			Handler: disk{}},
		{Type: schema.Type{Name: "demo::Volume", Description: "A volume.", Assigned: true,
			CreateFirst: true,
			Attributes:  append(slices.Clone(attributes), number)}, Handler: disk{numbered: true}},
		{Bridge: &provider.Bridge{Name: "br", Handler: bridged}},
	}
}

// bridged returns the handler of br::Thing, which a lock file declares.
func bridged(t schema.Type) (provider.Handler, error) {
	if t.Name != "br::Thing" {
		return nil, errors.New("it serves br::Thing only")
	}
	return colours{}, nil
}

// colours manages files with a colour.
type colours struct{}

func (colours) file(r provider.Resource) string {
	return filepath.Join(text(r, "dir"), text(r, "name"))
}

// Read implements provider.Handler.
func (c colours) Read(_ *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	b, err := os.ReadFile(c.file(req.Resource))
	if errors.Is(err, fs.ErrNotExist) {
		return provider.Observation{}, nil
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"colour": strings.TrimSpace(string(b))}}, err
}

// List implements provider.Lister. It lists the things of the script that runs.
func (c colours) List(_ *provider.Context, each func(provider.Found) error) error {
	dir := filepath.Join(os.Getenv("WORK"), "things")
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if err == nil && f.Name() != "empty" {
			err = each(provider.Found{Attributes: map[string]any{"name": f.Name(), "dir": dir}})
		}
	}
	return err
}

func (c colours) write(r provider.Resource) (provider.Result, error) {
	return provider.Result{}, os.WriteFile(c.file(r), []byte(text(r, "colour")+"\n"), 0o600)
}

// Create implements provider.Handler.
func (c colours) Create(_ *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return c.write(req.Resource)
}

// Update implements provider.Handler.
func (c colours) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return c.write(req.Resource)
}

// Delete implements provider.Handler.
func (c colours) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, os.Remove(c.file(req.Resource))
}

type disk struct{ numbered bool }

// newest returns the number of the newest thing of a name, 0 if there is none.
func (disk) newest(r provider.Resource) (int, error) {
	files, err := filepath.Glob(filepath.Join(text(r, "dir"), text(r, "name")+"-*"))
	newest := 0
	for _, f := range files {
		n, _ := strconv.Atoi(f[strings.LastIndexByte(f, '-')+1:])
		newest = max(newest, n)
	}
	return newest, err
}

func text(r provider.Resource, attribute string) string {
	return fmt.Sprint(r.Attributes[attribute])
}

func (disk) file(r provider.Resource, number int) string {
	return filepath.Join(text(r, "dir"), fmt.Sprint(text(r, "name"), "-", number))
}

// Read implements provider.Handler.
func (d disk) Read(_ *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	n, err := d.newest(req.Resource)
	if n == 0 || err != nil {
		return provider.Observation{}, err
	}
	b, err := os.ReadFile(d.file(req.Resource, n))
	zone, size, _ := strings.Cut(string(b), " ")
	is, _ := strconv.ParseInt(size, 10, 64)
	attributes := map[string]any{"zone": zone, "size": is}
	if d.numbered {
		attributes["number"] = int64(n)
	}
	return provider.Observation{Exists: true, Attributes: attributes}, err
}

// note writes down what was done.
func (disk) note(r provider.Resource, what string, n int) error {
	f, err := os.OpenFile(filepath.Join(text(r, "dir"), "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s-%d\n", what, text(r, "name"), n)
	return errors.Join(err, f.Close())
}

func (d disk) write(r provider.Resource, what string, n int) error {
	err := os.WriteFile(d.file(r, n), fmt.Appendf(nil, "%s %s", text(r, "zone"), text(r, "size")),
		0o600)
	return errors.Join(err, d.note(r, what, n))
}

// Create implements provider.Handler.
func (d disk) Create(_ *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	n, err := d.newest(req.Resource)
	return provider.Result{}, errors.Join(err, d.write(req.Resource, "create", n+1))
}

// Update implements provider.Handler.
func (d disk) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	n, err := d.newest(req.Resource)
	return provider.Result{}, errors.Join(err, d.write(req.Resource, "update", n))
}

// Delete implements provider.Handler.
func (d disk) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	n, err := d.newest(req.Resource)
	if number, is := req.Observed.Attributes["number"].(int64); is {
		n = int(number)
	}
	if gone := os.Remove(d.file(req.Resource, n)); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return provider.Result{}, errors.Join(err, d.note(req.Resource, "delete", n))
}
