package showcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
)

// Discovery is discover: it lists things that exist.
type Discovery struct {
	*output.Console
	*home.Location
	*home.Session
	*home.Program
}

// DiscoverCommand returns the command discover.
func (ds *Discovery) DiscoverCommand() *cobra.Command {
	agent := ""
	var ids []string
	cmd := &cobra.Command{Use: "discover TYPE [ATTRIBUTE=VALUE...]",
		Short: "Describe existing things as resources",
		Long: "discover lists the things of a type on an agent, and writes them as a document. " +
			"It changes nothing, and an apply of the document changes nothing. Things that no " +
			"resource can describe are left out and named on standard error. Some types need " +
			"attributes that select a place, such as a bucket or a path. Types of the " +
			"southbound.lock in this directory are described by the identifiers that --import names, " +
			"or as their provider lists them. References stand for secret values; standard error " +
			"names the variables to set. With --json the " +
			"document is one line. With --api the server reads an agent that it knows.\n\nAdd " +
			"the document to the documents that you apply. Applied alone, it would be the " +
			"whole description of the environment.",
		Example: "  southbound discover pkg::Package > site/packages.yaml\n" +
			"  southbound discover svc::Service --agent web1 > site/web1-services.yaml\n" +
			"  southbound discover aws::s3::Object --agent site bucket=my-bucket\n" +
			"  southbound discover http::Object --agent shop collection=/users " +
			"path=/users/{name} name=/login\n" +
			"  southbound discover tf::postgresql::Role --agent db --import app --import shop",
		Args: usage.AtLeastOne("a type"),
		RunE: usage.After(ds.OpenToRead, func(ctx context.Context, args []string) error {
			return ds.discover(ctx, args, agent, ids)
		})}
	cmd.Flags().StringArrayVar(&ids, "import", nil,
		"the provider's `ID` of a thing to describe; can be repeated")
	cmd.Flags().StringVar(&agent, "agent", "local",
		"agent to read; an agent that the environment does not have is this machine")
	return cmd
}

// document is the output of discover: format 1.
type document struct {
	Southbound int           `json:"southbound" yaml:"southbound"`
	Agents     described     `json:"agents,omitempty" yaml:"agents,omitempty"`
	Resources  []description `json:"resources" yaml:"resources"`
}

type described map[string]map[string]any

type description struct {
	Type       string         `json:"type" yaml:"type"`
	Agent      string         `json:"agent" yaml:"agent"`
	Attributes map[string]any `json:"attributes" yaml:"attributes"`
}

func (ds *Discovery) discover(ctx context.Context, args []string, agent string, ids []string) error {
	like := map[string]string{}
	for _, arg := range args[1:] {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return fault.New(fault.Usage, "discover", "%q is not ATTRIBUTE=VALUE", arg)
		}
		like[name] = value
	}
	of := api.Discover{Type: args[0], Agent: agent, Like: like, Import: ids}
	types, err := ds.Registry(ds.Project.Dir)
	if err != nil {
		return err
	}
	if t, known := types.Type(of.Type); known && t.Declaration() != nil {
		of.Declared, of.Declaration = t.Declaration(), t.Declaration().Hash
	}
	d, err := ds.Home.Discover(ctx, ds.Env, of)
	if err != nil {
		return err
	}
	ds.sayWhere(ctx, agent)
	doc := document{Southbound: 1, Resources: []description{}}
	for _, f := range d.Resources {
		doc.Resources = append(doc.Resources, description{args[0], agent, f.Attributes})
		if f.Note != "" {
			ds.Say("%s: %s", f.ID, f.Note)
		}
	}
	if d.Agent != nil {
		doc.Agents = described{agent: d.Agent}
	}
	ds.leftOut(d.Left)
	if ds.JSON {
		ds.Line(doc)
		return nil
	}
	for i := range doc.Resources {
		doc.Resources[i].Attributes, _ = output.Numbered(doc.Resources[i].Attributes).(map[string]any)
	}
	for name, options := range doc.Agents {
		doc.Agents[name], _ = output.Numbered(options).(map[string]any)
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the document", err)
	}
	_, err = ds.Output().Write(text)
	return err
}

// maxLeft is how many of the omitted things are named.
const maxLeft = 20

// sayWhere reports that an agent is unknown although others exist; discover then examined this
// machine.
func (ds *Discovery) sayWhere(ctx context.Context, agent string) {
	agents, err := ds.Home.Agents(ctx, ds.Env)
	if err != nil || len(agents) == 0 ||
		slices.ContainsFunc(agents, func(a api.Agent) bool { return a.Name == agent }) {
		return
	}
	ds.Say("no version names the agent %q: this machine was looked at", agent)
}

func (ds *Discovery) leftOut(left []api.Found) {
	for i, l := range left {
		if i == maxLeft {
			ds.Say("and %d more are left out", len(left)-i)
			return
		}
		ds.Say("left out: %s: %s", l.ID, l.Why)
	}
}
