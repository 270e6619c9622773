// Package puppet has what the language of data types needs only because it is that of Puppet, whose
// modules are to be read as they are:
//
//	Regexp     regular expressions as Ruby has them, run by Go, and written for JSON Schema
//	Form       types of which Puppet has values as objects, and documents have texts: versions,
//	           ranges of versions, URIs, base64
//	Timespan   durations as Puppet writes them
//	Items      what Puppet can go through, item by item
//	Unvalued   types of code and catalogues, of which no document has values
//
// No type that is shipped needs any of them but regular expressions. Package schema has the
// language itself.
package puppet
