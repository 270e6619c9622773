// Package puppet implements Ruby's regular expressions, which the data types of Puppet modules
// contain. It runs them in Go, and writes them for JSON Schema. Package schema implements the type
// language itself.
package puppet
