// Command deploy builds, deploys and destroys the stack, in an account or on an emulator on this
// machine. make calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"southbound/infra/stack"
	"southbound/localstack/server"
)

const usage = `usage: deploy COMMAND [-stack NAME] [-parameters "A=b C=d"]
  up          build and deploy into the account that the AWS credentials are of
  variables   print the environment variables of a deployed stack
  destroy     remove agents' queues and the stack; -data: all that it keeps as well
  local       start an emulator on this machine, build and deploy to it, print the environment variables
  local-down  stop that emulator; nothing of it is left
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

// options are the options of the command line.
type options struct {
	stack.Stack
	parameters map[string]string
	data       bool
	port       int
	emulator   string
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	o, err := parse(args[0], args[1:], progress)
	if err != nil {
		return err
	}
	switch args[0] {
	case "local-down":
		return localDown(ctx, o, progress)
	case "local-serve": // started by local
		return localServe(ctx, o)
	}
	if o.Root, err = stack.FindRoot(); err != nil {
		return err
	}
	if args[0] == "up" || args[0] == "local" {
		if err := o.Check(o.parameters); err != nil {
			return err
		}
		fmt.Fprintln(progress, "the SAM CLI is installed on first use, which takes a minute")
		if o.Tools, err = server.InstallTools(ctx); err != nil {
			return err
		}
	}
	switch args[0] {
	case "up":
		return up(ctx, o, out)
	case "variables":
		return variables(ctx, o, out)
	case "destroy":
		return destroy(ctx, o, progress)
	case "local":
		return local(ctx, o, out, progress)
	}
	return errors.New(usage)
}

func parse(command string, args []string, progress io.Writer) (*options, error) {
	o := &options{Stack: stack.Stack{Out: progress}}
	flags := flag.NewFlagSet("deploy "+command, flag.ContinueOnError)
	flags.SetOutput(progress)
	parameters := flags.String("parameters", "",
		"parameters of template.yaml, as in Alarms=true Dashboard=true")
	flags.StringVar(&o.Name, "stack", "southbound", "name of the stack")
	flags.BoolVar(&o.data, "data", false,
		"remove the table and the bucket too, with all environments and files")
	flags.IntVar(&o.port, "port", 4566, "port of the emulator")
	flags.StringVar(&o.emulator, "emulator", "auto",
		"ministack, localstack (in Docker), or auto: localstack where Docker runs")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	o.parameters = map[string]string{}
	for _, p := range strings.Fields(*parameters) {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not a parameter; write NAME=VALUE", p)
		}
		o.parameters[name] = value
	}
	return o, nil
}

// up builds for the architecture that the parameters or the stack define, and deploys.
func up(ctx context.Context, o *options, out io.Writer) error {
	architecture, err := o.BuildsFor(ctx, o.parameters)
	if err != nil {
		return err
	}
	if err := o.Build(ctx, architecture); err != nil {
		return err
	}
	if err := o.Deploy(ctx, o.parameters); err != nil {
		return err
	}
	return variables(ctx, o, out)
}

func variables(ctx context.Context, o *options, out io.Writer) error {
	outputs, err := o.Outputs(ctx)
	if err != nil {
		return err
	}
	for _, v := range append([]string{"SOUTHBOUND_API=" + outputs["ApiUrl"]},
		append(o.Environment, o.Variables(outputs)...)...) {
		fmt.Fprintln(out, "export", v)
	}
	return nil
}

func destroy(ctx context.Context, o *options, progress io.Writer) error {
	left, err := o.Destroy(ctx, o.data)
	if err != nil {
		return err
	}
	if left.Table != "" {
		tables := "table " + left.Table
		if left.OwnTable != "" {
			tables = "tables " + left.Table + " and " + left.OwnTable
		}
		fmt.Fprintf(progress,
			"the stack %s is gone; kept, and paid for, are the %s and the bucket %s; "+
				"`make destroy STACK=%s DATA=yes` removes them\n",
			o.Name, tables, left.Bucket, o.Name)
	} else {
		fmt.Fprintf(progress, "the stack %s is gone, with its table and its bucket\n", o.Name)
	}
	if left.Key != "" {
		fmt.Fprintf(progress,
			"the key is kept: aws kms schedule-key-deletion --key-id %s makes all that it "+
				"encrypted unreadable\n", left.Key)
	}
	return nil
}
