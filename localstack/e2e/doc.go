// Package e2e contains only the end-to-end suite of the AWS home. It builds and deploys the stack
// as users do, uses it through the command line, and breaks it. At the end it checks that nothing
// is left after the stack is destroyed.
package e2e
