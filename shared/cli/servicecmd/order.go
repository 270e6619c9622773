package servicecmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// orderFlags are the flags of commands that place an order.
type orderFlags struct {
	file    string
	message string
	seen    int64
	wait    bool
	timeout time.Duration
	plan    bool
}

// waits adds the flags of commands that can wait.
func (f *orderFlags) waits(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until no transfer is under way")
	cmd.Flags().
		DurationVar(&f.timeout, "timeout", 0, "maximum time to wait; 0: no limit")
}

// plans adds the flag of commands that can preview an order.
func (f *orderFlags) plans(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.plan, "plan", false,
		"show the instance, its states and its resources as they would be; order nothing")
}

// changes adds the flags of commands that change an instance.
func (f *orderFlags) changes(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&f.seen, "current-version", 0,
		"refuse if the instance has another version; 0: any version")
	cmd.Flags().StringVar(&f.message, "message", "", "reason, shown with the events")
	f.waits(cmd)
}

func (f *orderFlags) wish(ref orders.Ref) orders.Wish {
	w := orders.Wish{Ref: ref, Message: f.message}
	if f.seen != 0 {
		w.Version = &f.seen
	}
	return w
}

func (f *orderFlags) check(op string) error {
	if f.timeout != 0 && !f.wait {
		return fault.New(fault.Usage, op, "--timeout is about --wait").WithHint("add --wait")
	}
	if f.plan && f.wait {
		return fault.New(fault.Usage, op, "--plan orders nothing, so there is nothing to wait for").
			WithHint("leave out --plan or --wait")
	}
	return usage.NotNegative(op, "timeout", f.timeout)
}

const valuesHelp = " attr=value gives an attribute, whose type the definition has; a list takes " +
	"several. attr:=JSON gives a value as it is. A relation takes the id of an instance, or " +
	"NAME/identity. -f is a file with an object of attributes, as JSON or YAML; - is " +
	"standard input."

// orderCommands place orders for instances of services, and for changes of them.
type orderCommands struct {
	*output.Console
	*home.Location
	*home.Session
	views  *serviceViews
	worker *home.OrderServer
}

func (oc *orderCommands) serviceCreate() *cobra.Command {
	var f orderFlags
	var c orders.Creation
	version := -1
	cmd := &cobra.Command{
		Use: "create NAME [-f FILE | attr=value...]", Short: "Order an instance of a service",
		Long: "create orders an instance." + valuesHelp,
		Example: "  southbound service create customer name=acme\n" +
			"  southbound service create site host_name=www.example customer=customer/acme " +
			"--wait\n" +
			"  southbound service create site -f site.yaml --plan",
		Args: usage.AtLeastOne("the name of a service"),
	}
	cmd.RunE = oc.views.ordered(oc.Open,
		func(ctx context.Context, o api.Orders, args []string) error {
			if err := f.check("service create"); err != nil {
				return err
			}
			if version >= 0 {
				c.Version = &version
			}
			if c.ID != "" {
				if err := orders.CheckID(c.ID); err != nil {
					return err
				}
			}
			return oc.create(ctx, o, args, c, &f)
		})
	cmd.Flags().
		StringVarP(&f.file, "file", "f", "", "a file with the attributes; - is standard input")
	cmd.Flags().
		StringVar(&c.ID, "id", "",
			"a UUID for the instance; placing the order again makes no second one")
	cmd.Flags().
		StringVar(&c.State, "state", "", "begin in this one of the alternative initial states")
	cmd.Flags().
		IntVar(&version, "service-version", -1, "of the definition; the default one unless given")
	cmd.Flags().
		StringToStringVar(&c.Metadata, "metadata", nil, "KEY=VALUE to keep with the instance")
	f.waits(cmd)
	f.plans(cmd)
	return cmd
}

func (oc *orderCommands) create(
	ctx context.Context, o api.Orders, args []string, c orders.Creation, f *orderFlags,
) error {
	version := -1
	if c.Version != nil {
		version = *c.Version
	}
	s, err := oc.views.offer(ctx, o, args[0], version, false)
	if err != nil {
		return err
	}
	g, err := oc.given(&s.Service, args[1:], f.file, false)
	if err != nil {
		return err
	}
	c.Service, c.Attributes = s.Name, g.attributes
	if f.plan {
		return oc.preview(ctx, orders.Draft{Create: &c})
	}
	i, err := o.Create(ctx, oc.Env, c)
	if err != nil {
		return err
	}
	return oc.placed(ctx, o, f, []orders.Instance{i})
}

