// Package packages makes the packages of a Python environment available in functions. Build makes
// a bundle: one zip with the packages of a project's virtual environment, for the platform of a
// function. A Store unpacks bundles where they are used.
package packages
