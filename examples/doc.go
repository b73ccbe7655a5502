// Package examples holds a YAML file for each feature. Its tests show that the API server accepts each of them, and
// each YAML of the guides, as it is written: unknown or misplaced fields fail.
package examples
