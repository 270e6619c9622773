package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// spot is the position of a resource in a model: a row, and an agent.
type spot struct{ row, agent int }

func (s spot) id() string { return fmt.Sprintf("std::Null[web%d,name=n%d]", s.agent, s.row) }

// through returns a model with resources in rows on agents. Each resource requires the resources
// that requires returns for it; positions in row -1 or on agent -1 are ignored.
func through(rows, agents int, requires func(s spot) []spot) string {
	var b strings.Builder
	b.WriteString("southbound: 1\nresources:\n")
	for row := range rows {
		for agent := range agents {
			var ids []string
			for _, q := range requires(spot{row, agent}) {
				if q.row >= 0 && q.agent >= 0 {
					ids = append(ids, fmt.Sprintf("%q", q.id()))
				}
			}
			b.WriteString("  - {type: std::Null, ")
			fmt.Fprintf(&b, "agent: web%d, attributes: {name: n%d}, requires: [%s]}\n",
				agent, row, strings.Join(ids, ", "))
		}
	}
	return b.String()
}

// across measures the CPU time of models whose requirements cross many agents. The floor is the
// same program with as many resources on as many agents, without requirements.
func (b *bench) across(runs int) error {
	none := func(spot) []spot { return nil }
	before := func(s spot) []spot { return []spot{{s.row, s.agent - 1}} }
	for _, c := range []struct {
		name         string
		rows, agents int
		requires     func(s spot) []spot
	}{
		{"chain through agents", 1, 1000, before},
		{"lattice", 100, 100, func(s spot) []spot {
			return []spot{{s.row - 1, s.agent}, {s.row - 1, (s.agent + 1) % 100}}
		}},
		{"chains through agents", 20, 1000, before},
	} {
		var deploy, repair, floorDeploy, floorRepair []time.Duration
		for range runs {
			for _, x := range []struct {
				requires       func(s spot) []spot
				deploy, repair *[]time.Duration
			}{{none, &floorDeploy, &floorRepair}, {c.requires, &deploy, &repair}} {
				model := through(c.rows, c.agents, x.requires)
				if err := b.deployAndRepair(model, x.deploy, x.repair); err != nil {
					return err
				}
			}
		}
		name := fmt.Sprintf("%s, %d x %d, processor time", c.name, c.rows, c.agents)
		line(name+", deploy", deploy, floorDeploy)
		line(name+", repair", repair, floorRepair)
	}
	return nil
}

// deployAndRepair deploys and then repairs a model, and records the CPU time of both.
func (b *bench) deployAndRepair(model string, deploy, repair *[]time.Duration) error {
	dir := b.fresh()
	file := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(file, []byte(model), 0o600); err != nil {
		return err
	}
	for _, x := range []struct {
		out  *[]time.Duration
		args []string
	}{{deploy, []string{"export", file, "--wait"}}, {repair, []string{"repair"}}} {
		took, err := b.processorTime(append(x.args, "--data", dir+"/data")...)
		if err != nil {
			return err
		}
		*x.out = append(*x.out, took)
	}
	return nil
}

// processorTime runs the program and returns its CPU time.
func (b *bench) processorTime(args ...string) (time.Duration, error) {
	cmd := exec.Command(b.bin, append(args, "--quiet")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("southbound %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
