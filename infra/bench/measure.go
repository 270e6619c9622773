package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sample holds the time and the memory of one run.
type sample struct {
	wall, cpu time.Duration
	memory    int64 // peak, in bytes; 0: unknown
}

// measured runs the program and measures it.
func (b *bench) measured(args ...string) (sample, error) {
	cmd := exec.Command(b.bin, append(args, "--quiet")...)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("southbound %s: %w: %s", strings.Join(args, " "), err, out)
	}
	s := sample{wall: time.Since(began)}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.memory = used.Maxrss << 10
	}
	return s, nil
}

// within measures f in this process.
func within(f func() error) (sample, error) {
	runtime.GC() // excludes earlier garbage from the measurement
	busy, began := ownTime(), time.Now()
	err := f()
	return sample{wall: time.Since(began), cpu: ownTime() - busy}, err
}

// ownTime returns the CPU time of this process.
func ownTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// goal limits the ratio of a measurement to the floor, in time and in CPU time, and its memory; 0:
// no goal.
type goal struct {
	ratio  float64
	memory int64
}

func header() {
	fmt.Printf("%-34s %7s %7s %6s %8s %7s %6s %5s %6s %5s\n", "work", "s", "floor s", "ratio",
		"cpu s", "floor s", "ratio", "goal", "MB", "goal")
}

// row prints the medians of a measurement, and their ratios to the floor.
func row(name string, took, floor []sample, g goal) {
	wall, cpu := medianOf(took, wallOf), medianOf(took, cpuOf)
	fmt.Printf("%-34s %7.3f", name, wall)
	if len(floor) > 0 {
		least, busy := medianOf(floor, wallOf), medianOf(floor, cpuOf)
		fmt.Printf(" %7.3f %6.2f %8.3f %7.3f %6.2f", least, wall/least, cpu, busy, cpu/busy)
	} else {
		fmt.Printf(" %7s %6s %8.3f %7s %6s", "", "", cpu, "", "")
	}
	fmt.Printf(" %5s", orNone("%.1f", g.ratio))
	fmt.Printf(" %6.0f %5s\n", medianOf(took, memoryOf), orNone("%.0f", float64(g.memory>>20)))
}

func orNone(format string, n float64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

func wallOf(s sample) float64   { return s.wall.Seconds() }
func cpuOf(s sample) float64    { return s.cpu.Seconds() }
func memoryOf(s sample) float64 { return float64(s.memory) / (1 << 20) }

func medianOf(all []sample, of func(sample) float64) float64 {
	out := make([]float64, len(all))
	for i, s := range all {
		out[i] = of(s)
	}
	slices.Sort(out)
	return out[len(out)/2]
}
