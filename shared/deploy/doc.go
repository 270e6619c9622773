// Package deploy is the engine: it stores versions, decides what has to run and in which order,
// runs handlers, and records what they did. It is plain Go over ports and knows neither files nor
// networks nor threads.
package deploy
