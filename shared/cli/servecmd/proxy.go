package servecmd

import (
	"net/netip"

	"github.com/spf13/pflag"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// proxyFlags are the flags about a proxy that signs users in.
type proxyFlags struct {
	behind     []string
	user, role string
}

func (f *proxyFlags) add(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.behind, "behind", nil,
		"with --listen: addresses of a proxy, such as 10.0.0.5/32, whose headers are trusted")
	flags.StringVar(&f.user, "user-header", "",
		"with --behind: header with the name of the user, for the audit")
	flags.StringVar(&f.role, "role-header", "",
		"with --behind: header with the role; all but \"operator\" may only read")
}

func (f *proxyFlags) set() bool { return len(f.behind) > 0 || f.user != "" || f.role != "" }

// check rejects headers that no proxy is trusted for, and a proxy without headers.
func (f *proxyFlags) check() error {
	if headers := f.user != "" || f.role != ""; headers != (len(f.behind) > 0) {
		return fault.New(fault.Usage, "run",
			"--behind belongs to --user-header or --role-header").
			WithHint("name the addresses of the proxy and a header that it sets")
	}
	return f.apply(&api.Guard{})
}

// apply makes a guard trust the headers.
func (f *proxyFlags) apply(g *api.Guard) error {
	g.UserHeader, g.RoleHeader = f.user, f.role
	for _, text := range f.behind {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fault.New(fault.Usage, "run", "--behind %s is not a range of addresses", text).
				WithHint("write it such as 10.0.0.5/32")
		}
		g.Behind = append(g.Behind, prefix)
	}
	return nil
}
