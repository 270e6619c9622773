// Package e2e holds nothing but the end-to-end suite of the AWS home: it builds and deploys the
// stack as people do, uses it through the command line, breaks it, and looks whether anything is
// left when it is destroyed.
package e2e
