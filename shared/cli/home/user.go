package home

import (
	"os"
	"os/user"
	"strconv"

	"southbound/shared/api"
)

// OSUser returns the user of the operating system that runs this process, as the caller of requests.
func OSUser() api.Caller {
	c := api.Caller{User: strconv.Itoa(os.Getuid()), Via: api.ViaOS}
	if u, err := user.Current(); err == nil {
		c.User = u.Username
	}
	return c
}
