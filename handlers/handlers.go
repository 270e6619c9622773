// Package handlers lists the types that this program serves.
package handlers

import (
	"southbound/handlers/acct"
	"southbound/handlers/aws"
	"southbound/handlers/cron"
	"southbound/handlers/exec"
	"southbound/handlers/fs"
	"southbound/handlers/git"
	"southbound/handlers/http"
	"southbound/handlers/net"
	"southbound/handlers/pkg"
	"southbound/handlers/sql"
	"southbound/handlers/std"
	"southbound/handlers/svc"
	"southbound/handlers/sys"
	"southbound/handlers/tf/agents"
	"southbound/shared/provider"
)

// All returns every type with its handler.
func All() []provider.Definition {
	return []provider.Definition{
		acct.Group(),
		acct.User(),
		aws.Item(),
		aws.Object(),
		aws.Parameter(),
		cron.Job(),
		exec.Run(),
		fs.Archive(),
		fs.Directory(),
		fs.File(),
		fs.IniSetting(),
		fs.Line(),
		fs.Symlink(),
		git.Checkout(),
		http.Object(),
		net.HostEntry(),
		pkg.Package(),
		sql.Database(),
		sql.Extension(),
		sql.Grant(),
		sql.Role(),
		sql.Schema(),
		std.Null(),
		svc.Service(),
		sys.Facts(),
	}
}

// InFunctions returns what the functions of the AWS home know: every type, and the transports of agents
// that they leave to runners.
func InFunctions() []provider.Definition { return append(All(), agents.Declared()) }
