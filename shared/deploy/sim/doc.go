// Package sim proves the engine by simulation: it runs it, unchanged, over models of its ports and
// of the world behind its handlers, with a seed that decides what happens when and what goes wrong,
// and checks every invariant at every step. See docs/design/simulator.md.
//
// State and Files are models of the ports that keep their contracts to the letter and are of use in
// other tests, too. Run runs one seed, Campaign many. Bench lends the rest to other simulations.
package sim