// given reads attributes from a file, or from arguments.
func (oc *orderCommands) given(
	s *definition.Service, terms []string, file string, edits bool,
) (given, error) {
	if file == "" {
		g, err := typedValues(s, terms, edits)
		byName(&s.Part, g.attributes)
		return g, err
	}
	if len(terms) > 0 {
		return given{}, fault.New(fault.Usage, "", "attributes are in the file, or arguments").
			WithHint("use one of them")
	}
	v, err := oc.readOrder(file, maxAttributes)
	if err != nil {
		return given{}, err
	}
	set, ok := v.(map[string]any)
	if !ok {
		return given{}, diag.Problems{{
			Pos: diag.Pos{File: file}, Message: "it is not an object of attributes",
			Hint: "write NAME: VALUE, a line each",
		}}
	}
	byName(&s.Part, set)
	return given{attributes: set}, nil
}

func (oc *orderCommands) serviceUpdate() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "update ID [-f FILE | attr=value...]", Short: "Change attributes of an instance",
		Long: "update changes attributes of an instance; all others stay." + valuesHelp +
			" A path leads to members: 'databases[name=shop].size=3'." + referenceHelp,
		Example: "  southbound service update site/www.example quota=10 --wait\n" +
			"  southbound service update site/www.example 'databases[name=shop].size=3'\n" +
			"  southbound service update site/www.example -f changes.yaml --current-version 3",
		Args: usage.AtLeastOne("an id"),
	}
	cmd.RunE = oc.views.ordered(oc.Open,
		func(ctx context.Context, o api.Orders, args []string) error {
			if err := f.check("service update"); err != nil {
				return err
			}
			if len(args) == 1 && f.file == "" {
				return fault.New(fault.Usage, "service update", "there is nothing to change").
					WithHint("give attr=value, or a file with -f")
			}
			return oc.update(ctx, o, args, &f)
		})
	cmd.Flags().
		StringVarP(&f.file, "file", "f", "", "a file with the attributes; - is standard input")
	f.changes(cmd)
	f.plans(cmd)
	return cmd
}

func (oc *orderCommands) update(
	ctx context.Context, o api.Orders, args []string, f *orderFlags,
) error {
	ref := reference(args[0])
	is, err := o.Instance(ctx, oc.Env, ref)
	if err != nil {
		return hinted(err, ref)
	}
	s, err := o.Offer(ctx, oc.Env, is.Service, is.ServiceVersion, false)
	if err != nil {
		return err
	}
	g, err := oc.given(&s.Service, args[1:], f.file, true)
	if err != nil {
		return err
	}
	w := f.wish(orders.Ref{Service: is.Service, ID: is.ID})
	if f.plan {
		return oc.preview(ctx,
			orders.Draft{Update: w, Attributes: g.attributes, Edits: g.edits})
	}
	var i orders.Instance
	if len(g.edits) > 0 {
		i, err = o.Edit(ctx, oc.Env, w, g.edits)
	} else {
		i, err = o.Update(ctx, oc.Env, w, g.attributes)
	}
	if err != nil {
		return err
	}
	return oc.placed(ctx, o, f, []orders.Instance{i})
}

func (oc *orderCommands) serviceDelete() *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use: "delete ID", Short: "Delete an instance and its resources",
		Long: "delete requests the deletion of an instance: its resources are purged, then its " +
			"record is deleted. An instance that another one requires is not deleted." + referenceHelp,
		Example: "  southbound service delete site/www.example --wait",
		Args:    usage.ExactArgs(1, "one id"),
		RunE: oc.views.ordered(oc.Open,
			func(ctx context.Context, o api.Orders, args []string) error {
				if err := f.check("service delete"); err != nil {
					return err
				}
				ref := reference(args[0])
				i, err := o.Delete(ctx, oc.Env, f.wish(ref))
				if err != nil {
					return hinted(err, ref)
				}
				return oc.placed(ctx, o, &f, []orders.Instance{i})
			}),
	}
	f.changes(cmd)
	return cmd
}

