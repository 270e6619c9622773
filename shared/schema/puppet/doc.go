// Package puppet has regular expressions as Ruby has them, run by Go, and written for JSON Schema:
// the data types of Puppet modules contain them. Package schema has the language itself.
package puppet