func (oc *orderCommands) serviceState() *cobra.Command {
	var f orderFlags
	var force bool
	var operation string
	cmd := &cobra.Command{
		Use: "state ID TARGET", Short: "Request a state of an instance",
		Long: "state requests a state to which the lifecycle has a transfer with api_set_state. " +
			"With --force it sets the state without a transfer, against the lifecycle: the " +
			"deployed resources may then not match the state." + referenceHelp,
		Example: "  southbound service state site/www.example rollback --wait\n" +
			"  southbound service state site/www.example up --force --operation promote",
		Args: usage.ExactArgs(2, "an id and a state"),
	}
	cmd.RunE = oc.views.ordered(oc.Open,
		func(ctx context.Context, o api.Orders, args []string) error {
			if err := f.check("service state"); err != nil {
				return err
			}
			if operation != "" && !force {
				return fault.New(fault.Usage, "service state", "--operation is about --force").
					WithHint("add --force")
			}
			ref := reference(args[0])
			var i orders.Instance
			var err error
			if force {
				i, err = o.Force(ctx, oc.Env, f.wish(ref), args[1], lifecycle.Operation(operation))
			} else {
				i, err = o.SetState(ctx, oc.Env, f.wish(ref), args[1])
			}
			if err != nil {
				return hinted(err, ref)
			}
			return oc.placed(ctx, o, &f, []orders.Instance{i})
		})
	cmd.Flags().BoolVar(&force, "force", false, "set the state without a transfer")
	cmd.Flags().StringVar(&operation, "operation", "",
		"with --force: promote, rollback, clear candidate, clear active or clear rollback")
	f.changes(cmd)
	return cmd
}

// placed shows instances that an order has changed, and waits for the result if the flags request
// it.
func (oc *orderCommands) placed(
	ctx context.Context, o api.Orders, f *orderFlags, all []orders.Instance,
) error {
	asked := make([]int64, len(all))
	for n := range all {
		asked[n] = all[n].Version
	}
	if f.wait {
		for n := range all {
			i, of := &all[n], ""
			if i.Identity != nil { // otherwise its name is its id
				of = " of " + i.ID
			}
			oc.Say("%s: %s, as version %d%s", InstanceName(i), i.State, i.Version, of)
		}
		var err error
		if all, err = oc.waitForTransfers(ctx, o, f.timeout, all); err != nil {
			return err
		}
	}
	for n := range all {
		i := &all[n]
		if oc.JSON {
			oc.Line(i)
			continue
		}
		id := "  " + i.ID
		if i.Identity == nil {
			id = "" // the name is the id
		}
		oc.Printf(
			"%s  %s  version %d%s\n",
			InstanceName(i),
			oc.views.labelled(stateOf(i), i.Label),
			i.Version,
			id,
		)
	}
	for n := range all {
		if f.wait {
			oc.judge(ctx, o, &all[n], asked[n])
		}
	}
	home.SayUnserved(oc.Session, all...)
	return nil
}

// judge reports on standard error why an instance is in a state of failure, or which steps failed
// since it had the requested version. It also sets the exit code.
func (oc *orderCommands) judge(
	ctx context.Context, o api.Orders, i *orders.Instance, asked int64,
) {
	if !i.Failed && i.Problem() == "" {
		return
	}
	d, err := api.Diagnose(ctx, oc.Home, o, oc.Env, i)
	if !i.Failed && err == nil && (len(d.Rejections) == 0 || d.Rejections[0].Version <= asked) {
		return // that was earlier
	}
	oc.Code = output.Unhealthy
	switch {
	case oc.Quiet:
	case err != nil:
		oc.Complain("southbound: %v", err)
	default:
		oc.failedBecause(i, &d)
	}
}

// failedBecause writes the failures of an instance to standard error.
func (oc *orderCommands) failedBecause(i *orders.Instance, d *api.Diagnosis) {
	for _, r := range d.Failures {
		at := r.Pos.String()
		if at != "" {
			at += ": "
		}
		oc.Complain("%s: %s%s %s: %s", InstanceName(i), at, r.ID, r.State, r.Reason)
	}
	if len(d.Failures) == 0 && len(d.Rejections) > 0 && d.Rejections[0].Message != "" {
		oc.Complain("%s: %s", InstanceName(i), d.Rejections[0].Message)
		for _, hint := range d.Rejections[0].Hints() {
			oc.Complain("  %s", output.OneLine(hint))
		}
	}
	if len(d.Failures)+len(d.Rejections) == 0 && i.Problem() != "" { // its export has failed
		oc.Complain("%s: %s", InstanceName(i), output.OneLine(i.Problem()))
	}
	name := i.ID
	if i.Identity != nil {
		name = InstanceName(i)
	}
	oc.Complain("`southbound service instance %s --diagnose` shows the reasons", name)
}
